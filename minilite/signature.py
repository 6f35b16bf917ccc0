"""SignatureRunner: a model's named entry point, called with arrays by name."""

from __future__ import annotations

from collections.abc import ItemsView, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minilite import details
from minilite.engine import array_call, tensor_arguments
from minilite.engine.engine import engine_of
from minilite.engine.signatures import find_signature, in_order
from minilite.errors import InputError, InputTypeError, listed
from minilite.format.model import Array

if TYPE_CHECKING:
    from minilite.details import TensorDetails


class SignatureRunner:
    """Calls one signature: inputs by name, resized to the arrays given; outputs by name, owned copies.

    ``cancel=token`` ends a call when the token is set, as in `Interpreter.run`, unless an input is named ``cancel``.
    `Interpreter.get_signature_runner` gives one. Raises: InputError.
    """

    def __init__(self, interpreter: Any = None, signature_key: str | None = None) -> None:
        if interpreter is None or signature_key is None:
            missing = "interpreter" if interpreter is None else "signature_key"
            message = f"None {missing} provided: interpreter.get_signature_runner(key) gives a runner"
            raise InputError(message)
        signature = in_order(find_signature(interpreter.model.signatures, signature_key))
        session = engine_of(interpreter).session(signature.subgraph)
        self._signature = signature
        self._session = session
        self._interpreter = interpreter
        self._call = array_call.ArrayCall(session, tuple(signature.inputs.items()), signature.outputs)
        self._compress_zero_points = interpreter.experimental_compress_quantization_zero_points

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies as the interpreter and the signature's key."""
        return type(self), (self._interpreter, self._signature.key)

    def __repr__(self) -> str:
        return f"SignatureRunner({self._signature.key!r}, inputs={list(self._signature.inputs)})"

    def __call__(self, *by_position: Any, **inputs: Any) -> dict[str, Array]:
        """Runs the signature on arrays by name. Raises: InputError for names, types; ShapeError for shapes the model
        refuses."""
        plain = None if by_position else self._call.plain(inputs)
        if plain is not None:
            return self._call.run(plain)
        cancel = None if "cancel" in self._signature.inputs else inputs.pop("cancel", None)
        return self._call.run(self._checked(by_position, inputs), cancel=cancel)

    def _checked(self, by_position: Sequence[Any], inputs: Mapping[str, Any]) -> list[tuple[int, Array]]:
        expected = self._signature.inputs
        if by_position:
            named = ", ".join(f"{name}=..." for name in expected if name) or f"it takes {listed(expected)}"
            message = f"a signature takes its arrays by name: {named}"
            raise InputTypeError(message)
        if len(inputs) != len(expected):
            message = (
                f"Invalid number of inputs provided for running a SignatureDef, expected {len(expected)} vs "
                f"provided {len(inputs)}: takes {listed(expected)}"
            )
            raise InputError(message)
        for name in inputs:
            if name not in expected:
                message = f"Invalid Input name ({name}) for SignatureDef: takes {listed(expected)}"
                raise InputError(message)
        return [
            (expected[name], tensor_arguments.as_given(self._session.tensor(expected[name]), value))
            for name, value in inputs.items()
        ]

    def get_input_details(self) -> dict[str, TensorDetails]:
        """Details of every input by name."""
        return {name: self._details(index) for name, index in self._signature.inputs.items()}

    def get_output_details(self) -> dict[str, TensorDetails]:
        """Details of every output by name."""
        return {name: self._details(index) for name, index in self._signature.outputs.items()}

    def _details(self, index: int) -> TensorDetails:
        session = self._session
        described = details.Description(session.tensor(index), compress_zero_points=self._compress_zero_points)
        return described.of(session.shape(index))

    # Names that begin with an underscore in LiteRT's class, with its results ------------------------------------------

    @property
    def _interpreter_wrapper(self) -> Any:
        return self._interpreter._interpreter

    @property
    def _signature_key(self) -> str:
        return self._signature.key

    @property
    def _signature_def(self) -> dict[str, dict[str, int]]:
        return {"inputs": dict(self._signature.inputs), "outputs": dict(self._signature.outputs)}

    @property
    def _inputs(self) -> dict[str, int]:
        return dict(self._signature.inputs)

    @property
    def _outputs(self) -> ItemsView[str, int]:
        return dict(self._signature.outputs).items()

    @property
    def _subgraph_index(self) -> int:
        return self._signature.subgraph
