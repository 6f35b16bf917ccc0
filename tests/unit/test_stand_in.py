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


def test_a_program_s_own_errors_are_shown_as_python_shows_them(tmp_path: Path) -> None:
    """Those of files too, which the command would put in a line; and modules run as with python -m."""
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
    """At its top, or after the guard that spawned processes do not pass."""
    program = starting(tmp_path, "tflite_runtime", **{where: "import minilite; minilite.install_as('tflite_runtime')"})
    assert output(sys.executable, program, folder=tmp_path) == ["minilite.interpreter"] * 3


def test_programs_in_path_and_folders_run(tmp_path: Path) -> None:
    """What pip installs beside Python, and what `python FOLDER` runs."""
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


def test_the_first_place_of_the_path_stays_the_programs(tmp_path: Path) -> None:
    """Programs look there for their files."""
    (tmp_path / "program.py").write_text("import sys; print(sys.path[0])")
    command = [sys.executable, "-m", "minilite", "as", "all", str(tmp_path / "program.py")]
    assert output(*command, folder=tmp_path) == [str(tmp_path)]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has no safe path yet")
def test_under_a_safe_path_the_program_s_folder_stays_out(tmp_path: Path) -> None:
    """As python -P has it; what PYTHONPATH says stays."""
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
    """What ASKS prints where a package is installed."""
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
    assert found == ["minilite.interpreter", "minilite.interpreter", minilite.__version__, "None"]


COMPILED = """
import sys
import ai_edge_litert
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.interpreter import Interpreter
model = CompiledModel.from_file(sys.argv[1])
inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
inputs[0].write(__import__("numpy").float32([-1, 2, -3, 4]))
model.run_by_index(0, inputs, outputs)
print(outputs[0].read(4, "float32").tolist(), Interpreter.__module__, ai_edge_litert.__version__)
"""


@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="LiteRT loads plugins in a way that AddressSanitizer refuses"
)
@pytest.mark.parametrize("process", ["as", "child"])
def test_litert_s_compiled_model_works(process: str, tmp_path: Path) -> None:
    """With LiteRT installed: it is LiteRT's still."""
    (tmp_path / "program.py").write_text(COMPILED)
    (tmp_path / "m.tflite").write_bytes(relu_chain())
    command = [
        sys.executable,
        *(["-m", "minilite", "as", "all"] if process == "as" else []),
        str(tmp_path / "program.py"),
    ]
    path = folders(["ai_edge_litert"]) if process == "child" else []
    found = output(*command, str(tmp_path / "m.tflite"), folder=tmp_path, PYTHONPATH=os.pathsep.join(path))
    version = importlib.metadata.version("ai-edge-litert")
    assert found == ["[0.0,", "2.0,", "0.0,", "4.0]", "minilite.interpreter", version]


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="TensorFlow is installed")
def test_what_tensorflow_s_place_lacks_is_explained(tmp_path: Path) -> None:
    code = """
import minilite
minilite.install_as("tensorflow.lite")
import tensorflow as tf
for ask in (lambda: tf.keras, lambda: tf.lite.Optimize):
    try:
        ask()
    except AttributeError as error:
        print(error, end=";")
print(hasattr(tf, "__version__"), tf.lite.Interpreter.__module__)
"""
    found = " ".join(output(sys.executable, "-c", code, folder=tmp_path)).split(";")
    assert found == [
        "module 'tensorflow' has no attribute 'keras': minilite stands in for tensorflow.lite alone, TensorFlow is not installed",
        "module 'tensorflow.lite' has no attribute 'Optimize': minilite stands in for tensorflow.lite, of which it has the interpreter alone",
        "False minilite.interpreter",
    ]
