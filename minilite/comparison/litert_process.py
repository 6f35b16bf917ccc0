"""Runs LiteRT in a process of its own, because it may crash: python -m minilite.comparison.litert_process FOLDER

The folder has `request.json`, `model.tflite`, and `in_N.npy` for each input N; the process adds `out_N.npy` for each
tensor N whose values LiteRT gives, and before each step writes its name to `state.json`.
"""

from __future__ import annotations

import contextlib
import json
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minilite.format.strings import decode_strings, encode_strings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minilite.format.model import Array

PACKAGES = {
    "ai_edge_litert.interpreter": "ai-edge-litert",
    "tflite_runtime.interpreter": "tflite-runtime",
    "tensorflow.lite.python.interpreter": "tensorflow",
}
"""Modules that have LiteRT's Interpreter, best first, and their distributions."""


def write_array(folder: Path, name: str, array: Array) -> None:
    """Writes an array as a .npy without pickles; strings as TFLite's bytes for them, with their shape."""
    if array.dtype == object or array.dtype.kind in "SU":
        np.save(folder / f"{name}.npy", np.frombuffer(encode_strings(array.astype(object)), np.uint8))
        (folder / f"{name}.json").write_text(json.dumps(array.shape))
    else:
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def read_array(folder: Path, name: str) -> Array | None:
    """Reads the array that `write_array` wrote; None if there is none."""
    path, shape = folder / f"{name}.npy", folder / f"{name}.json"
    try:
        array: Array = np.load(path, allow_pickle=False)
        return decode_strings(array, tuple(json.loads(shape.read_text()))) if shape.exists() else array
    except (OSError, ValueError, EOFError):  # the process may have ended while it wrote
        return None


def find() -> tuple[Any, str]:
    """Returns LiteRT's module, and the name and version of its distribution. Raises: ImportError."""
    for module, distribution in PACKAGES.items():
        try:
            return import_module(module), f"{distribution} {metadata.version(distribution)}"
        except (ImportError, metadata.PackageNotFoundError):
            continue
    message = f"LiteRT is not installed: none of {', '.join(PACKAGES.values())} can be imported"
    raise ImportError(message)


def _run(folder: Path) -> None:
    def at(step: str) -> None:
        (folder / "state.json").write_text(json.dumps({"step": step, "version": version}))

    request = json.loads((folder / "request.json").read_text())
    module, version = find()
    at("loading the model")
    interpreter = module.Interpreter(
        model_path=str(folder / "model.tflite"),
        num_threads=request["threads"],
        experimental_op_resolver_type=module.OpResolverType[request["resolver"]],
        experimental_preserve_all_tensors=request["keep_all"],
    )
    inputs: dict[int, Any] = {index: read_array(folder, f"in_{index}") for index in request["inputs"]}
    if request["signature"] is not None:
        _run_signature(interpreter, request, inputs, folder, at)
        return
    at("allocating tensors")
    for detail in interpreter.get_input_details():
        if tuple(detail["shape"]) != np.shape(inputs[detail["index"]]):
            interpreter.resize_tensor_input(detail["index"], np.shape(inputs[detail["index"]]))
    interpreter.allocate_tensors()
    for index, array in inputs.items():
        interpreter.set_tensor(index, array)
    at("invoking")
    interpreter.invoke()
    for index in request["tensors"]:
        at(f"reading tensor {index}")
        with contextlib.suppress(ValueError, RuntimeError):  # LiteRT has no values of some tensors
            write_array(folder, f"out_{index}", np.asarray(interpreter.get_tensor(index)))


def _run_signature(
    interpreter: Any, request: Mapping[str, Any], inputs: Mapping[int, Any], folder: Path, at: Callable[[str], None]
) -> None:
    """Runs a signature, which LiteRT calls by the names of arguments."""
    at("invoking")
    runner = interpreter.get_signature_runner(request["signature"])
    given = {name: inputs[detail["index"]] for name, detail in runner.get_input_details().items()}
    outputs, details = runner(**given), runner.get_output_details()
    for name, array in outputs.items():
        write_array(folder, f"out_{details[name]['index']}", np.asarray(array))
    for index in request["tensors"] if request["keep_all"] else ():
        at(f"reading tensor {index}")
        with contextlib.suppress(ValueError, RuntimeError):
            write_array(folder, f"out_{index}", np.asarray(interpreter.get_tensor(index, request["subgraph"])))


def main(folder: Path) -> int:
    """Runs the request in the folder; writes an error of LiteRT's to `error.json`."""
    try:
        _run(folder)
    except Exception as error:  # noqa: BLE001 - the process that asked reports whatever LiteRT raises
        (folder / "error.json").write_text(json.dumps({"kind": type(error).__name__, "text": str(error)}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
