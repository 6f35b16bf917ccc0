"""Prints docs/api.md, or another page of the public names of minilite, from their docstrings.

python -m tools.api_reference > /tmp/api.md && cp /tmp/api.md docs/api.md
python -m tools.api_reference api_plans.md > /tmp/api.md && cp /tmp/api.md docs/api_plans.md
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum, IntEnum
from itertools import pairwise
from typing import Any

import minilite
from minilite import memory
from minilite._native.usage import Usage
from minilite.comparison.measure import Bin, Difference
from minilite.comparison.result import Comparison, Row
from minilite.engine.model_plan import ModelPlan
from minilite.engine.sizes import Fit, PlannedSize
from minilite.engine.states import ModelState
from minilite.format import model
from minilite.format.about import AssociatedFile, TensorMetadata
from minilite.format.builder import ModelBuilder, SubgraphBuilder
from minilite.format.bundle import Section
from minilite.format.dtypes import TensorType
from minilite.format.metadata import Metadata
from minilite.inputs import Feed, Reading, load_input, read_windows
from minilite.interpreter import Delegate, InterpreterWithCustomOps, load_delegate
from minilite.litert.compiled_model import (
    CompiledModel,
    CpuKernelMode,
    CpuOptions,
    Environment,
    EnvironmentOptions,
    HardwareAccelerator,
    Options,
    TensorBuffer,
)

PAGE = "api.md"
"""The page of the headings that HEADS leaves out: names that most programs use."""
HEADS = {
    PAGE: """# API: interpreters, errors, inputs

The names that most programs use, from their docstrings. Where a tensor is meant, its number, its name or its details
do. Shapes are tuples of elements, sizes are in bytes, numbers of nodes are half-open ranges.

The other names have pages of their own: [api_plans.md](api_plans.md) (memory plans and drawings, with and without a
model), [api_model.md](api_model.md) (tensors, nodes and metadata of a model), [api_compare.md](api_compare.md) (results
of comparisons), [api_builder.md](api_builder.md) (building models), [api_compiled_model.md](api_compiled_model.md)
(LiteRT's CompiledModel, and stand-ins).""",
    "api_plans.md": """# API: memory plans and drawings

Plans of models, and of records of your own; their checks and drawings. [api.md](api.md) has the names that most
programs use.""",
    "api_model.md": """# API: what is in a model

Subgraphs, nodes, tensors and metadata, as the file has them. [api.md](api.md) has the names that most programs use.""",
    "api_compare.md": """# API: results of comparisons

The values that `minilite.compare` and `minilite.replay` return. [api.md](api.md) has the names that most programs
use.""",
    "api_builder.md": """# API: building models

Builders of `.tflite` files. [api.md](api.md) has the names that most programs use.""",
    "api_compiled_model.md": """# API: LiteRT's CompiledModel, stand-ins

LiteRT's newer API, for the CPU, and minilite in place of LiteRT. [api.md](api.md) has the names that most
programs use.""",
}
"""The pages of the reference, with their beginnings."""
ELSEWHERE = {
    "Plans of models": "api_plans.md",
    "Planning without a model": "api_plans.md",
    "Models": "api_model.md",
    "Results of comparisons": "api_compare.md",
    "Building models": "api_builder.md",
    "Standing in for LiteRT": "api_compiled_model.md",
    "LiteRT's CompiledModel": "api_compiled_model.md",
}
"""The headings that are not on PAGE."""

PAGES: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    (
        "Running models",
        "minilite",
        (minilite.Interpreter, minilite.Cancel, minilite.Workspace, minilite.SignatureRunner, minilite.OpResolverType),
    ),
    ("Errors", "minilite", tuple(getattr(minilite, name) for name in minilite.__all__ if name.endswith("Error"))),
    ("Inputs from files", "minilite", (minilite.read,)),
    ("", "minilite.inputs", (read_windows, load_input, Feed, Reading)),
    ("Many items", "minilite", (minilite.Predictor, minilite.rebatched)),
    ("", "minilite.engine.states", (ModelState,)),
    ("Memory of an interpreter", "minilite.Interpreter", (Usage,)),
    ("", "minilite.engine.sizes", (Fit, PlannedSize)),
    ("Comparing", "minilite", (minilite.compare, minilite.replay)),
    (
        "Models and kernels of your own",
        "minilite",
        (minilite.load_model, minilite.Bundle, Section, minilite.kernel, minilite.get_include),
    ),
    ("Results of comparisons", "minilite.comparison.result", (Comparison, Row)),
    ("", "minilite.comparison.measure", (Difference, Bin)),
    ("Models", "minilite.format.model", (model.Model, model.Subgraph, model.Node, model.Tensor, model.Quantization)),
    ("", "minilite.format.dtypes", (TensorType,)),
    ("", "minilite.format.metadata", (Metadata,)),
    ("", "minilite.format.about", (TensorMetadata, AssociatedFile)),
    ("Standing in for LiteRT", "minilite.interpreter", (InterpreterWithCustomOps, Delegate, load_delegate)),
    ("", "minilite", (minilite.install_as,)),
    ("Plans of models", "minilite.Interpreter", (ModelPlan,)),
    ("Planning without a model", "minilite.memory", tuple(getattr(memory, name) for name in memory.__all__)),
    ("Building models", "minilite.format.builder", (ModelBuilder, SubgraphBuilder)),
    (
        "LiteRT's CompiledModel",
        "minilite.litert.compiled_model",
        (CompiledModel, TensorBuffer, Environment, EnvironmentOptions, Options, CpuOptions, CpuKernelMode),
    ),
    ("", "minilite.litert.compiled_model", (HardwareAccelerator,)),
)
"""Heading (none: it goes on), where the names are imported from, and what is described."""
EXAMPLES = {
    "Running models": "[tutorial.md](tutorial.md), [runs.md](runs.md), [gallery.md](gallery.md)",
    "Errors": "[threads.md](threads.md#what-is-refused), [architecture.md](architecture.md#where-an-error-comes-from)",
    "Inputs from files": "[tutorial.md](tutorial.md#a-picture-from-a-file), [gallery.md](gallery.md)",
    "Many items": "[batches.md](batches.md), [engines.md](engines.md) (with `minilite.beam.MiniliteModelHandler`)",
    "Memory of an interpreter": "[memory.md](memory.md)",
    "Comparing": "[compare.md](compare.md)",
    "Models and kernels of your own": "[notebook.md](notebook.md), [custom_kernel.md](custom_kernel.md)",
    "Results of comparisons": "[compare.md](compare.md)",
    "Models": "[notebook.md](notebook.md), [architecture.md](architecture.md#reader-bytes-become-a-model)",
    "Plans of models": "[memory.md](memory.md#why-is-an-arena-large), [notebook.md](notebook.md)",
    "Planning without a model": "[planning.md](planning.md)",
    "Building models": "[gallery.md](gallery.md), [tutorial.md](tutorial.md#quantized-models)",
    "Standing in for LiteRT": "[migration.md](migration.md)",
    "LiteRT's CompiledModel": "[migration.md](migration.md#compiledmodel)",
}
"""Links to programs that use the names under a heading."""
MADE_BY_CALLERS = {
    minilite.Interpreter,
    InterpreterWithCustomOps,
    Delegate,
    memory.ArenaPlanner,
    minilite.Predictor,
    minilite.Bundle,
    ModelBuilder,
    memory.PlannerGraph,
    EnvironmentOptions,
    Options,
    CpuOptions,
}
WIDTH = 100


