"""Runs LiteRT's own Python tests, unmodified, on minilite and on LiteRT, from a clone of its repository.

    git clone https://github.com/google-ai-edge/LiteRT
    python tests/trust litert_tests LiteRT

Fails where a test passes on LiteRT, fails on minilite, and is not in DIFFERENT. Without a clone of all branches, the
suites of branches other than main are left out; the output names them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import subprocess
import sys
import tempfile
import types
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from minilite.format.builder import ModelBuilder
from minilite.format.dtypes import TensorType
from minilite.format.quantization import Quantization

WRAPPER = "litert/python/litert_wrapper"
SUITES = {
    "interpreter_test": ("HEAD", "tflite/python/interpreter_test.py"),
    "litert_wrapper_test": ("d57f28e70", f"{WRAPPER}/litert_wrapper_test.py"),
    "tensor_buffer_test": ("d57f28e70", f"{WRAPPER}/tensor_buffer_wrapper/tensor_buffer_test.py"),
    "tensor_buffer_dtype_test": ("33cc961f3", f"{WRAPPER}/tensor_buffer_wrapper/tensor_buffer_test.py"),
    "benchmark_litert_model_test": ("HEAD", "litert/python/tools/benchmark_litert_model_test.py"),
}
"""Revision and path of each suite, by name. Suites that mock LiteRT's C++ objects, or need more of them, are left out,
because they would test nothing here."""
DATA = {
    "testdata/pc_conv.bin": "tflite/python/testdata/pc_conv.bin",
    "sparse_tensor.bin": "tflite/testdata/sparse_tensor.bin",
}
BENCHMARK = "litert/python/tools/benchmark_litert_model.py"
CPLUSPLUS = "registers an operator from C++"
VENDOR = "flattens the options of an accelerator for LiteRT's C++"
DIFFERENT = {
    "InterpreterCustomOpsTest.testRegistererByFunc": CPLUSPLUS,
    "InterpreterCustomOpsTest.testRegistererByName": CPLUSPLUS,
    "InterpreterTest.testSparseTensorAccess": CPLUSPLUS,
    "InterpreterTensorAccessorTest.testBaseProtectsFunctions": "a view does not keep minilite from running",
    "InterpreterTestErrorPropagation.testInvalidIndex": "counts a tensor of LiteRT's own among the model's",
    "VendorOptionsFlatteningTest.test_intel_openvino_options_flatten_to_pybind_kwargs": VENDOR,
    "VendorOptionsFlatteningTest.test_qualcomm_options_flatten_to_pybind_kwargs": VENDOR,
}
"""Tests that minilite does not pass, and why."""


# Imports of the tests beside LiteRT -----------------------------------------------------------------------------------


class _TestCase(unittest.TestCase):
    """Replaces TensorFlow's TestCase, as far as these tests need it."""

    def assertAllEqual(self, first: Any, second: Any) -> None:  # noqa: N802 - TensorFlow's name
        np.testing.assert_array_equal(first, second)

    def assertLen(self, items: Any, count: int) -> None:  # noqa: N802
        assert len(items) == count


class _Converter:
    """Replaces TensorFlow's converter: the one model that a test converts, the sum of a vector."""

    @classmethod
    def from_concrete_functions(cls, *_: Any) -> _Converter:
        return cls()

    def convert(self) -> bytes:
        builder = ModelBuilder()
        graph = builder.subgraph()
        x, axis = graph.input("x", (1,), signature=(-1,)), graph.constant("axis", np.int32([0]))
        y = graph.node("SUM", [x, axis], out=("y", ()), options={"keep_dims": False})
        graph.output(y)
        builder.signature("serving_default", {"x": x}, {"output_0": y})
        return builder.build()


