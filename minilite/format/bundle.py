"""Bundle: a file of several models, tokenizers and settings, .litertlm or .task, and its sections by name.

Sources: the header of LiteRT-LM's files as its public builder writes it (litert-lm-builder on PyPI, from
google-ai-edge/LiteRT-LM); MediaPipe's .task files, which are zip archives.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flatbuffers import number_types  # type: ignore[import-untyped]

from minilite._native.file import IDENTIFIER, MOST_READ, map_file
from minilite.errors import InputError, InputTypeError, ModelFormatError, ModelNotFoundError, listed, shortened
from minilite.format import origin
from minilite.format.associated import BytesFile
from minilite.format.bounded import BROKEN, BoundedTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from minilite._native.file import Origin
    from minilite.format.model import Model

LITERTLM, ZIP = b"LITERTLM", b"PK\x03\x04"
_VERSION = 1
"""The major version of .litertlm files that is known."""
_VERSION_AT, _END_AT, _HEADER_AT = 8, 24, 32
"""Positions in a .litertlm file: of three numbers of its version, of the header's end, of the header."""
_KINDS = (
    ("section", "data"),
    ("data", "data"),
    ("deprecated", "data"),
    ("model", "model"),
    ("tokenizer", "tokenizer"),
    ("llm_metadata", "metadata"),
    ("tokenizer.json", "tokenizer"),
    ("weights", "weights"),
    ("embedding_metadata", "metadata"),
    ("executor_metadata", "metadata"),
    ("tts_metadata", "metadata"),
    ("asr_metadata", "metadata"),
)
"""The name and the kind of sections by their type in a .litertlm file."""
_PACKED_TOKENIZER = 6
_VALUES = (
    None, "Uint8Flags", "Int8Flags", "Uint16Flags", "Int16Flags", "Uint32Flags", "Int32Flags", "Float32Flags", "BoolFlags",
    None, "Uint64Flags", "Int64Flags", "Float64Flags",
)  # fmt: skip
"""The types of the values that describe sections; None for text."""
_LOCAL_HEADER = 30
"""The bytes before a name in a zip archive."""
_HEAD = 1024
"""The packed bytes that give at least the first eight of a file."""
_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Section(NamedTuple):
    """One part of a bundle."""

    name: str
    kind: str
    """"model" (a .tflite file), "bundle" (another bundle), "tokenizer", "metadata", "weights" or "data"."""
    offset: int
    """The position of its first byte in the file."""
    stored_bytes: int
    """Its size in the file."""
    bytes: int
    """Its size when unpacked."""
    packed: bool
    """False if it is stored as it is, so that a model can be mapped."""
    about: Mapping[str, Any]
    """The entries of a .litertlm file about it, by key."""
    checksum: int | None = None
    """The CRC-32 that a zip archive says it has when unpacked."""


