"""What keeps importing light: modules that wait until they are needed; NamedTuple, Enum and IntEnum in a tenth of their
time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Later:
    """Stands for a module, which is imported when something of its is asked for; that is kept here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        from importlib import import_module

        found = getattr(import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found


if TYPE_CHECKING:
    from enum import Enum as Enum  # noqa: PLC0414 - they are given on
    from enum import IntEnum as IntEnum  # noqa: PLC0414
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414
else:
    from collections import _tuplegetter  # what reads a field: C's, or a property where C has none

    class _Kind(type):
        """Makes the classes: no annotation is evaluated, and no code compiled, which is what takes typing's their
        time."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if bases == (tuple,) or bases[0] is not NamedTuple:
                return type.__new__(cls, name, bases, body)
            fields = body["_fields"] = body["__match_args__"] = tuple(body["__annotations__"])
            body["_field_defaults"] = {field: body[field] for field in fields if field in body}
            body["_count"] = len(fields)
            for position, field in enumerate(fields):
                body[field] = _tuplegetter(position, f"Alias for field number {position}")
            body.setdefault("__slots__", ())
            return type.__new__(cls, name, bases, body)

        @property
        def __signature__(cls) -> Any:
            from inspect import Parameter, Signature  # they take long to import

            kind, types, defaults = Parameter.POSITIONAL_OR_KEYWORD, cls.__annotations__, cls._field_defaults
            return Signature(
                [
                    Parameter(field, kind, default=defaults.get(field, Parameter.empty), annotation=types[field])
                    for field in cls._fields
                ]
            )

    def _filled(cls: type, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The values of all fields, defaults filled in. Raises: TypeError."""
        fields, given = cls._fields, len(values)
        if given > len(fields):
            message = f"{cls.__name__}() takes {len(fields)} values, got {given}"
            raise TypeError(message)
        rest = {**{name: cls._field_defaults[name] for name in fields[given:] if name in cls._field_defaults}, **named}
        missing = [name for name in fields[given:] if name not in rest]
        strange = [name for name in named if name not in fields[given:]]
        if missing or strange:
            what = f"lacks {', '.join(missing)}" if missing else f"got {', '.join(strange)}, which it does not take"
            message = f"{cls.__name__}() {what}"
            raise TypeError(message)
        return values + tuple([rest[name] for name in fields[given:]])

    _new = tuple.__new__

    class NamedTuple(tuple, metaclass=_Kind):
        """A tuple with names, as typing.NamedTuple."""

        __slots__ = ()
        _make = classmethod(_new)

        def __new__(cls, *values: Any, **named: Any) -> Any:
            if named or len(values) != cls._count:
                values = _filled(cls, values, named)
            return _new(cls, values)

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in zip(self._fields, self, strict=True))})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **named: Any) -> Any:
            values = [named.pop(name, value) for name, value in zip(self._fields, self, strict=True)]
            if named:
                message = f"{type(self).__name__} has no {', '.join(named)}"
                raise ValueError(message)
            return _new(type(self), values)

    class _Members(type):
        """Makes the enums: whole numbers in a class's body become its members."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            numbers = {k: v for k, v in body.items() if type(v) is int and not k.startswith("_")} if bases else {}
            made = type.__new__(cls, name, bases, {k: v for k, v in body.items() if k not in numbers})
            made.__members__ = {k: made._member(k, v) for k, v in numbers.items()}
            made._names = {v: k for k, v in numbers.items()}
            made._by_value = {v: made.__members__[k] for k, v in numbers.items()}
            for k, member in made.__members__.items():
                type.__setattr__(made, k, member)
            return made

        def __call__(cls, value: Any) -> Any:
            try:
                return cls._by_value[value]
            except (KeyError, TypeError):
                message = f"{value!r} is not a valid {cls.__name__}"
                raise ValueError(message) from None

        def __getitem__(cls, name: str) -> Any:
            return cls.__members__[name]

        def __iter__(cls) -> Any:
            return iter(cls.__members__.values())

        def __len__(cls) -> int:
            return len(cls.__members__)

        def __contains__(cls, value: Any) -> bool:
            return isinstance(value, cls)

    class Enum(metaclass=_Members):
        """Members with a name and a number, as enum.Enum."""

        __slots__ = ("name", "value")

        @classmethod
        def _member(cls, name: str, value: int) -> Any:
            member = object.__new__(cls)
            member.name, member.value = name, value
            return member

        def __repr__(self) -> str:
            return f"<{self}: {self.value!r}>"

        def __str__(self) -> str:
            return f"{type(self).__name__}.{self.name}"

        def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
            return type(self), (self.value,)

    class IntEnum(int, metaclass=_Members):
        """Members that are numbers, as enum.IntEnum."""

        @classmethod
        def _member(cls, _: str, value: int) -> Any:
            return int.__new__(cls, value)

        @property
        def name(self) -> str:
            return self._names[self]

        @property
        def value(self) -> int:
            return int(self)

        def __repr__(self) -> str:
            return f"<{type(self).__name__}.{self.name}: {int(self)}>"

        __str__ = int.__repr__
        __reduce_ex__ = Enum.__reduce_ex__
