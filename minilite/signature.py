"""SignatureRunner: a model's named entry point, called with arrays by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minilite.details import Description, TensorDetails
from minilite.engine.misfit import numbers_or_strings
from minilite.engine.session import Session
from minilite.entry import Entry
from minilite.errors import InputError, InputTypeError
from minilite.format.model import Array, Signature


def find_signature(signatures: Sequence[Signature], key: str | None) -> Signature:
    """The signature of that key; None stands for the only one. Raises: InputError."""
    if key is None and len(signatures) == 1:
        return signatures[0]
    if key is None:
        message = (
            f"SignatureDef signature_key is None and model has {len(signatures)} Signatures. "
            "None is only allowed when the model has 1 SignatureDef: "
            + (f"there are {', '.join(s.key for s in signatures)}" if signatures else "run() needs none")
        )
        raise InputError(message)
    for signature in signatures:
        if signature.key == key:
            return signature
    names = ", ".join(s.key for s in signatures) or "none"
    message = f'Invalid signature_key provided: "{key}". The model has {names}'
    raise InputError(message)


def in_order(signature: Signature) -> Signature:
    """Arguments by their names, as LiteRT has them: programs take the first output."""
    return signature._replace(
        inputs=dict(sorted(signature.inputs.items())), outputs=dict(sorted(signature.outputs.items()))
    )


class SignatureRunner:
    """Calls one signature: inputs by name, resized to the arrays given; outputs by name, owned copies."""

    def __init__(self, signature: Signature, session: Session, compress_zero_points: bool) -> None:
        signature = in_order(signature)
        self._signature = signature
        self._session = session
        self._entry = Entry(session, tuple(signature.inputs.items()), signature.outputs)
        self._compress_zero_points = compress_zero_points

    def __repr__(self) -> str:
        return f"SignatureRunner('{self._signature.key}', inputs={list(self._signature.inputs)})"

    def __call__(self, *by_position: Any, **inputs: Any) -> dict[str, Array]:
        """Runs the signature on arrays by name. Raises: InputError for names, types; ShapeError for shapes the model refuses."""
        plain = None if by_position else self._entry.plain(inputs)
        return self._entry.run(self._checked(by_position, inputs) if plain is None else plain)

    def _checked(self, by_position: Sequence[Any], inputs: Mapping[str, Any]) -> list[tuple[int, Array]]:
        expected = self._signature.inputs
        if by_position:
            message = f"a signature takes its arrays by name: {', '.join(f'{name}=...' for name in expected)}"
            raise InputTypeError(message)
        if len(inputs) != len(expected):
            message = (
                f"Invalid number of inputs provided for running a SignatureDef, expected {len(expected)} vs "
                f"provided {len(inputs)}: takes {', '.join(expected)}"
            )
            raise InputError(message)
        for name in inputs:
            if name not in expected:
                message = f"Invalid Input name ({name}) for SignatureDef: takes {', '.join(expected)}"
                raise InputError(message)
        return [
            (expected[name], numbers_or_strings(self._session.tensor(expected[name]), v)) for name, v in inputs.items()
        ]

    def get_input_details(self) -> dict[str, TensorDetails]:
        """Details of every input by name."""
        return {name: self._details(index) for name, index in self._signature.inputs.items()}

    def get_output_details(self) -> dict[str, TensorDetails]:
        """Details of every output by name."""
        return {name: self._details(index) for name, index in self._signature.outputs.items()}

    def _details(self, index: int) -> TensorDetails:
        session = self._session
        described = Description(session.tensor(index), compress_zero_points=self._compress_zero_points)
        return described.of(session.shape(index))
