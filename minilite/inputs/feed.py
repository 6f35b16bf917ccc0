"""Feed: a tensor to fill; converts real numbers and pixels to its type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from minilite.engine.float_values import quantized
from minilite.errors import InputError, shortened
from minilite.format.dtypes import TensorType, array_type
from minilite.format.values import integer_limits
from minilite.numeric import real

if TYPE_CHECKING:
    from minilite.format.about import TensorMetadata
    from minilite.format.model import Array, Tensor

Shape = tuple[int, ...]
Fit: TypeAlias = Literal["stretch", "crop", "pad"]
_FLOATS = (TensorType.FLOAT32, TensorType.FLOAT16, TensorType.FLOAT64)
_BYTES = (TensorType.INT8, TensorType.UINT8)


class Reading(NamedTuple):
    """A file that was read: the array for the tensor, and, in a few words, what was done to it."""

    array: Array
    note: str
    size: tuple[int, int] | None = None
    """The width and height of a picture in pixels."""
    seen: tuple[int, int] | None = None
    """The width and height that a picture was fitted to."""


class Feed(NamedTuple):
    """A tensor to fill, and the way in which files become its values."""

    tensor: Tensor
    shape: Shape
    """The shape, with -1 for dimensions that take any size."""
    mean: Sequence[float] | None = None
    """Pixels become (pixel - mean) / std: one number, or one per channel; if both are None, the model's metadata
    decide."""
    std: Sequence[float] | None = None
    about: TensorMetadata | None = None
    """The description in the model's metadata."""
    fit: Fit = "stretch"
    """The way to fit an image of other proportions: stretch it, cut out its middle, or pad it with black."""
    rate: int | None = None
    """Samples per second; if None, the model's metadata decide, and without them sound is not resampled."""

    @classmethod
    def of(cls, tensor: Tensor, about: TensorMetadata | None = None) -> Feed:
        """Returns a feed for a tensor: with its shape in the file, and -1 for dimensions that its signature leaves
        open."""
        signature = tensor.shape_signature
        return cls(
            tensor, tensor.shape if signature is None or len(signature) != len(tensor.shape) else signature, about=about
        )

    def label(self) -> str:
        """Names the tensor in messages: ``input 'image' (uint8 of shape 1x224x224x3)``."""
        shape = "x".join("?" if dim < 0 else str(dim) for dim in self.shape) or "()"
        return f"input '{shortened(self.tensor.name)}' ({self.tensor.type.name.lower()} of shape {shape})"

    def error(self, text: str) -> InputError:
        """Returns an error that names the tensor."""
        return InputError(text, tensors=[self.tensor.name])

    def of_pixels(self, pixels: Array) -> Reading:
        """Converts pixels from 0 to 255, channels last, to the tensor's type.

        Bytes stay unchanged (minus 128 for int8), unless a mean is given, because scale and zero point of such models
        include the normalization. Other types get (pixel - mean) / std, quantized if the tensor is. Raises: InputError.
        """
        kind = self.tensor.type
        if kind in _BYTES and self.mean is None and self.std is None:
            least = integer_limits(kind)[0]
            return Reading((pixels.astype(np.int16) + least).astype(array_type(kind)), "less 128" if least else "")
        if kind not in _FLOATS and not self.tensor.quantization.scales:
            if kind.name.startswith(("INT", "UINT")) and self.mean is None:
                return Reading(pixels.astype(array_type(kind)), "")
            message = f"{self.label()} takes no pixels: give it as .npy"
            raise self.error(message)
        mean, std = self._normalization(pixels.shape[-1])
        real = (pixels.astype(np.float32) - np.array(mean, np.float32)) / np.array(std, np.float32)
        return Reading(self.of_reals(real).array, f"(x - {_numbers(mean)}) / {_numbers(std)}")

    def _normalization(self, channels: int) -> tuple[Sequence[float], Sequence[float]]:
        """Returns mean and std: the given ones (if only one is given, the other is 0 or 1); else the metadata's; else 0
        and 255. Raises: InputError."""
        mean, std = self.mean, self.std
        if mean is None and std is None:
            told = self.about is not None and self.about.mean and self.about.std
            mean, std = (self.about.mean, self.about.std) if self.about is not None and told else ((0.0,), (255.0,))
        mean, std = mean if mean is not None else (0.0,), std if std is not None else (1.0,)
        mean, std = (
            tuple(real(f"{self.label()}: {name}", each, 32) for each in (numbers if isinstance(numbers, Iterable) else (numbers,)))
            for name, numbers in (("mean", mean), ("std", std))
        )  # fmt: skip
        for name, numbers in (("mean", mean), ("std", std)):
            if len(numbers) not in (1, channels):
                message = f"{name} has {len(numbers)} numbers, {self.label()} takes {'1' if channels == 1 else f'1 or {channels}, one per channel'}"
                raise self.error(message)
        if not all(np.isfinite([*mean, *std])) or 0 in std:
            message = f"mean {_numbers(mean)} and std {_numbers(std)} of {self.label()} must be finite, std not 0"
            raise self.error(message)
        return mean, std

    def of_reals(self, values: Array) -> Reading:
        """Converts real numbers to the tensor's type: quantized by its scale and zero point. Raises: InputError."""
        kind = self.tensor.type
        if kind in _FLOATS:
            return Reading(values.astype(array_type(kind)), "")
        if not self.tensor.quantization.scales:
            message = f"{self.label()} takes integers, and has no scale that real numbers could be quantized by"
            raise self.error(message)
        return Reading(quantized(self.tensor, values), "quantized")


def _numbers(numbers: Sequence[float]) -> str:
    return ",".join(f"{number:g}" for number in numbers)