class Bundle:
    """A file of several models, tokenizers and settings: `.litertlm`, `.task`, or another zip archive.

    The file is mapped, and must not change while the bundle or one of its models lives. Damage of the file's index
    raises when it is opened, damage within a section when that is read.
    """

    def __init__(self, source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> None:
        """Opens a path, which may lead into bundles within bundles (`outer.task:inner.task`), or a bundle's bytes.

        Raises: ModelNotFoundError, ModelFormatError, InputError.
        """
        self.name: str = ""
        self.kind: str
        self.version: str = ""
        """The version of a .litertlm file."""
        self.about: Mapping[str, Any] = {}
        """The entries of a .litertlm file about itself, by key."""
        self._data: memoryview
        if isinstance(source, bytes | bytearray | memoryview):
            self._data = memoryview(source).toreadonly().cast("B")
        else:
            self.name, self._data = _opened(source)
        head = bytes(self._data[:8])
        try:
            if head == LITERTLM:
                self.kind = ".litertlm"
                self.version, self.about, sections = _litertlm(self._data)
            elif head[:4] == ZIP:
                self.kind = ".task"
                sections = list(_zipped(self._data))
            else:
                message = f"byte 0 to 7 are {head!r}, a bundle has {LITERTLM!r} or, as a zip archive, {ZIP!r}"
                raise ModelFormatError(message)
        except ModelFormatError as error:
            raise self._error(str(error)) from None
        self.sections: tuple[Section, ...] = tuple(sections)

    def _error(self, text: str) -> ModelFormatError:
        return ModelFormatError(f"bundle {shortened(self.name)!r}: {text}" if self.name else f"bundle: {text}")

    def __repr__(self) -> str:
        """One line: ``<Bundle 'face.task' (.task): 2 sections>``."""
        return f"<Bundle {self.name!r} ({self.kind}): {len(self.sections)} sections>"

    def section(self, name: str) -> Section:
        """The section of that name, or of that number as text. Raises: InputError."""
        for section in self.sections:
            if section.name == name:
                return section
        if isinstance(name, str) and name.isdecimal() and int(name[:9]) < len(self.sections):
            return self.sections[int(name[:9])]
        there = listed(section.name for section in self.sections)
        message = f"bundle {shortened(self.name)!r} has no section {shortened(str(name))!r}: it has {there}"
        raise InputError(message)

    def read(self, name: str) -> memoryview:
        """The bytes of a section: a view of the file where they are stored as they are, else unpacked into memory.

        Raises: InputError, and ModelFormatError if they cannot be unpacked to the size that the index states.
        """
        section = self.section(name)
        stored = self._data[section.offset : section.offset + section.stored_bytes]
        if not section.packed:
            return stored
        raw = self.kind != ".litertlm"
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS)
        try:
            found = unpacker.decompress(stored, section.bytes + 1)
        except zlib.error as error:
            raise self._error(f"{_place(section)}: cannot be unpacked: {error}") from None
        if len(found) != section.bytes or not unpacker.eof:
            size = f"more than {section.bytes}" if len(found) > section.bytes else str(len(found))
            raise self._error(f"{_place(section)}: unpacks to {size} bytes, the index says {section.bytes}")
        if section.checksum not in (None, zlib.crc32(found)):
            told = f"its checksum is {zlib.crc32(found):#x}, the index says {section.checksum:#x}"
            raise self._error(f"{_place(section)}: {told}")
        return memoryview(found)

    def model(self, name: str) -> Model:
        """The model in a section, for `Interpreter(model)`: mapped where it is stored as it is.

        Raises: InputError, ModelFormatError.
        """
        from minilite.format.reader import read_model

        section = self.section(name)
        try:
            return read_model(self.read(name))
        except ModelFormatError as error:
            raise self._error(f"{_place(section)}: {error}") from None

    def bundle(self, name: str) -> Bundle:
        """The bundle in a section. Raises: InputError, ModelFormatError."""
        found = Bundle(self.read(name))
        found.name = f"{self.name}:{name}"
        return found

    def models(self) -> list[str]:
        """The names of its models, and of those in bundles that it stores as they are: ``hand.task:detector.tflite``.

        Raises: ModelFormatError for such a bundle that is damaged.
        """
        found = []
        for section in self.sections:
            if section.kind == "model":
                found.append(section.name)
            elif section.kind == "bundle" and not section.packed:
                inner = self.bundle(section.name).sections
                found += [f"{section.name}:{each.name}" for each in inner if each.kind == "model"]
        return found


def section_bytes(path: str) -> tuple[memoryview, Origin | None] | None:
    """The bytes of the section that a path such as `face.task:detector.tflite` names, and where they are from; None if
    no file is named before a colon.

    Raises: ModelFormatError, InputError, OSError.
    """
    file, inner = parts_of(path)
    if not inner:
        return None
    data, opened = map_file(file, any_kind=True)
    section = _descended(file, memoryview(data), inner)[1]
    return section, opened and opened._replace(path=path, mapped=opened.mapped and section.obj is memoryview(data).obj)


def is_bundle(path: str | os.PathLike[str]) -> bool:
    """True if a path names a bundle with models; False for a model, for what is damaged, and for nothing that can be
    read."""
    try:
        bundle = Bundle(path)
    except (ModelNotFoundError, ModelFormatError, InputError):
        return False
    return bundle.kind == ".litertlm" or any(section.kind in ("model", "bundle") for section in bundle.sections)


def parts_of(path: str) -> tuple[str, str]:
    """A file, and the names of sections after its colon; no names if the path is itself a file's."""
    if Path(path).exists():
        return path, ""
    at = path.find(":")
    while at >= 0:
        if Path(path[:at]).is_file():
            return path[:at], path[at + 1 :]
        at = path.find(":", at + 1)
    return path, ""


