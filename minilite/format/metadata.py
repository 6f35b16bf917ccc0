"""Metadata: a model's named buffers, the description in them, and associated files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from minilite.errors import listed
from minilite.numeric import whole

if TYPE_CHECKING:
    from minilite.format.about import AssociatedFile, ModelMetadata, TensorMetadata

NAME = "TFLITE_METADATA"


class Metadata(Mapping[str, bytes]):
    """A model's named buffers. The description in the buffer TFLITE_METADATA is in attributes, which are empty without
    it.

    Attributes raise ModelFormatError if that buffer is broken.
    """

    __slots__ = ("_about", "_entries", "_files")

    def __init__(self, entries: Mapping[str, bytes] | None = None, files: Mapping[str, bytes] | None = None) -> None:
        self._entries: Mapping[str, bytes] | None = entries or {}
        self._files: Mapping[str, bytes] | None = files or {}
        self._about: ModelMetadata | None = None

    def _all(self) -> Mapping[str, bytes]:
        assert self._entries is not None
        return self._entries

    def __getitem__(self, name: str) -> bytes:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"<metadata: {listed(self)}>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Metadata, (dict(self._all()), dict(self.associated_files))

    @property
    def associated_files(self) -> Mapping[str, bytes]:
        """The files stored with the model, by name, as in `Model.associated_files`. Raises: ModelFormatError."""
        assert self._files is not None
        return self._files

    def label_file(self, output: int = 0) -> AssociatedFile | None:
        """The associated file with the labels of an output, given by position; None if there is none.

        Without a description of files, a single file with "label" in its name is taken for output 0. Raises:
        ModelFormatError, InputError.
        """
        output = whole("output", output, least=0)
        told = self.outputs[output].files if output < len(self.outputs) else ()
        for file in told:
            if file.labels and file.name in self.associated_files:
                return file
        named = [name for name in self.associated_files if "label" in name.lower()]
        guessed = (
            output == 0 and len(named) == 1 and not any(file.labels for each in self.outputs for file in each.files)
        )
        from minilite.format.about import AssociatedFile

        return AssociatedFile(named[0], "", "axis") if guessed else None

    def labels(self, output: int = 0) -> tuple[str, ...]:
        """The labels of an output, given by position; empty if no associated file has them. Raises:
        ModelFormatError, InputError."""
        file = self.label_file(output)
        return split_labels(self.associated_files[file.name]) if file is not None else ()

    @property
    def about(self) -> ModelMetadata:
        """The whole description in TFLITE_METADATA. Raises: ModelFormatError."""
        if self._about is None:
            from minilite.format.about import ModelMetadata, read_metadata

            self._about = read_metadata(self[NAME]) if NAME in self else ModelMetadata()
        return self._about

    @property
    def name(self) -> str:
        """The model's name."""
        return self.about.name

    @property
    def description(self) -> str:
        """The purpose of the model."""
        return self.about.description

    @property
    def version(self) -> str:
        """The model's version, as given by its author."""
        return self.about.version

    @property
    def author(self) -> str:
        """The model's author."""
        return self.about.author

    @property
    def license(self) -> str:
        """Its license."""
        return self.about.license

    @property
    def inputs(self) -> tuple[TensorMetadata, ...]:
        """The descriptions of the inputs, in their order."""
        return self.about.inputs

    @property
    def outputs(self) -> tuple[TensorMetadata, ...]:
        """The descriptions of the outputs, in their order."""
        return self.about.outputs


def split_labels(data: bytes) -> tuple[str, ...]:
    """The labels in a file of one per line; empty lines at the end are left out."""
    return tuple(line.strip() for line in data.decode("utf-8-sig", "replace").rstrip().splitlines())