def _module(name: str, **contents: Any) -> None:
    """A module of that name, and the packages around it."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        path = ".".join(parts[:end])
        if path not in sys.modules:
            sys.modules[path] = types.ModuleType(path)
            sys.modules[path].__path__ = []
        if end > 1:
            setattr(sys.modules[".".join(parts[: end - 1])], parts[end - 1], sys.modules[path])
    vars(sys.modules[name]).update(contents)


def _surroundings(folder: Path) -> None:
    """Puts LiteRT's modules where the tests look for them, and the classes above in place of TensorFlow."""
    from importlib import import_module

    interpreter = import_module("ai_edge_litert.interpreter")
    keras = types.SimpleNamespace(models=types.SimpleNamespace(Model=_Concrete))
    tensorflow = {"keras": keras, "function": lambda **_: lambda method: method, "TensorSpec": lambda *_, **__: None}
    _module("tensorflow", float32=np.float32, zeros=np.zeros, **tensorflow)
    _module("tensorflow.python.framework.test_util", TensorFlowTestCase=_TestCase)
    _module("tensorflow.python.platform.test", main=unittest.main)
    for root in ("tensorflow.python.platform", "google3.third_party.tensorflow.python.platform"):
        _module(
            f"{root}.resource_loader", get_path_to_datafile=lambda name: str(folder / Path(name.removeprefix("../")))
        )
    _module("tflite.python.interpreter", **vars(interpreter))
    _module("tflite.python.lite", Interpreter=interpreter.Interpreter, TFLiteConverterV2=_Converter)
    _module(
        "tflite.python.metrics.metrics", TFLiteMetrics=import_module("ai_edge_litert.metrics_portable").TFLiteMetrics
    )
    _module("tflite.python.testdata._pywrap_test_registerer", TF_TestRegisterer=None)
    for part in (
        "compiled_model",
        "options",
        "cpu_options",
        "gpu_options",
        "intel_openvino_options",
        "qualcomm_options",
    ):
        found = import_module(f"ai_edge_litert.{part}")
        _module(f"litert.python.litert_wrapper.compiled_model_wrapper.{part}")
        setattr(sys.modules["litert.python.litert_wrapper.compiled_model_wrapper"], part, found)
        sys.modules[f"litert.python.litert_wrapper.compiled_model_wrapper.{part}"] = found
    buffers = import_module("ai_edge_litert.tensor_buffer")
    _module("litert.python.litert_wrapper.tensor_buffer_wrapper.tensor_buffer")
    sys.modules["litert.python.litert_wrapper.tensor_buffer_wrapper"].tensor_buffer = buffers  # type: ignore[attr-defined]
    sys.modules["litert.python.litert_wrapper.tensor_buffer_wrapper.tensor_buffer"] = buffers
    if (folder / "benchmark_litert_model.py").exists():
        _module("litert.python.tools.benchmark_litert_model", **vars(_loaded(folder / "benchmark_litert_model.py")))


class _Concrete:
    """Replaces a Keras model: its functions are concrete at once."""

    def __getattribute__(self, name: str) -> Any:
        return types.SimpleNamespace(get_concrete_function=lambda *_: None)