def _opened(source: Any) -> tuple[str, memoryview]:
    """A name and the bytes of a file, or of a section of a bundle. Raises: ModelNotFoundError, InputError,
    ModelFormatError."""
    if not isinstance(source, str | os.PathLike):
        message = f"source is of type {type(source).__name__}, must be a path or a bundle's bytes"
        raise InputTypeError(message)
    path = os.fsdecode(source)
    try:
        file, inner = parts_of(path)
        data = memoryview(map_file(file, any_kind=True)[0])
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"Could not open {path!r}: {reason.lower()}{origin.why_not_opened(path)}"
        raise ModelNotFoundError(message) from None
    return _descended(file, data, inner)


def _descended(name: str, data: memoryview, inner: str) -> tuple[str, memoryview]:
    """The name and the bytes of a section within a bundle, or within bundles of it; the bundle's own without `inner`.
    Raises: ModelFormatError, InputError."""
    while inner:
        bundle = Bundle(data)
        bundle.name = name
        first, _, rest = inner.partition(":")
        if any(section.name == inner for section in bundle.sections):
            first, rest = inner, ""
        name, data, inner = f"{name}:{first}", bundle.read(first), rest
    return name, data


def _place(section: Section) -> str:
    return f"section {shortened(section.name)!r} at byte {section.offset}"


def _litertlm(data: memoryview) -> tuple[str, Mapping[str, Any], list[Section]]:
    """The version, the description and the sections of a .litertlm file. Raises: ModelFormatError."""
    if len(data) < _HEADER_AT:
        message = f"the file has {len(data)} bytes, the start of a .litertlm file has {_HEADER_AT}: truncated?"
        raise ModelFormatError(message)
    version = struct.unpack_from("<III", data, _VERSION_AT)
    text = ".".join(map(str, version))
    if version[0] != _VERSION:
        message = f"the version at byte {_VERSION_AT} is {text}, known is {_VERSION}"
        raise ModelFormatError(message)
    (end,) = struct.unpack_from("<Q", data, _END_AT)
    if not _HEADER_AT + 8 <= end <= len(data):
        message = f"the header's end at byte {_END_AT} is {end}, must be from {_HEADER_AT + 8} to {len(data)}, the file's size"
        raise ModelFormatError(message)
    try:
        root = BoundedTable.root(bytes(data[_HEADER_AT:end]))
        system, sections = root.table(0), root.table(1)
        about = dict(filter(None, system.tables(0, _fact))) if system is not None else {}
        rows = sections.tables(0, _row) if sections is not None else ()
    except BROKEN as error:
        message = f"the header, bytes {_HEADER_AT} to {end}, is broken: {error}"
        raise ModelFormatError(message) from None
    taken: dict[str, int] = {}
    return text, about, [_section(data, end, number, row, taken) for number, row in enumerate(rows)]


class _Row(NamedTuple):
    """A section as the header of a .litertlm file has it."""

    begin: int
    end: int
    type: int
    about: dict[str, Any]


def _row(table: BoundedTable) -> _Row:
    about = dict(filter(None, table.tables(0, _fact)))
    begin, end = (table.number(slot, number_types.Uint64Flags) for slot in (1, 2))
    return _Row(begin, end, table.number(3, number_types.Uint8Flags), about)


def _fact(table: BoundedTable) -> tuple[str, Any] | None:
    kind, value = table.number(1, number_types.Uint8Flags), table.table(2)
    if value is None or not 0 < kind < len(_VALUES):
        return None
    flags = _VALUES[kind]
    return table.text(0), value.text(0) if flags is None else value.value(0, getattr(number_types, flags))


