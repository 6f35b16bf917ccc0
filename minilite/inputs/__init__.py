"""Reads inputs from files: arrays, images, sound, text and raw bytes."""

from minilite.inputs.feed import Feed, Reading
from minilite.inputs.files import load_archive, load_input, read_source

__all__ = ["Feed", "Reading", "load_archive", "load_input", "read_source"]
