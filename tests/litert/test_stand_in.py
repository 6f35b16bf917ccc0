"""minilite in LiteRT's place: programs that import it run unchanged, and so do the processes that they start."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from built import relu_chain

import minilite
from minilite.errors import InputError
from minilite.litert.stand_in import folders, install_as

PROGRAM = """
import sys
import numpy as np
{imports}
interpreter = Interpreter(model_path=sys.argv[1])
interpreter.allocate_tensors()
interpreter.set_tensor(0, np.float32([-1, 2, -3, 4]))
interpreter.invoke()
print(type(interpreter).__module__, interpreter.get_tensor(3).tolist(), *sys.argv[2:])
"""
IMPORTS = {
    "ai_edge_litert": "from ai_edge_litert.interpreter import Interpreter, load_delegate, OpResolverType",
    "tflite_runtime": "import tflite_runtime.interpreter as tflite; Interpreter = tflite.Interpreter",
    "tensorflow.lite": "import tensorflow as tf; Interpreter = tf.lite.Interpreter; tf.lite.experimental.load_delegate",
}


@pytest.mark.parametrize("package", IMPORTS)
def test_programs_run_unchanged(package: str, tmp_path: Path) -> None:
    program, model = tmp_path / "program.py", tmp_path / "m.tflite"
    program.write_text(PROGRAM.format(imports=IMPORTS[package]))
    model.write_bytes(relu_chain())
    command = [sys.executable, "-m", "minilite", "as", package, str(program), str(model), "--flag"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "minilite.interpreter [0.0, 2.0, 0.0, 4.0] --flag\n"


def test_programs_that_look_before_they_import_find_it() -> None:
    """Many ask `find_spec` which of the packages is there."""
    code = """
import importlib.util, minilite
minilite.install_as()
for name in ("ai_edge_litert", "tflite_runtime", "tflite_runtime.interpreter", "tensorflow", "tensorflow.lite", "tensorflow.lite.python"):
    assert importlib.util.find_spec(name) is not None, name
from tensorflow.lite.python.interpreter import Interpreter
assert Interpreter is minilite.Interpreter
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_versions_of_packages_that_are_not_installed() -> None:
    """Programs and plugins compare them; those of installed packages stay."""
    code = """
import importlib.metadata, minilite
before = {name: importlib.metadata.version(name) for name in ("numpy", "minilite-runtime")}
minilite.install_as("tflite_runtime")
for name in ("tflite_runtime", "tflite-runtime"):
    assert importlib.metadata.version(name) == f"2.14.0+minilite.{minilite.__version__}", name
assert importlib.metadata.metadata("tflite-runtime")["Name"] == "tflite-runtime"
assert {name: importlib.metadata.version(name) for name in before} == before
assert "tflite-runtime" in {found.metadata["Name"] for found in importlib.metadata.distributions()}
try:
    importlib.metadata.version("ai-edge-litert-of-nobody")
except importlib.metadata.PackageNotFoundError:
    pass
from tflite_runtime import metrics_portable
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_program_s_own_errors_are_shown_as_python_shows_them(tmp_path: Path) -> None:
    """Errors of files too, which the command would otherwise print in one line; and modules run as with python -m."""
    program = tmp_path / "program.py"
    program.write_text("import sys\n\n\ndef read():\n    return open(sys.argv[1])\n\n\nread()\n")
    command = [sys.executable, "-m", "minilite", "as", "all"]
    for how in ([str(program)], ["-m", "program"]):
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
        found = subprocess.run(
            [*command, *how, "/nope"], capture_output=True, text=True, check=False, cwd=tmp_path, env=plain
        )
        assert found.returncode == 1
        assert found.stderr.startswith("Traceback (most recent call last):\n")
        assert found.stderr.endswith("FileNotFoundError: [Errno 2] No such file or directory: '/nope'\n")
        assert "stand_in.py" not in found.stderr
        assert "runpy" not in found.stderr
        assert "in read\n" in found.stderr


def test_only_for_packages_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot stand in for 'onnxruntime', only for ai_edge_litert, tflite_runtime"):
        install_as("onnxruntime")
    command = [sys.executable, "-m", "minilite", "as", "all", str(tmp_path / "none.py")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    says = "minilite: takes a Python program, by its path or its name in PATH, or -m and a module: "
    assert found.stderr == f"{says}{tmp_path / 'none.py'} is no file\n"
    (tmp_path / "other").write_text("#!/bin/sh\n")
    (tmp_path / "other").chmod(0o755)
    environment = {**os.environ, "PATH": str(tmp_path)}
    found = subprocess.run([*command[:-1], "other"], capture_output=True, text=True, check=False, env=environment)
    assert (found.returncode, found.stderr) == (2, f"{says}{tmp_path / 'other'} is none\n")
    found = subprocess.run(command[:-2], capture_output=True, text=True, check=False)
    assert found.stderr == "minilite as: the following arguments are required: PACKAGE, SCRIPT\n"


# Processes that a program starts --------------------------------------------------------------------------------------

STARTING = """
import multiprocessing, subprocess, sys
{early}