def _section(data: memoryview, header: int, number: int, row: _Row, taken: dict[str, int]) -> Section:
    """A section with its name: the use of a model, else the section's type, with a number where names repeat."""
    name, kind = _KINDS[row.type] if row.type < len(_KINDS) else _KINDS[0]
    model = str(row.about.get("model_type", "")).removeprefix("tf_lite_")
    if model:
        name = model if kind == "model" else f"{name}_{model}"
    taken[name] = taken.get(name, 0) + 1
    name = name if taken[name] == 1 else f"{name}_{taken[name] - 1}"
    if not header <= row.begin <= row.end <= len(data):
        message = (
            f"section {number} ({name}) lies from byte {row.begin} to {row.end}, must lie between the header's end at "
            f"{header} and the file's at {len(data)}"
        )
        raise ModelFormatError(message)
    stored = row.end - row.begin
    if row.type != _PACKED_TOKENIZER:
        return Section(name, kind, row.begin, stored, stored, packed=False, about=row.about)
    size = int.from_bytes(data[row.begin : row.begin + 8], "little") if stored >= 8 else -1
    _check_size(f"section {number} ({name}) at byte {row.begin}", stored - 8, size)
    return Section(name, kind, row.begin + 8, stored - 8, size, packed=True, about=row.about)


def _check_size(place: str, stored: int, size: int) -> None:
    """Refuses a size that `stored` bytes cannot unpack to. Raises: ModelFormatError."""
    most = min(1032 * max(stored, 0) + 64, MOST_READ)  # the limit of the format
    if not 0 <= size <= most:
        message = f"{place} says that its {max(stored, 0)} bytes unpack to {size}, must be at most {most}"
        raise ModelFormatError(message)


def _zipped(data: memoryview) -> Iterator[Section]:
    """The sections of a zip archive. Raises: ModelFormatError."""
    try:
        with zipfile.ZipFile(BytesFile(data)) as archive:
            entries, end = archive.infolist(), archive.start_dir
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - zipfile raises many classes, and other ones in each version of Python
        message = f"the index at the end of the zip archive cannot be read: {' '.join(str(error).split())}: truncated?"
        raise ModelFormatError(message) from None
    names: set[str] = set()
    for entry in entries:
        if entry.filename in names:
            message = f"section {shortened(entry.filename)!r} at byte {entry.header_offset}: another has the same name"
            raise ModelFormatError(message)
        names.add(entry.filename)
        if not entry.filename.endswith("/"):
            yield _zip_section(data, entry, end)


def _zip_section(data: memoryview, entry: zipfile.ZipInfo, end: int) -> Section:
    """A file in a zip archive whose index begins at byte `end`. Raises: ModelFormatError."""
    at = entry.header_offset
    place = f"section {shortened(entry.filename)!r} at byte {at}"
    if entry.flag_bits & _ENCRYPTED:
        message = f"{place}: is encrypted"
        raise ModelFormatError(message)
    if entry.compress_type not in _METHODS:
        message = f"{place}: is packed by method {entry.compress_type}, must be stored or deflated"
        raise ModelFormatError(message)
    header = bytes(data[at : at + _LOCAL_HEADER]) if at >= 0 else b""
    if len(header) < _LOCAL_HEADER or header[:4] != ZIP:
        message = f"{place}: there is {header[:4]!r}, must be {ZIP!r}"
        raise ModelFormatError(message)
    name, extra = struct.unpack_from("<HH", header, 26)
    begin, stored = at + _LOCAL_HEADER + name + extra, entry.compress_size
    if begin + stored > end:
        message = f"{place}: reaches byte {begin + stored}, the index begins at {end}"
        raise ModelFormatError(message)
    packed = entry.compress_type != zipfile.ZIP_STORED
    if packed:
        _check_size(place, stored, entry.file_size)
    elif entry.file_size != stored:
        message = f"{place}: is stored as it is in {stored} bytes, the index says {entry.file_size}"
        raise ModelFormatError(message)
    head = bytes(data[begin : begin + min(stored, _HEAD)])
    if packed:
        try:
            head = zlib.decompressobj(-zlib.MAX_WBITS).decompress(head, 8)
        except zlib.error as error:
            message = f"{place}: cannot be unpacked: {error}"
            raise ModelFormatError(message) from None
    kind = _kind_of(entry.filename, head)
    return Section(entry.filename, kind, begin, stored, entry.file_size, packed, {}, entry.CRC)


def _kind_of(name: str, head: bytes) -> str:
    """The kind of a file by its first bytes, else by the words of MediaPipe's names."""
    if head[4:8] == IDENTIFIER:
        return "model"
    if head[:8] == LITERTLM or head[:4] == ZIP:
        return "bundle"
    words = name.casefold()
    return next((kind for kind in ("tokenizer", "metadata") if kind in words), "data")
