"""What keeps importing light: modules that wait until they are needed, and NamedTuple in a tenth of its time."""

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
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - it is given on
else:
    from collections import _tuplegetter  # what reads a field: C's, or a property where C has none

    class _Kind(type):
        """Makes the classes: no annotation is evaluated, and no code compiled, which is what takes typing's their time."""

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
