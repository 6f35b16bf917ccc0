"""LiteRT's CompiledModel on the CPU: signatures that run over buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minilite import options as interpreter_options
from minilite.errors import (
    InputError,
    InputRuntimeError,
    InputTypeError,
    ModelFormatError,
    ModelFormatRuntimeError,
    ModelNotFoundError,
    ModelNotFoundRuntimeError,
    StateError,
    listed,
)
from minilite.litert.compiled import Compiled, CompiledSignature
from minilite.litert.environment import Environment, EnvironmentOptions
from minilite.litert.options import (
    CpuKernelMode,
    CpuOptions,
    GpuOptions,
    HardwareAccelerator,
    IntelOpenVinoOptions,
    Options,
    QualcommOptions,
)
from minilite.litert.tensor_buffer import HostMemory, TensorBuffer
from minilite.numeric import whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

__all__ = [
    "CompiledModel",
    "CpuKernelMode",
    "CpuOptions",
    "Environment",
    "EnvironmentOptions",
    "GpuOptions",
    "HardwareAccelerator",
    "IntelOpenVinoOptions",
    "Options",
    "QualcommOptions",
    "TensorBuffer",
]


class CompiledModel:
    """A model, ready to run over buffers: LiteRT's class, call for call, on the CPU.

    `from_file` and `from_buffer` make one. Signatures are given by key, or by number in the file; a model without
    signatures has one, "<placeholder signature>". Calls from several threads wait for each other.
    """

    def __init__(self, c_model_ptr: Any, environment: Environment) -> None:
        self._model: Compiled | None = c_model_ptr
        self._environment = environment

    def __enter__(self) -> CompiledModel:  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._model is None:
            return "<CompiledModel: closed>"
        return f"<CompiledModel: signatures {listed(one.key for one in self._model.signatures)}>"

    def close(self) -> None:
        """Gives back all memory except that of buffers. All later calls raise a StateError."""
        self._model = None

    @classmethod
    def from_file(
        cls,
        model_path: str,
        hardware_accel: HardwareAccelerator | None = None,
        environment: Environment | None = None,
        options: Options | None = None,
    ) -> CompiledModel:
        """Makes one from a file, which is mapped and must not change. The CPU must be among the accelerators.

        Raises: InputError; ModelNotFoundError, ModelFormatError, UnsupportedOpError, which are RuntimeErrors here."""
        return cls._made({"model_path": model_path, "model_content": None}, hardware_accel, environment, options)

    @classmethod
    def from_buffer(
        cls,
        model_data: bytes,
        hardware_accel: HardwareAccelerator | None = None,
        environment: Environment | None = None,
        options: Options | None = None,
    ) -> CompiledModel:
        """Makes one from a model's bytes. Raises: as `from_file`."""
        return cls._made({"model_path": None, "model_content": model_data}, hardware_accel, environment, options)

    @classmethod
    def _made(
        cls,
        source: Mapping[str, Any],
        hardware_accel: HardwareAccelerator | None,
        environment: Environment | None,
        options: Options | None,
    ) -> CompiledModel:
        if environment is None:
            environment = Environment.create()
        if not isinstance(environment, Environment):
            message = f"environment is of type {type(environment).__name__}, must be an Environment"
            raise InputTypeError(message)
        _ = environment.capsule  # raises if it is closed
        if options is not None and hardware_accel is not None:
            message = "Pass either options or hardware_accel, not both"
            raise InputError(message)
        if options is None:
            options = Options(HardwareAccelerator.CPU if hardware_accel is None else hardware_accel)
        _check_accelerators(options.hardware_accelerators)
        try:
            model = interpreter_options.read(**source, load="map")
        except ModelNotFoundError as error:
            raise ModelNotFoundRuntimeError(str(error)) from None
        except ModelFormatError as error:
            raise ModelFormatRuntimeError(str(error)) from None
        except InputError as error:
            raise error if isinstance(error, TypeError) else InputRuntimeError(str(error)) from None
        cpu = options.cpu_options
        wanted = whole("num_threads", cpu.num_threads)
        threads = None if wanted in range(-1, 1) else wanted
        compiled = Compiled(
            model,
            num_threads=threads,
            reference=cpu.kernel_mode == CpuKernelMode.REFERENCE,
            cache_dir=environment.options.compiler_cache_dir or None,
        )
        compiled.accelerated = options.hardware_accelerators == HardwareAccelerator.CPU
        return cls(compiled, environment)

    @property
    def environment(self) -> Environment:
        """The environment in which it was made."""
        return self._environment

    # Signatures -------------------------------------------------------------------------------------------------------

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """The names of inputs and outputs by signature, in the order of the subgraph."""
        return {
            one.key: {"inputs": list(one.inputs), "outputs": list(one.outputs)} for one in self._compiled().signatures
        }

    def get_signature_by_index(self, index: int) -> dict[str, Any]:
        """A signature's `key`, `inputs` and `outputs`. Raises: InputError."""
        one = self._signature(index)
        return {"key": one.key, "inputs": list(one.inputs), "outputs": list(one.outputs)}

    def get_num_signatures(self) -> int:
        """The number of signatures, at least one."""
        return len(self._compiled().signatures)

    def get_signature_index(self, key: str) -> int:
        """The number of a signature; -1 if there is none with that key."""
        keys = [one.key for one in self._compiled().signatures]
        return keys.index(key) if key in keys else -1

    def get_input_tensor_details(self, signature_key: str) -> dict[str, Any]:
        """`name`, `index`, `dtype` (by name) and `shape` (a list, as resized) of every input. Raises: InputError."""
        return self._of_key(signature_key).details(output=False)

    def get_output_tensor_details(self, signature_key: str) -> dict[str, Any]:
        """The same for every output, for the current shapes of inputs; the file's shape if it depends on values.

        Raises: InputError; ShapeError if the model refuses these shapes."""
        return self._of_key(signature_key).details(output=True)

    def get_input_buffer_requirements(self, input_index: int, signature_index: int = 0) -> dict[str, Any]:
        """An input's `buffer_size` in bytes, and `supported_types`: [1], memory of the CPU. Raises: InputError."""
        return self._signature(signature_index).requirements(input_index, output=False)

    def get_output_buffer_requirements(self, output_index: int, signature_index: int = 0) -> dict[str, Any]:
        """The same for an output. Raises: InputError, ShapeError."""
        return self._signature(signature_index).requirements(output_index, output=True)

    def is_fully_accelerated(self) -> bool:
        """True if all nodes run on the requested accelerators: True if only the CPU was named."""
        return self._compiled().accelerated

    # Buffers ----------------------------------------------------------------------------------------------------------

    def create_input_buffer_by_name(self, signature_key: str, input_name: str) -> TensorBuffer:
        """A buffer of zeros for an input with its current shape. Raises: InputError."""
        one = self._of_key(signature_key)
        return self._buffer(one.memory(one.position(input_name, output=False), output=False))

    def create_output_buffer_by_name(self, signature_key: str, output_name: str) -> TensorBuffer:
        """A buffer for an output, for the current shapes of inputs. If the shape depends on values, it has the file's
        shape at first, and that of the run after each run. Raises: InputError, ShapeError."""
        one = self._of_key(signature_key)
        return self._buffer(one.memory(one.position(output_name, output=True), output=True))

    def create_input_buffers(self, signature_index: int) -> list[TensorBuffer]:
        """Buffers for all inputs, in the order of the signature. Raises: InputError."""
        one = self._signature(signature_index)
        return [self._buffer(one.memory(at, output=False)) for at in range(len(one.inputs))]

    def create_output_buffers(self, signature_index: int) -> list[TensorBuffer]:
        """Buffers for all outputs, in the order of the signature. Raises: InputError, ShapeError."""
        one = self._signature(signature_index)
        return [self._buffer(one.memory(at, output=True)) for at in range(len(one.outputs))]

    # Sizes and runs ---------------------------------------------------------------------------------------------------

    def resize_input_tensor(
        self, input_index: int, dims: Sequence[int], signature_index: int = 0, strict: bool = True
    ) -> None:
        """Resizes an input, given by position; create buffers for it afterwards.

        With `strict`, only dimensions that the file's signature leaves open may change. Raises: InputError."""
        self._signature(signature_index).resize(input_index, dims, strict=strict)

    def resize_input_tensor_by_name(
        self, signature_key: str, input_name: str, dims: Sequence[int], strict: bool = True
    ) -> None:
        """The same for an input given by name. Raises: InputError."""
        if self.get_signature_index(signature_key) < 0:
            message = f"Unknown signature: {signature_key}: there are {self._keys()}"
            raise InputError(message)
        one = self._of_key(signature_key)
        if input_name not in one.inputs:
            message = f"Unknown input '{input_name}' for signature '{signature_key}': takes {listed(one.inputs)}"
            raise InputError(message)
        one.resize(one.position(input_name, output=False), dims, strict=strict)

    def run_by_name(
        self, signature_key: str, input_map: Mapping[str, TensorBuffer], output_map: Mapping[str, TensorBuffer]
    ) -> None:
        """Runs a signature over buffers by name. An input without a buffer keeps that of the last run.

        Raises: InputError, ShapeError, ArenaError, KernelError, StateError; all of them are RuntimeErrors here."""
        one = self._of_key(signature_key)
        one.check_names(output=False)
        one.check_names(output=True)
        missing = [name for name in one.outputs if name not in output_map]
        if missing:
            message = f"The given map is missing some output TensorBuffers: {listed(missing)}"
            raise InputRuntimeError(message, tensors=missing)
        inputs = [_memory(input_map[name], name) if name in input_map else None for name in one.inputs]
        one.run(inputs, [_memory(output_map[name], name) for name in one.outputs])

    def run_by_index(
        self, signature_index: int, input_buffers: Sequence[TensorBuffer], output_buffers: Sequence[TensorBuffer]
    ) -> None:
        """Runs a signature over buffers in its order. Raises: as `run_by_name`."""
        one = self._signature(signature_index)
        one.run(
            [_memory(buffer, at) for at, buffer in enumerate(input_buffers)],
            [_memory(buffer, at) for at, buffer in enumerate(output_buffers)],
        )

    def _compiled(self) -> Compiled:
        if self._model is None:
            message = "the CompiledModel is closed: from_file makes another one"
            raise StateError(message)
        return self._model

    def _signature(self, index: int) -> CompiledSignature:
        signatures = self._compiled().signatures
        index = whole("a signature's number", index)
        if not 0 <= index < len(signatures):
            message = f"Signature index is out of range of signature keys: {index}, there are {len(signatures)}"
            raise InputRuntimeError(message)
        return signatures[index]

    def _of_key(self, key: str) -> CompiledSignature:
        index = self.get_signature_index(key)
        if index < 0:
            message = f"Signature not found: {key}: there are {self._keys()}"
            raise InputRuntimeError(message)
        return self._compiled().signatures[index]

    def _keys(self) -> str:
        return ", ".join(one.key for one in self._compiled().signatures)

    def _buffer(self, memory: HostMemory) -> TensorBuffer:
        return TensorBuffer(memory, self._environment)


def _check_accelerators(wanted: int) -> None:
    """Refuses accelerators that do not include the CPU. Raises: InputError (also RuntimeError)."""
    chosen = HardwareAccelerator(whole("hardware_accelerators", wanted, 32))
    if chosen & HardwareAccelerator.CPU:
        return
    names = " and ".join(one.name or "" for one in HardwareAccelerator if one & chosen) or "none"
    message = (
        f"No acceleration provided: the accelerator asked for is {names}, minilite runs on the CPU alone: take "
        "HardwareAccelerator.CPU, or combine it with others"
    )
    raise InputRuntimeError(message)


def _memory(buffer: Any, name: str | int) -> HostMemory:
    if isinstance(buffer, TensorBuffer):
        return buffer.capsule
    message = (
        f"buffer {name} is of type {type(buffer).__name__}, must be a TensorBuffer: create_input_buffers makes some"
    )
    raise InputTypeError(message)
