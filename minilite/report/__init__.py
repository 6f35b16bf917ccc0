"""Reports a model, its memory and its results, as text, HTML and plain values."""

from minilite.report.inspection import inspection
from minilite.text import cut, duration, shape_text, table

__all__ = ["cut", "duration", "inspection", "shape_text", "table"]