def kind(_):
    from {package}.interpreter import Interpreter
    return Interpreter.__module__

if __name__ == "__main__":
    {late}
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(*pool.map(kind, [0]), flush=True)
    {last}
"""
PACKAGES = ("ai_edge_litert", "tflite_runtime", "tensorflow.lite")
CHILD = "from {package}.interpreter import Interpreter; print(Interpreter.__module__)"


def output(*command: str, folder: Path, **environment: str) -> list[str]:
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env={**plain, **environment}
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


def starting(folder: Path, package: str, early: str = "", late: str = "", last: str = "") -> str:
    path = folder / "program.py"
    path.write_text(STARTING.format(package=package, early=early, late=late, last=last))
    return str(path)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_command_reaches_all_processes(package: str, tmp_path: Path) -> None:
    """Forked ones, spawned ones, and Python programs that are started by name; a path that was there stays."""
    last = f"subprocess.run([sys.executable, '-c', {CHILD.format(package=package)!r}], check=True); import mine"
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "mine.py").write_text("print('mine')")
    program = starting(tmp_path, package, last=last)
    command = [sys.executable, "-m", "minilite", "as", package, program]
    found = output(*command, folder=tmp_path, PYTHONPATH=str(tmp_path / "more"))
    assert found == [*["minilite.interpreter"] * 4, "mine"]


@pytest.mark.parametrize("where", ["early", "late"])
def test_a_program_that_installs_it_reaches_its_processes(where: str, tmp_path: Path) -> None:
    """The call is at the program's top, or after the guard that spawned processes do not pass."""
    program = starting(tmp_path, "tflite_runtime", **{where: "import minilite; minilite.install_as('tflite_runtime')"})
    assert output(sys.executable, program, folder=tmp_path) == ["minilite.interpreter"] * 3


def test_programs_in_path_and_folders_run(tmp_path: Path) -> None:
    """Commands that pip installs beside Python, and folders as `python FOLDER` runs them."""
    (tmp_path / "client").write_text(
        f"#!{sys.executable}\n{CHILD.format(package='tflite_runtime')}; import sys; print(sys.argv[1:])"
    )
    (tmp_path / "client").chmod(0o755)
    command = [sys.executable, "-m", "minilite", "as", "all"]
    found = output(*command, "client", "-x", folder=tmp_path, PATH=str(tmp_path))
    assert found == ["minilite.interpreter", "['-x']"]
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "__main__.py").write_text(CHILD.format(package="ai_edge_litert"))
    assert output(*command, str(tmp_path / "program"), folder=tmp_path) == ["minilite.interpreter"]


def test_the_first_entry_of_sys_path_stays_the_program_s(tmp_path: Path) -> None:
    """Programs look there for their files."""
    (tmp_path / "program.py").write_text("import sys; print(sys.path[0])")
    command = [sys.executable, "-m", "minilite", "as", "all", str(tmp_path / "program.py")]
    assert output(*command, folder=tmp_path) == [str(tmp_path)]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has no safe path yet")
