"""A tensor to fill, and the conversion of real numbers and pixels to its type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from minilite.engine.float_values import quantized
from minilite.errors import InputError, shortened
from minilite.format.dtypes import TensorType, array_type
from minilite.format.values import integer_limits

if TYPE_CHECKING:
    from minilite.format.about import TensorMetadata
    from minilite.format.model import Array, Tensor

Shape = tuple[int, ...]
Fit: TypeAlias = Literal["stretch", "crop", "pad"]
_FLOATS = (TensorType.FLOAT32, TensorType.FLOAT16, TensorType.FLOAT64)
_BYTES = (TensorType.INT8, TensorType.UINT8)


class Reading(NamedTuple):
    """What became of a file: the array that the tensor takes, and what was done to it, in a few words."""

    array: Array
    note: str


class Feed(NamedTuple):
    """A tensor, and what is known of how it is fed."""

    tensor: Tensor
    shape: Shape
    """-1 for dimensions that take any size."""
    mean: Sequence[float] | None = None
    """Pixels become (pixel - mean) / std: one number, or one per channel; both None leave it to what the model
    says."""
    std: Sequence[float] | None = None
    about: TensorMetadata | None = None
    """What the model's metadata say."""
    fit: Fit = "stretch"
    """What becomes of an image of other proportions: stretched, the middle of it cut out, or padded with black."""
    rate: int | None = None
    """Samples a second; None leaves it to what the model says, else sound stays as it is."""

    @classmethod
    def of(cls, tensor: Tensor, about: TensorMetadata | None = None) -> Feed:
        """A tensor in the shape that its file has, dimensions open where its signature leaves them open."""
        signature = tensor.shape_signature
        return cls(
            tensor, tensor.shape if signature is None or len(signature) != len(tensor.shape) else signature, about=about
        )

    def label(self) -> str:
        """How messages call it: ``input 'image' (uint8 of shape 1x224x224x3)``."""
        shape = "x".join("?" if dim < 0 else str(dim) for dim in self.shape) or "()"
        return f"input '{shortened(self.tensor.name)}' ({self.tensor.type.name.lower()} of shape {shape})"

    def error(self, text: str) -> InputError:
        """An error that names the tensor."""
        return InputError(text, tensors=[self.tensor.name])

    def of_pixels(self, pixels: Array) -> Reading:
        """Pixels from 0 to 255, channels last, as the tensor's type has them.

        Bytes stay what they are, less 128 in int8, unless a mean is given: scale and zero point of such models stand
        for the normalization. Other types get (pixel - mean) / std, quantized where the tensor is. Raises: InputError.
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
        """Mean and std: as given, the other 0 or 1; else the metadata's; else 0 and 255. Raises: InputError."""
        mean, std = self.mean, self.std
        if mean is None and std is None:
            told = self.about is not None and self.about.mean and self.about.std
            mean, std = (self.about.mean, self.about.std) if self.about is not None and told else ((0.0,), (255.0,))
        mean, std = mean if mean is not None else (0.0,), std if std is not None else (1.0,)
        for name, numbers in (("mean", mean), ("std", std)):
            if len(numbers) not in (1, channels):
                message = f"{name} has {len(numbers)} numbers, {self.label()} takes {'1' if channels == 1 else f'1 or {channels}, one per channel'}"
                raise self.error(message)
        if not all(np.isfinite([*mean, *std])) or 0 in std:
            message = f"mean {_numbers(mean)} and std {_numbers(std)} of {self.label()} must be finite, std not 0"
            raise self.error(message)
        return mean, std

    def of_reals(self, values: Array) -> Reading:
        """Real numbers as the tensor's type has them: quantized by its scale and zero point. Raises: InputError."""
        kind = self.tensor.type
        if kind in _FLOATS:
            return Reading(values.astype(array_type(kind)), "")
        if not self.tensor.quantization.scales:
            message = f"{self.label()} takes integers, and has no scale that real numbers could be quantized by"
            raise self.error(message)
        return Reading(quantized(self.tensor, values), "quantized")


def _numbers(numbers: Sequence[float]) -> str:
    return ",".join(f"{number:g}" for number in numbers)
