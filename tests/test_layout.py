"""The rules of the tree: stems, imports that only go down, every operator and kernel accounted for, sizes, words."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
import subprocess
from collections.abc import Iterable, Iterator

import pytest

from minilite._native.kernels import find_kernel, kernel_names
from minilite.ops import operators
from minilite.ops_shared.operator import Operator

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE, CORE, TESTS = ROOT / "minilite", ROOT / "csrc", ROOT / "tests"

GENERATED = {
    "minilite/format/_schema.py",
    "csrc/format/schema_tables.c",
    "csrc/format/schema_tables.h",
}
LINES, FUNCTION_LINES = 600, 55

STAGES: dict[str, int] = {
    "late": 0,
    "errors": 0,
    "names": 1,
    "numeric": 1,
    "_core": 0,
    "progress": 3,
    "text": 2,
    "terminal": 2,
    "writing": 2,
    "_native": 2,
    "format": 3,
    "ops_shared": 4,
    "memory": 4,
    "ops": 5,
    "engine": 6,
    "details": 4,
    "options": 8,
    "signature": 8,
    "litert": 9,
    "displays": 9,
    "recording": 9,
    "inputs": 9,
    "profiling": 9,
    "report": 12,
    "interpreter": 10,
    "comparison": 11,
    "batch": 12,
    "beam": 13,
    "cli": 14,
    "__main__": 15,
    "__init__": 15,
}
"""The stage of each part of the package: imports go to an earlier stage, or stay in the same part."""


@functools.cache
def files(*patterns: str) -> tuple[pathlib.Path, ...]:
    """The files of the project that match, whether committed already or not."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("this is not a git checkout")
    return tuple(path for line in found.stdout.splitlines() if (path := ROOT / line).is_file())


def name_of(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).as_posix()


def stems(folder: pathlib.Path, pattern: str) -> set[str]:
    return {path.stem for path in folder.glob(pattern)}


# Families -------------------------------------------------------------------------------------------------------------


def families() -> set[str]:
    """The modules of minilite/ops."""
    return {path.stem for path in (PACKAGE / "ops").glob("[!_]*.py")}


def test_a_family_has_one_stem_everywhere() -> None:
    """A family is a file, or a folder, of csrc/kernels or csrc/control."""
    kernels = set()
    for folder in (CORE / "kernels", CORE / "control"):
        for path in folder.rglob("*.c"):
            if re.search(r"^ML_KERNELS\(", path.read_text(), re.MULTILINE):
                kernels.add(path.relative_to(folder).parts[0].removesuffix(".c"))
    by_engine = {"control_flow", "variable", "hashtable"}  # without a reference in numpy
    assert families() | by_engine == kernels - {"custom"}  # custom operators are the user's
    stems_of_tests = (stem.removeprefix("test_") for stem in stems(TESTS / "ops", "test_*.py"))
    tested = {stem for stem in stems_of_tests if not stem.startswith("every_")} - {"divided"}
    assert families() | by_engine == tested


def test_every_operator_can_run() -> None:
    by_engine = {"WHILE", "IF", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "CALL_ONCE"}
    by_engine |= {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}
    by_engine |= {"HASHTABLE", "HASHTABLE_IMPORT", "HASHTABLE_FIND", "HASHTABLE_SIZE"}
    by_engine |= {"RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"}  # it knows how far their sequences are
    by_engine |= {"SignalFilterBankSpectralSubtraction", "SignalFramer", "SignalOverlapAdd", "SignalDelay"}
    by_engine |= {"SignalStacker"}  # it remembers what was heard
    table = operators()
    assert {name for name, row in table.items() if row.reference is None} == by_engine
    assert all(row.name == name and row.types and len(row.versions) for name, row in table.items())


def rows_by_kernel() -> dict[str, list[Operator]]:
    """The rows by the C kernel that runs them."""
    found: dict[str, list[Operator]] = {}
    for row in operators().values():
        found.setdefault(row.kernel, []).append(row)
    return found


def test_every_row_has_its_kernel() -> None:
    assert {name for name in rows_by_kernel() if find_kernel(name) is None} == set()


