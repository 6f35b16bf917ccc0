"""Reports for people: a model and its memory as text."""

from minilite.report.inspection import inspection
from minilite.text import cut, duration, shape_text, table

__all__ = ["cut", "duration", "inspection", "shape_text", "table"]