def test_under_a_safe_path_the_program_s_folder_stays_out(tmp_path: Path) -> None:
    """As with python -P; entries of PYTHONPATH stay."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "mine.py").write_text("print('mine')")
    (tmp_path / "program.py").write_text("import mine, sys; print(sys.path[0] == sys.argv[1])")
    command = [sys.executable, "-m", "minilite", "as", "all", str(tmp_path / "program.py"), str(tmp_path)]
    found = output(*command, folder=tmp_path, PYTHONSAFEPATH="1", PYTHONPATH=str(tmp_path / "more"))
    assert found == ["mine", "False"]


@pytest.mark.parametrize("process", ["this", "child"])
def test_an_installed_tensorflow_keeps_the_rest(process: str, tmp_path: Path) -> None:
    (tmp_path / "installed" / "tensorflow").mkdir(parents=True)
    (tmp_path / "installed" / "tensorflow" / "__init__.py").write_text("rest = 'kept'")
    asks = "import tensorflow as tf; print(tf.rest, tf.lite.Interpreter.__module__)"
    code = f"import minilite; minilite.install_as('tensorflow.lite'); {asks}" if process == "this" else asks
    path = [*(folders(["tensorflow.lite"]) if process == "child" else []), str(tmp_path / "installed")]
    found = output(sys.executable, "-c", code, folder=tmp_path, PYTHONPATH=os.pathsep.join(path))
    assert found == ["kept", "minilite.interpreter"]


INSTALLED = {
    "__init__.py": "__version__ = '2.3'; loaded = 'library'",
    "interpreter.py": "raise ImportError",
    "tools/__init__.py": "from tflite_runtime.interpreter import Interpreter",
}
"""A package by its files."""
ASKS = """
import importlib.util, sys
import tflite_runtime, tflite_runtime.tools as tools, tflite_runtime.interpreter
from tflite_runtime import interpreter
print(tools.Interpreter.__module__, interpreter.__name__, tflite_runtime.__version__)
assert importlib.util.find_spec("tflite_runtime").origin == getattr(tflite_runtime, "__file__", None)
print(getattr(tflite_runtime, "loaded", None))
"""


def options_of_installed(process: str, folder: Path, files: dict[str, str]) -> list[str]:
    """The output of ASKS if a package is installed."""
    for name, text in files.items():
        path = folder / "installed" / "tflite_runtime" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    code = f"import minilite; minilite.install_as('tflite_runtime')\n{ASKS}" if process == "this" else ASKS
    path_ = [*(folders(["tflite_runtime"]) if process == "child" else []), str(folder / "installed")]
    return output(sys.executable, "-c", code, folder=folder, PYTHONPATH=os.pathsep.join(path_))


@pytest.mark.parametrize("process", ["this", "child"])
def test_an_installed_package_keeps_all_but_its_interpreter(process: str, tmp_path: Path) -> None:
    """Its own code runs, which other modules rely on; only the interpreter is minilite's, for them as well."""
    found = options_of_installed(process, tmp_path, INSTALLED)
    assert found == ["minilite.interpreter", "minilite.interpreter", "2.3", "library"]


@pytest.mark.parametrize("process", ["this", "child"])
def test_an_installed_package_that_cannot_be_imported_keeps_its_modules(process: str, tmp_path: Path) -> None:
    found = options_of_installed(process, tmp_path, {**INSTALLED, "__init__.py": "raise OSError('no library')"})
    assert found == ["minilite.interpreter"] * 2 + [f"2.14.0+minilite.{minilite.__version__}", "None"]


COMPILED = """
import sys
import numpy as np
import ai_edge_litert
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment, EnvironmentOptions
from ai_edge_litert.hardware_accelerator import HardwareAccelerator
from ai_edge_litert.interpreter import Interpreter
from ai_edge_litert.options import CpuOptions, Options
from ai_edge_litert.tensor_buffer import TensorBuffer

try:
    CompiledModel.from_file(sys.argv[1], HardwareAccelerator.NPU)
except RuntimeError:
    print("CPU")
options = Options(HardwareAccelerator.CPU, CpuOptions(num_threads=2))
with CompiledModel.from_file(sys.argv[1], environment=Environment.create(options=EnvironmentOptions()), options=options) as model:
    signature = model.get_signature_by_index(0)
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    inputs[0].write(np.float32([-1, 2, -3, 4]))
    model.run_by_index(0, inputs, outputs)
    print(outputs[0].read(4, np.float32).tolist(), signature["inputs"])
    model.resize_input_tensor(0, [2])
    mine = TensorBuffer.create_from_host_memory(np.float32([5, -6]))
    output = model.create_output_buffer_by_name(signature["key"], signature["outputs"][0])
    model.run_by_name(signature["key"], {signature["inputs"][0]: mine}, {signature["outputs"][0]: output})
    print(output.read(2, np.float32).tolist(), output.get_tensor_details())
if len(sys.argv) > 2:
    print(CompiledModel.__module__, Interpreter.__module__, ai_edge_litert.__version__, hasattr(ai_edge_litert, "tools"))
"""
GIVES = "CPU\n[0.0, 2.0, 0.0, 4.0] ['x']\n[5.0, 0.0] {'dtype': 'float32', 'shape': [2]}\n"
WITHOUT = """
from importlib.machinery import PathFinder

found = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    return None if name == "ai_edge_litert" else found(name, path, target)


PathFinder.find_spec = find_spec
"""
"""Put into sitecustomize.py: LiteRT is not installed."""


