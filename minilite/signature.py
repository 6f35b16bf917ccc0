"""SignatureRunner: a model's named entry point, called with arrays by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minilite.engine.session import Session
from minilite.errors import InputError
from minilite.format.model import Array, Signature


class SignatureRunner:
    """Calls one signature: inputs by name, resized to the arrays given; outputs by name, owned copies."""

    def __init__(
        self, signature: Signature, session: Session, details: Callable[[Session, int], dict[str, Any]]
    ) -> None:
        self._signature = signature
        self._session = session
        self._details = details

    def __repr__(self) -> str:
        return f"SignatureRunner('{self._signature.key}', inputs={list(self._signature.inputs)})"

    def __call__(self, **inputs: Any) -> dict[str, Array]:
        """Runs the signature. Raises: InputError for names, types; ShapeError for shapes the model refuses."""
        expected = self._signature.inputs
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
        arrays = {expected[name]: np.asarray(value) for name, value in inputs.items()}
        return self.run(arrays)

    def run(self, arrays: dict[int, Array]) -> dict[str, Array]:
        """Runs on arrays by tensor number."""
        session = self._session
        for index, array in arrays.items():
            session.resize(index, array.shape)
        session.allocate()
        for index, array in arrays.items():
            session.set(index, array)
        session.invoke()
        return {name: session.get(index) for name, index in self._signature.outputs.items()}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """Details of every input by name."""
        return {name: self._details(self._session, index) for name, index in self._signature.inputs.items()}

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """Details of every output by name."""
        return {name: self._details(self._session, index) for name, index in self._signature.outputs.items()}
