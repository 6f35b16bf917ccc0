"""The delivered package: version, typing marker, imports, package data, and a README that is true."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import types
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

import minilite

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(minilite.__file__).parent
NEEDED = {"numpy", "flatbuffers", "cffi"}
FOREIGN = (
    "ai_edge_litert",
    "tflite",
    "tflite_runtime",
    "tensorflow",
    "sklearn",
    "matplotlib",
    "asv",
    "pytest",
    "hypothesis",
)


def imported(statement: str, folder: Path) -> set[str]:
    """Returns the modules that a fresh process has imported after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_version_is_that_of_the_project() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{version("minilite-runtime")}"' in text
    assert minilite.__version__ == version("minilite-runtime")
    assert not hasattr(minilite, "__no_such_name__")


def test_metadata_names_authors() -> None:
    assert metadata("minilite-runtime")["Author"] or metadata("minilite-runtime")["Author-email"]


def test_models_are_read_by_a_public_function(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes((PACKAGE / "data" / "digits.tflite").read_bytes())
    model = minilite.load_model(path)
    one, other = minilite.Interpreter(model), minilite.Interpreter(model)
    assert one.model is other.model is model


def test_runtime_dependencies_are_three() -> None:
    required = metadata("minilite-runtime").get_all("Requires-Dist") or []
    names = {re.split(r"[\s<>=!~;\[]", text)[0] for text in required if "extra ==" not in text}
    assert names == NEEDED


def test_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


def test_public_names_exist_and_are_sorted() -> None:
    assert minilite.__all__ == sorted(minilite.__all__)
    assert all(hasattr(minilite, name) for name in minilite.__all__)


@pytest.mark.parametrize("statement", ["from minilite import Interpreter", "import minilite.cli"])
def test_imports_stay_light(statement: str, tmp_path: Path) -> None:
    modules = imported(statement, tmp_path)
    assert not modules.intersection(FOREIGN)
    # Modules that are seldom needed are imported when they are used.
    assert not modules.intersection(
        {"minilite.format.builder", "asyncio", "multiprocessing", "unittest", "importlib.metadata"}
    )


def test_the_interpreter_imports_what_running_needs(tmp_path: Path) -> None:
    modules = imported("from minilite import Interpreter", tmp_path) - imported("import numpy", tmp_path)
    assert not {"pathlib", "typing_extensions", "numpy.typing", "dataclasses", "csv"} & modules
    assert not {name for name in modules if name.startswith(("minilite.ops.", "minilite.memory.", "minilite.report"))}
    assert not {"minilite._native.planner", "asyncio", "zipfile", "json", "difflib"} & modules
    assert {name for name in imported("import minilite", tmp_path) if name.startswith("minilite")} == {"minilite"}


def test_a_first_run_imports_nothing_that_only_some_models_need(tmp_path: Path) -> None:
    code = f"""
import minilite
one = minilite.Interpreter({str(PACKAGE / "data" / "digits.tflite")!r})
one.allocate_tensors()
one.set_tensor(0, one.get_tensor(0))
one.invoke()
one.get_tensor(one.get_output_details()[0]["index"])
"""
    modules = imported(code, tmp_path)
    seldom = {
        f"format.{name}"
        for name in ("_schema", "_spec", "about", "associated", "builder", "described", "origin", "tables")
    }
    seldom |= {f"engine.{name}" for name in ("float_values", "lower_nodes", "operands", "python_nodes", "reorder")}
    seldom |= {f"engine.{name}" for name in ("async_run", "carried", "slices", "user_kernels")}
    seldom |= {f"engine.{name}" for name in ("pickling", "refusals", "sizes", "states")}
    seldom |= {
        f"_native.{name}" for name in ("advice", "kept", "kernels", "memory", "plan", "planner", "tiles", "usage")
    }
    seldom |= {"displays", "litert.registerers", "litert.wrapper", "text"}
    seldom |= {"memory", "ops", "ops_shared", "report", "recording", "profiling"}  # C knows all kinds of the model
    assert {name for name in modules if name.removeprefix("minilite.") in seldom} == set()
    own = [name for name in modules if name.startswith("minilite.")]
    assert len(own) <= 41
    assert sum(map(functions_of, own)) <= 880


def functions_of(name: str) -> int:
    """The number of functions and classes that a module of minilite defines: the time of loading its code depends on
    them."""

    def count(code: types.CodeType) -> int:
        inner = [c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name != "__annotate__"]
        return sum(1 + count(c) for c in inner)

    path = PACKAGE.joinpath(*name.split(".")[1:])
    source = path.with_suffix(".py") if not path.is_dir() else path / "__init__.py"
    return count(compile(source.read_text(), name, "exec")) if source.exists() else 0  # else the core


def test_cli_adds_little_to_the_package(tmp_path: Path) -> None:
    extra = imported("import minilite.cli", tmp_path) - imported(
        "import pathlib, importlib.util; from minilite import Interpreter, load_model", tmp_path
    )
    own = {name for name in extra if name.startswith("minilite.")}
    most = 25 + (sys.version_info >= (3, 12)) + 4 * (sys.version_info >= (3, 14))  # argparse and shutil need more there
    assert len(extra - own) <= most, sorted(extra - own)


UNLOCKED = """
import sys
sys._is_gil_enabled = lambda: {locked}
import minilite
interpreter = minilite.Interpreter("digits.tflite")
print("minilite._native.unlocked" in sys.modules)
interpreter.allocate_tensors()
image = interpreter.get_input_details()[0]
for _ in range(2):  # by the second time, places are known
    interpreter.set_tensor(image["index"], interpreter.get_tensor(image["index"]) + 1)
session = interpreter._engine.session()
print(session._known[2] == {{}}, interpreter.get_tensor(image["index"]).max())
"""


def test_a_python_without_its_global_lock(tmp_path: Path) -> None:
    """Imitates a Python that is built so. There, all copies take a turn."""
    shutil.copy(PACKAGE / "data/digits.tflite", tmp_path)
    for locked in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", UNLOCKED.format(locked=locked)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout.split(), done.stderr) == ([str(not locked), str(not locked), "2.0"], "")


def test_package_data_is_small() -> None:
    """The embedded model with its samples, and tables of a few kilobytes."""
    assert 0 < sum(path.stat().st_size for path in (PACKAGE / "data").glob("*.*")) < 60_000
    assert 0 < sum(path.stat().st_size for path in (PACKAGE / "data" / "machines").glob("*")) < 12_000


def test_readme_names_operators_that_exist() -> None:
    from minilite.ops import operators

    text = (ROOT / "README.md").read_text().split("## What runs")[1].split("##")[0]
    named = set(re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", text))
    assert named
    assert named <= operators().keys()


def test_readme_has_the_commands_that_ci_runs() -> None:
    text = (ROOT / "README.md").read_text()
    for name in ("run", "test"):
        assert re.search(rf"<!-- ci: {name} -->\n```sh\n.+\n```\n", text)