def test_every_kernel_has_its_row() -> None:
    """Custom operators' is the engine's own."""
    assert set(kernel_names()) - set(rows_by_kernel()) == {"custom"}


# Tests ----------------------------------------------------------------------------------------------------------------


def test_folders_of_tests_are_rooms() -> None:
    """Others are about all rooms, about the checkout or its documents, or are what tests share."""
    about_all = {"browser", "clients", "conformance", "package", "support", "trust", "typing"}
    rooms = {path.name for root in (PACKAGE, CORE) for path in root.iterdir() if path.is_dir()} | {"interpreter"}
    folders = {path.relative_to(TESTS).parts[0] for path in files("tests/*/*.py")}
    assert folders - rooms == about_all | {"bench", "documents"}


def test_files_of_tests_have_names_of_their_own() -> None:
    """Pytest imports each by its name alone."""
    names = [path.stem for path in files("tests/test_*.py", "tests/*/test_*.py")]
    assert sorted(names) == sorted(set(names))


# Imports --------------------------------------------------------------------------------------------------------------


def imports(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, those inside functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: relative import"
            assert node.module is not None
            if node.module == "minilite":
                yield from ((node.lineno, f"minilite.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module


def part_of(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_part_has_its_stage() -> None:
    assert {part_of(path) for path in files("minilite/*.py")} <= set(STAGES)


def test_methods_of_interpreter_delegate() -> None:
    """Methods have at most 15 lines, without docstrings and signatures; the constructor, which names all options twice,
    may have more."""
    tree = ast.parse((PACKAGE / "interpreter.py").read_text())
    (interpreter,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Interpreter")
    methods = [node for node in interpreter.body if isinstance(node, ast.FunctionDef) and node.name != "__init__"]
    assert methods
    for method in methods:
        body = method.body[1:] if ast.get_docstring(method) is not None else method.body
        assert not body or (body[-1].end_lineno or 0) - body[0].lineno < 15, method.name


def test_imports_only_go_down() -> None:
    faults = []
    for path in files("minilite/*.py"):
        for line, module in imports(path):
            parts = module.split(".")
            if parts[0] != "minilite":
                continue
            here, there = part_of(path), parts[1] if len(parts) > 1 else "__init__"
            public_names = STAGES[here] > STAGES["interpreter"] and there not in STAGES  # minilite.Interpreter
            if here != there and not public_names and STAGES.get(there, 99) >= STAGES[here]:
                faults.append(f"{name_of(path)}:{line}: {here} imports {module}")
    assert faults == []


def test_few_modules_are_imported_late() -> None:
    """Others are imported where they are named: `Later` is for what takes 5 ms and most programs never need."""
    late = [line for path in files("minilite/*.py") for line in re.findall(r"= Later\(.*", path.read_text())]
    assert 0 < len(late) <= 15
    private = {"_thread", "_signal", "_weakref", "_io"}
    users = {name_of(path) for path in files("minilite/*.py") for _, module in imports(path) if module in private}
    assert users == set()


PRIVATE = {
    "minilite/interpreter.py": "Interpreter",
    "minilite/engine/engine.py": "Engine",
    "minilite/engine/session.py": "Session",
}


def private_names(path: pathlib.Path, name: str) -> set[str]:
    """The private methods and attributes of a class, but for those of LiteRT's class, which other programs use too."""
    (found,) = (n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef) and n.name == name)
    methods = {node.name for node in found.body if isinstance(node, ast.FunctionDef)}
    attributes = {
        node.attr
        for node in ast.walk(found)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    of_litert = {"_interpreter", "_get_tensor_details", "_get_ops_details", "_metrics", "_delegates"}
    return {each for each in methods | attributes if re.match("_[a-z]", each)} - of_litert


def accesses(code: str, names: set[str]) -> Iterator[tuple[int, str]]:
    """(line, name) of each of these attributes of another object than `self`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) not in ("self", "cls"):
            yield node.lineno, node.attr


def test_private_names_of_interpreters_are_their_own() -> None:
    """Other modules are given an Engine, by the one function that asks an Interpreter for it."""
    names = {each for path, name in PRIVATE.items() for each in private_names(ROOT / path, name)}
    assert {"_engine", "_over", "_new_session", "_known", "_prepare"} <= names
    assert [*accesses("self._engine; one._engine; self.of._prepare", names)] == [(1, "_engine"), (1, "_prepare")]
    found = {
        (name_of(path), name)
        for path in files("minilite/*.py")
        for _, name in accesses(path.read_text(), names)
        if name_of(path) not in PRIVATE
    }
    assert found == set()
    outside = [*accesses((PACKAGE / "engine" / "engine.py").read_text(), names)]
    assert [name for _, name in outside] == ["_engine"]  # in engine_of


ROOMS: tuple[tuple[str, ...], ...] = (
    ("control",),
    ("run",),
    ("state",),
    ("plan",),
    ("graph",),
    ("kernels", "memory"),
    ("rules",),
    ("kernel.h",),
    ("simd", "threads", "format"),
    ("core", "math", "os"),
    ("api",),
)
"""The rooms of csrc, from the top. Each relies only on rooms further down, so no two rely on each other."""


def room_of(path: pathlib.Path) -> str:
    return path.relative_to(CORE).parts[0]


def goes_up(here: str, there: str) -> bool:
    floors = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
    return here != there and floors[there] <= floors[here]


def test_every_room_of_c_has_its_place() -> None:
    found = {room_of(path) for path in files("csrc/*.c", "csrc/*.h")}
    assert found == {room for rooms in ROOMS for room in rooms}


def test_includes_of_c_only_go_down() -> None:
    """Lists of macros (.def) belong to whoever reads them."""
    faults, seen = [], 0
    for path in files("csrc/*.c", "csrc/*.h"):
        for name in re.findall(r'^#include "([^"]+\.h)"', path.read_text(), re.MULTILINE):
            found = CORE / name if (CORE / name).exists() else path.parent / name
            assert found.exists(), f"{name_of(path)} includes {name}"
            seen += 1
            if goes_up(room_of(path), room_of(found)):
                faults.append(f"{name_of(path)} includes {name}")
    assert faults == []
    assert seen > 300


def definitions(path: pathlib.Path) -> Iterator[str]:
    """The functions and tables that a C file has for others."""
    code = without_comments(path.read_text())
    heading = r"^(?!static\b|typedef\b|extern\b)[a-z][\w *]*?[ *](ml_\w+)"
    yield from re.findall(heading + r"\([^;{}]*\)\s*\{", code, re.MULTILINE)
    yield from re.findall(heading + r"(?:\[\w*\])* = ", code, re.MULTILINE)


def test_calls_of_c_only_go_down() -> None:
    """Whoever names a function or a table of another room, calls it or keeps its address: no room knows one that is
    above it. csrc/api declares what Python calls, and the tables of kernels are listed by the build."""
    rooms: dict[str, str] = {}
    for path in files("csrc/*.c"):
        for name in definitions(path):
            rooms[name] = room_of(path)
    assert len(rooms) > 500
    assert (rooms["ml_run_frame"], rooms["ml_run_core"], rooms["ml_plan_new"]) == ("run", "run", "plan")
    faults = []
    for path in files("csrc/*.c", "csrc/*.h"):
        names = set(re.findall(r"\bml_\w+", without_comments(path.read_text()))) & set(rooms)
        if room_of(path) != "api":
            faults += [f"{name_of(path)} knows {name}" for name in names if goes_up(room_of(path), rooms[name])]
    assert faults == []


def test_only_os_includes_headers_of_a_system() -> None:
    """All other rooms use only ISO C and the compiler's headers of vector instructions."""
    iso = "assert ctype errno fenv float inttypes limits math stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib string time"
    compiler = "arm_neon cpuid emmintrin immintrin"
    users = set()
    for path in files("csrc/*.c", "csrc/*.h"):
        for name in re.findall(r"^#\s*include <([^>]+)\.h>", path.read_text(), re.MULTILINE):
            if name not in f"{iso} {compiler}".split():
                users.add(room_of(path))
    assert users == {"os"}


def test_pragmas_of_one_compiler_are_in_one_header() -> None:
    """math/loops.h says the same to gcc and to clang, which knows no `#pragma GCC unroll`."""
    found = {
        name_of(path) for path in files("csrc/*.c", "csrc/*.h") if re.search(r"(?i)pragma\W+GCC", path.read_text())
    }
    assert found == {"csrc/math/loops.h"}


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("flatbuffers", "format"),
        ("minilite._core", "_native"),
        ("cffi", ""),
        ("PIL", "inputs"),
        ("soxr", "inputs"),
        ("rich", "progress"),
        ("distributed", "batch"),
        ("pyarrow", "batch"),
        ("apache_beam", "beam"),
        ("ml_dtypes", "format"),
    ],
)
def test_who_may_use_what(module: str, part: str) -> None:
    users = {part_of(path) for path in files("minilite/*.py") for _, found in imports(path) if found.startswith(module)}
    assert users <= {part}


def names_in(nodes: Iterable[ast.AST]) -> bool:
    """True if not all of them are constants."""
    return not all(isinstance(node, ast.Constant) for node in nodes)


def ways_to_the_terminal(tree: ast.AST) -> Iterator[int]:
    """Lines that print, name a standard stream that is written to, or write text to a descriptor."""
    streams = {"stdout", "stderr", "__stdout__", "__stderr__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("print", "input", "breakpoint"):
            yield node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            if node.attr in streams:
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield from (node.lineno for alias in node.names if alias.name in streams)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "os.write" and names_in(node.args):
            yield node.lineno


def test_only_one_module_writes_to_the_terminal() -> None:
    """Text that comes from files is made safe there. Rich, by which `progress` draws bars, gets its text made safe."""
    assert len(list(ways_to_the_terminal(ast.parse("print(a); sys.stderr.write(b); os.write(2, c)")))) == 3
    found = {path: list(ways_to_the_terminal(ast.parse(path.read_text()))) for path in files("minilite/*.py")}
    assert found.pop(PACKAGE / "terminal.py")
    assert [f"{name_of(path)}:{line}" for path, lines in found.items() for line in lines] == []


def test_only_one_function_escapes_markup() -> None:
    """`text.markup` escapes what HTML and XML read, and what neither may hold."""
    users = {name_of(path) for path in files("minilite/*.py") for _, found in imports(path) if found.startswith("html")}
    assert users == {"minilite/text.py"}


def test_runtime_imports_are_declared() -> None:
    allowed = {"minilite", "numpy", "flatbuffers"}
    allowed |= {"PIL", "onnxruntime", "soxr", "rich", "distributed", "pyarrow", "apache_beam"}  # those of the extras
    allowed |= {"ml_dtypes"}  # whose arrays are taken and given where it is installed
    import sys

    for path in files("minilite/*.py"):
        for line, module in imports(path):
            top = module.split(".")[0]
            assert top in allowed or top in sys.stdlib_module_names, f"{name_of(path)}:{line}: {module}"


def test_kernels_allocate_nothing_and_do_no_io() -> None:
    """csrc/kernels: no allocator, no I/O, no variable that outlives a call."""
    banned = re.compile(
        r"\b(malloc|calloc|realloc|free|aligned_alloc|mmap|printf|fprintf|fopen|errno|setlocale)\b\s*[(;=]"
    )
    for path in files("csrc/kernels/*.c"):
        code = without_comments(path.read_text())
        found = banned.search(code)
        assert not found, f"{name_of(path)}: {found.group() if found else ''}"
        for line in code.splitlines():
            variable = re.match(r"static\s+(?!inline\b|const\b|ml_status\b)[\w *]+\b\w+(\[[^\]]*\])*\s*(=|;)", line)
            assert not variable, f"{name_of(path)}: {line}"


# Sizes ----------------------------------------------------------------------------------------------------------------


def without_comments(code: str) -> str:
    """C without comments, strings, characters and preprocessor lines; what is left keeps its line."""
    tokens = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    code = re.sub(tokens, lambda m: "\n" * m.group().count("\n"), code, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: "\n" * m.group().count("\n"), code, flags=re.MULTILINE)


def sources() -> list[pathlib.Path]:
    return [path for path in files("*.py", "*.c", "*.h") if name_of(path) not in GENERATED]


def test_files_are_short() -> None:
    """Except the file of Interpreter, because a class is never cut to fit; its methods only delegate."""
    long = {name_of(p): n for p in sources() if (n := len(p.read_text().splitlines())) > LINES}
    assert set(long) <= {"minilite/interpreter.py"}


def test_comments_of_c_are_narrow() -> None:
    """clang-format leaves comments as they are (ruff checks Python's). Quoted code may be wider."""
    wide = []
    for path in sources():
        if path.suffix != ".py":
            lines = enumerate(path.read_text().splitlines(), 1)
            wide += [
                f"{name_of(path)}:{n}" for n, line in lines if len(line) > 100 and re.match(r" *(/\*| \* \S)", line)
            ]
    assert wide == []


def test_python_functions_are_short() -> None:
    long = {}
    for path in sources():
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                    if (node.end_lineno or 0) - first + 1 > FUNCTION_LINES:
                        long[f"{name_of(path)}: {node.name}"] = (node.end_lineno or 0) - first + 1
    assert long == {}


def c_functions(code: str) -> Iterator[tuple[str, int]]:
    """(heading, lines) of every function: a brace that opens at depth 0 after a closing parenthesis."""
    depth, start, heading = 0, 0, ""
    for number, line in enumerate(without_comments(code).splitlines(), 1):
        opens = line.count("{") - line.count("}")
        if depth == 0 and opens > 0:
            start, heading = number, line
        depth += opens
        if depth == 0 and start:
            if ")" in heading and "=" not in heading:
                yield heading.strip(), number - start + 1
            start = 0
    assert depth == 0


def test_c_functions_are_short() -> None:
    seen, long = 0, {}
    for path in sources():
        if path.suffix != ".py":
            for heading, lines in c_functions(path.read_text()):
                seen += 1
                if lines > FUNCTION_LINES:
                    long[f"{name_of(path)}: {heading}"] = lines
    assert long == {}
    assert seen > 200


def test_the_brace_scan_sees_functions() -> None:
    code = 'static int f(int a) {\n    if (a) {\n        return "{"[0];\n    }\n    return 1; /* } */\n}\nint x[] = {1,\n 2};\n'
    assert list(c_functions(code)) == [("static int f(int a) {", 6)]


# Words ----------------------------------------------------------------------------------------------------------------


def test_nothing_is_left_to_do_and_no_machine_is_named() -> None:
    left = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    machine = re.compile(r"(?<![\w.])/(work|home|root|Users|mnt)/\w")
    faults = []
    for path in files():
        if path.suffix in {".tflite", ".npz", ".png", ".npy"} or path == pathlib.Path(__file__):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if left.search(line) or machine.search(line):
                faults.append(f"{name_of(path)}:{number}: {line.strip()[:80]}")
    assert faults == []


def test_c_files_open_with_what_they_are() -> None:
    for path in files("csrc/*.c", "csrc/*.h"):
        assert path.read_text().startswith(f"/* {path.name} -- "), name_of(path)


def test_python_files_open_with_what_they_are() -> None:
    for path in sources():
        if path.suffix == ".py":
            assert ast.get_docstring(ast.parse(path.read_text())), name_of(path)


def test_every_c_file_has_code() -> None:
    """A file must have more than includes and macros: such files are written by the build."""
    empty = [name_of(path) for path in files("csrc/*.c") if not without_comments(path.read_text()).strip()]
    assert empty == []


def test_c_symbols_have_their_prefix() -> None:
    """Functions that a C file shows to others start with ml_."""
    for path in files("csrc/*.c"):
        for heading, _ in c_functions(path.read_text()):
            name = re.search(r"(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*\{", heading)
            if name and not heading.startswith("static") and re.match(r"[a-z]\w*[ *]", heading):
                assert name.group(1).startswith("ml_"), f"{name_of(path)}: {heading}"


def test_no_merge_was_left_half_done() -> None:
    marks = re.compile(r"^(?:<{7} |>{7} |={7}$)", re.MULTILINE)
    assert [
        name_of(path) for path in files("*.md", "*.py", "*.c", "*.h", "*.txt") if marks.search(path.read_text())
    ] == []
