"""Quantization: the parameters by which integers mean real numbers, real = scale * (integer - zero_point)."""

import reprlib
from typing import NamedTuple

_SHORT = reprlib.Repr()
_SHORT.maxtuple = 4


class Quantization(NamedTuple):
    """Quantization parameters of one tensor: one scale for all of it, or one per slice along a dimension."""

    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    quantized_dimension: int = 0
    block_size: int = 0
    scales_tensor: int = -1
    """For blockwise schemes: the tensor of the same subgraph that has the scales; else -1."""
    zero_points_tensor: int = -1

    def __repr__(self) -> str:
        fields = [f"{n}={_SHORT.repr(v)}" for n, v in self._asdict().items() if v != self._field_defaults[n]]
        return f"Quantization({', '.join(fields)})"

    @property
    def scale(self) -> float:
        """The single scale; 0.0 if there is none, or one per slice, as in LiteRT's details."""
        return self.scales[0] if len(self.scales) == 1 else 0.0

    @property
    def zero_point(self) -> int:
        """The single zero point; 0 if there is none, or one per slice."""
        return self.zero_points[0] if len(self.zero_points) == 1 else 0

    @property
    def per_channel(self) -> bool:
        """True if there is more than one scale."""
        return len(self.scales) > 1


NOT_QUANTIZED = Quantization()