def _loaded(path: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


# Models, as the tests' build makes them -------------------------------------------------------------------------------


def _permute(kind: TensorType, quantization: Quantization) -> bytes:
    """The last of four values first."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    x = graph.input("input", (1, 4), kind, quantization=quantization)
    dtype = np.float32 if kind == TensorType.FLOAT32 else np.uint8
    weights = graph.constant("weights", np.eye(4, dtype=dtype)[::-1].copy(), quantization=quantization)
    graph.output(graph.node("FULLY_CONNECTED", [x, weights, -1], out=("output", (1, 4), kind, quantization)))
    return builder.build()


def _gather(shape: tuple[int, ...]) -> bytes:
    """Strings picked by three numbers; of a scalar beside them nothing is picked."""
    builder = ModelBuilder()
    graph = builder.subgraph()
    text = graph.input("input", shape, TensorType.STRING)
    at = graph.input("indices", (3,), TensorType.INT64)
    one = text if shape else graph.constant("input_const", [b"abcd"], TensorType.STRING)
    graph.output(graph.node("GATHER", [one, at], out=("output", (3,), TensorType.STRING), options={"axis": 0}))
    return builder.build()


def _two_signatures() -> bytes:
    builder = ModelBuilder()
    for key, operator in (("add", "ADD"), ("multiply", "MUL")):
        graph = builder.subgraph(key)
        x, two = graph.input(f"{key}_x:0", (1,)), graph.constant(f"{key}_y", np.float32([2]))
        y = graph.node(operator, [x, two], out=(f"{key}_result", (1,)))
        graph.output(y)
        builder.signature(key, {"x": x}, {"output_0": y}, subgraph=graph.index)
    return builder.build()


def _simple(kind: TensorType, constant: bool) -> bytes:
    builder = ModelBuilder()
    graph = builder.subgraph()
    first = graph.input("arg0", (4,), kind)
    second = graph.constant("one", np.int32([1])) if constant else graph.input("arg1", (4,), kind)
    graph.output(graph.node("ADD", [first, second], out=("tfl.add", (4,), kind)))
    return builder.build()


def _write_models(folder: Path) -> None:
    models = {
        "permute_float": _permute(TensorType.FLOAT32, Quantization()),
        "permute_uint8": _permute(TensorType.UINT8, Quantization((1.0,), (0,))),
        "gather_string": _gather((10,)),
        "gather_string_0d": _gather(()),
        "two_signatures": _two_signatures(),
        "simple_model_float": _simple(TensorType.FLOAT32, constant=False),
        "simple_model_int": _simple(TensorType.INT32, constant=True),
    }
    (folder / "testdata").mkdir(exist_ok=True)
    for name, model in models.items():
        (folder / "testdata" / f"{name}.tflite").write_bytes(model)


# Running --------------------------------------------------------------------------------------------------------------


def child(runtime: str, test: Path) -> None:
    """Runs one file of tests in this process; prints its outcomes as JSON."""
    if runtime == "minilite":
        from minilite import install_as

        install_as("ai_edge_litert")
    with contextlib.redirect_stdout(io.StringIO()):
        _surroundings(test.parent)
        suite = unittest.defaultTestLoader.loadTestsFromModule(_loaded(test))
        outcomes = {}
        for one in _each(suite):
            result = unittest.TestResult()
            with mock.patch("warnings.warn"):
                one.run(result)
            failed = [text.strip().splitlines()[-1] for _, text in (*result.failures, *result.errors)]
            skipped = [why for _, why in result.skipped]
            name = f"{type(one).__name__}.{one._testMethodName}"
            outcomes[name] = ["failed", failed[0]] if failed else ["skipped", skipped[0]] if skipped else ["passed", ""]
    print(f"\n{json.dumps(outcomes)}")


def _each(suite: Any) -> list[Any]:
    return [one for part in suite for one in (_each(part) if isinstance(part, unittest.TestSuite) else [part])]


def _outcomes(runtime: str, test: Path) -> dict[str, list[str]]:
    command = [sys.executable, str(Path(__file__).parent), "litert_tests", "--child", runtime, str(test)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"{test.name} on {runtime}: {found.stderr}")
    read: dict[str, list[str]] = json.loads(found.stdout.splitlines()[-1])
    return read


def _content(clone: Path, revision: str, path: str) -> bytes | None:
    found = subprocess.run(["git", "-C", clone, "show", f"{revision}:{path}"], capture_output=True, check=False)
    return found.stdout if found.returncode == 0 else None


def _compare(name: str, test: Path, *, both: bool) -> int:
    """Prints the outcomes of a suite; returns how many tests differ without a reason."""
    ours = _outcomes("minilite", test)
    theirs = _outcomes("litert", test) if both else ours
    passed = [one for one, (how, _) in theirs.items() if how == "passed"]
    count = sum(ours[one][0] == "passed" for one in passed)
    print(f"{name}: {len(ours)} tests, {len(passed)} pass on LiteRT, {count} of these on minilite")
    wrong = 0
    for one, (how, why) in ours.items():
        if how == "passed" and one not in DIFFERENT:
            continue
        known = DIFFERENT.get(one)
        unexpected = (how == "passed") == (known is not None) and (how == "passed" or theirs[one][0] == "passed")
        wrong += unexpected
        print(f"  {one}: {how} here, {theirs[one][0]} there: {known or why}{' (UNEXPECTED)' if unexpected else ''}")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status: 1 where a test differs without a reason."""
    parser = argparse.ArgumentParser(description="Run LiteRT's own tests on minilite and on LiteRT.")
    parser.add_argument("clone", metavar="CLONE", nargs="?", type=Path, help="a clone of LiteRT's repository")
    parser.add_argument("--child", nargs=2, metavar=("RUNTIME", "TEST"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        child(options.child[0], Path(options.child[1]))
        return 0
    if options.clone is None or _content(options.clone, "HEAD", "README.md") is None:
        parser.error("takes a clone of https://github.com/google-ai-edge/LiteRT")
    both = importlib.util.find_spec("ai_edge_litert") is not None
    wrong = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _write_models(folder)
        for name, path in {**DATA, "benchmark_litert_model.py": BENCHMARK}.items():
            (folder / name).write_bytes(_content(options.clone, "HEAD", path) or b"")
        for name, (revision, path) in SUITES.items():
            content = _content(options.clone, revision, path)
            if content is None:
                print(f"{name}: left out, the clone has no revision {revision}")
                continue
            (folder / f"{name}.py").write_bytes(content)
            wrong += _compare(name, folder / f"{name}.py", both=both)
    return 1 if wrong else 0