def compiled(folder: Path, process: str, *arguments: str, litert: bool = True) -> str:
    """The output of COMPILED: run by `minilite as`, as a child of such a program, or by "python" alone."""
    (folder / "program.py").write_text(COMPILED)
    (folder / "m.tflite").write_bytes(relu_chain())
    if not litert:
        (folder / "sitecustomize.py").write_text(WITHOUT)
    command = ["-m", "minilite", "as", "ai_edge_litert"] if process == "as" else []
    path = [*(folders(["ai_edge_litert"]) if process == "child" else []), str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, *command, str(folder / "program.py"), str(folder / "m.tflite"), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 0, found.stderr
    return found.stdout


LITERT = pytest.mark.skipif(importlib.util.find_spec("ai_edge_litert") is None, reason="LiteRT is not installed")


@LITERT
@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="LiteRT loads plugins in a way that AddressSanitizer refuses"
)
def test_a_program_on_compiled_model_prints_the_same_with_litert_alone(tmp_path: Path) -> None:
    """LiteRT needs memory at a multiple of 64 bytes, of its own shape, so only minilite prints the last two lines."""
    program = COMPILED[: COMPILED.index("    model.resize_input_tensor")]
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "m.tflite").write_bytes(relu_chain())
    found = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "m.tflite")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line for line in found.stdout.splitlines() if not line.startswith(("INFO:", "WARNING:"))] == (
        GIVES.splitlines()[:2]
    )


@pytest.mark.parametrize("litert", [pytest.param(True, marks=LITERT), False])
def test_a_program_on_compiled_model_runs_with_and_without_litert(litert: bool, tmp_path: Path) -> None:
    found = compiled(tmp_path, "as", "more", litert=litert)
    version = importlib.metadata.version("ai-edge-litert") if litert else f"2.3.0+minilite.{minilite.__version__}"
    assert found == f"{GIVES}minilite.litert.compiled_model minilite.interpreter {version} False\n"


@LITERT
@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="LiteRT loads plugins in a way that AddressSanitizer refuses"
)
def test_child_processes_of_programs_get_minilite_too(tmp_path: Path) -> None:
    assert compiled(tmp_path, "child") == GIVES


def test_stand_in_loads_only_imported_modules(tmp_path: Path) -> None:
    code = """
import sys, minilite
from minilite import Interpreter
own = set(sys.modules)
minilite.install_as("ai_edge_litert")
import ai_edge_litert.interpreter
print(*(name for name in sys.modules if name.startswith("minilite.litert.") and name not in own))
"""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    found = output(sys.executable, "-c", code, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert set(found) <= {"minilite.litert.stand_in", "minilite.litert.delegates"}


def test_a_made_package_says_what_it_is(tmp_path: Path) -> None:
    code = """
import minilite
minilite.install_as()
import ai_edge_litert, tflite_runtime
from importlib.util import find_spec
print(tflite_runtime.__version__, find_spec("ai_edge_litert").origin == ai_edge_litert.__file__, end=";")
for ask in (lambda: ai_edge_litert.aot, lambda: tflite_runtime.Interpreter):
    try:
        ask()
    except AttributeError as error:
        print(error, end=";")
"""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    found = " ".join(output(sys.executable, "-c", code, folder=tmp_path, PYTHONPATH=str(tmp_path))).split(";")
    assert found[:-1] == [
        f"2.14.0+minilite.{minilite.__version__} True",
        (
            "module 'ai_edge_litert' has no attribute 'aot': minilite stands in for ai_edge_litert, of which it has interpreter, "
            "compiled_model, tensor_buffer, environment, options, hardware_accelerator, cpu_options, cpu_kernel_mode, "
            "gpu_options, qualcomm_options, intel_openvino_options, metrics_portable"
        ),
        (
            "module 'tflite_runtime' has no attribute 'Interpreter': minilite stands in for tflite_runtime, of which it has interpreter, "
            "metrics_portable"
        ),
    ]


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="TensorFlow is installed")
def test_missing_attributes_of_tensorflow_are_explained(tmp_path: Path) -> None:
    code = """
import minilite
minilite.install_as("tensorflow.lite")
import tensorflow as tf
for ask in (lambda: tf.keras, lambda: tf.lite.Optimize):
    try:
        ask()
    except AttributeError as error:
        print(error, end=";")
print(tf.__version__, tf.lite.Interpreter.__module__)
"""
    found = " ".join(output(sys.executable, "-c", code, folder=tmp_path)).split(";")
    assert found == [
        "module 'tensorflow' has no attribute 'keras': minilite stands in for tensorflow.lite alone, TensorFlow is not installed",
        "module 'tensorflow.lite' has no attribute 'Optimize': minilite stands in for tensorflow.lite, of which it has interpreter",
        f"2.19.0+minilite.{minilite.__version__} minilite.interpreter",
    ]
