"""Reads inputs from files: arrays, images, sound, text and raw bytes."""

from minilite.inputs.feed import Feed, Reading
from minilite.inputs.files import fitting, load_archive, load_input, map_array, read_input, read_source
from minilite.inputs.reading import read, read_windows

__all__ = [
    "Feed",
    "Reading",
    "fitting",
    "load_archive",
    "load_input",
    "map_array",
    "read",
    "read_input",
    "read_source",
    "read_windows",
]