def signature(name: str, member: Any) -> str:
    """A call as it is written, an argument a line where it is long."""
    try:
        found = inspect.signature(member)
    except (TypeError, ValueError):
        return name
    arguments, starred = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            arguments.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        arguments.append(_argument(parameter))
    returns = "" if found.return_annotation in (found.empty, "None", None) else f" -> {_kind(found.return_annotation)}"
    line = f"{name}({', '.join(arguments)}){returns}"
    return line if len(line) <= WIDTH else f"{name}(\n    " + ",\n    ".join(arguments) + f",\n){returns}"


def _argument(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {_kind(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    given = parameter.default
    default = f"{type(given).__name__}.{given.name}" if isinstance(given, (Enum, IntEnum)) else repr(given)
    return f"{parameter.name}{kind} = {default}"


def _kind(annotation: Any) -> str:
    annotation = getattr(annotation, "__forward_arg__", annotation)  # what a NamedTuple makes of text
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:minilite|typing|numpy|collections|options|model)\.(?:\w+\.)*(?=\w)", "", text)


def text_of(member: Any) -> str:
    return inspect.cleandoc(inspect.getdoc(member) or "").replace("``", "`")


def members(described: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that have a docstring, those of ours that it inherits among them, as they are
    written."""
    written: dict[str, Any] = {}
    for base in reversed([base for base in described.__mro__ if base.__module__.startswith("minilite")]):
        written.update({name: member for name, member in vars(base).items() if not name.startswith("_")})
    for name, member in written.items():
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if (inspect.isfunction(plain) or isinstance(plain, property)) and plain.__doc__:
            yield name, plain


def _with_fields(kind: type) -> str:
    """A class that callers are given: its name, and its values or fields."""
    if issubclass(kind, (Enum, IntEnum)):
        return f"{kind.__name__}: " + ", ".join(kind.__members__)
    fields = getattr(kind, "_fields", None) or list(getattr(kind, "__dataclass_fields__", ()))
    return kind.__name__ + (": " + ", ".join(field for field in fields if not field.startswith("_")) if fields else "")


def _fields(kind: type) -> str:
    """A list of the fields that have a docstring."""
    body = ast.parse(inspect.getsource(kind)).body[0].body  # type: ignore[attr-defined]
    rows = []
    for field, doc in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant):
            text = f"- `{ast.unparse(field.target)}`: " + " ".join(str(doc.value.value).split()).replace("``", "`")
            rows.append(textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False))
    return "\n".join(rows)


def described(where: str, item: Any) -> Iterator[str]:
    """Yields a heading with the docstring, and one for each member, so that searches and links find it."""
    if not callable(item):
        return
    kind, name = isinstance(item, type), item.__name__
    call = signature(name, item) if not kind or item in MADE_BY_CALLERS else _with_fields(item)
    fields = _fields(item) if kind and hasattr(item, "_fields") else ""
    yield f"### {name}\n\n```text\n{where}.{call}\n```\n\n{text_of(item)}" + (fields and f"\n\n{fields}")
    if kind and item is not InterpreterWithCustomOps:
        for member, found in members(item):
            call = member if isinstance(found, property) else signature(member, found)
            yield f"#### {name}.{member}\n\n```text\n{call}\n```\n\n{text_of(found)}"


def page(name: str = PAGE) -> str:
    """Returns a whole page."""
    parts, shown = [HEADS[name]], False
    for heading, where, items in PAGES:
        shown = ELSEWHERE.get(heading, PAGE) == name if heading else shown
        if not shown:
            continue
        parts += [f"## {heading}", f"Examples: {EXAMPLES[heading]}."] if heading else []
        for item in items:
            parts += described(where, item)
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(*sys.argv[1:]), end="")
