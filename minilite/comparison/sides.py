"""Side: a model that a comparison runs, by minilite, or by LiteRT in a process of its own."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from minilite import errors
from minilite._native.status import OPTIONS
from minilite.comparison.litert_process import read_array, write_array
from minilite.engine.engine import Engine
from minilite.engine.mismatch import given_shapes
from minilite.errors import InputError, StateError
from minilite.format import builder
from minilite.litert.stand_in import folders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minilite._native.plan import Plan
    from minilite.format.model import Array, Subgraph

LITERT = {"litert": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "litert-reference": "BUILTIN_REF"}
"""LiteRT's kernels by their names for `--against`; neither has default delegates."""

REFERENCE = "reference"
"""The name of minilite's references in numpy."""


class Side(Protocol):
    """A side of a comparison. Its values are valid after `run`."""

    graph: Subgraph
    """The main subgraph of its model."""

    @property
    def label(self) -> str:
        """Names the runtime and its options, for people."""

    @property
    def code(self) -> tuple[str, ...]:
        """Identifies the code that runs: sides with equal `code` give equal bits for equal models."""

    def run(self, inputs: Mapping[int, Array]) -> None:
        """Runs once on arrays, by tensor number. Raises: MiniliteError."""

    def value(self, index: int) -> tuple[Array | None, str]:
        """Returns a tensor's values after the run; or None, and the reason."""


class MiniliteSide:
    """A model that minilite runs, keeping every tensor that has memory of its own."""

    def __init__(self, engine: Engine, *, kernels: str | None = None, fused: bool = True) -> None:
        """Takes the options of the engine without its state; `kernels` is "reference" or a level, None for the
        engine's."""
        wanted = copy.copy(engine.options)
        wanted.engine |= OPTIONS["keep_all"]
        wanted.fuses = wanted.fuses and fused
        if kernels == REFERENCE:
            wanted.reference = True
        elif kernels is not None:
            wanted.level = kernels
        self._engine = Engine(engine.model, wanted)
        self._plan: Plan | None = None  # the plan of the last run
        self.graph: Subgraph = self._engine.graph

    @property
    def level(self) -> str:
        """The level of instructions; "" where numpy runs every node."""
        plan = self._plan
        return plan.level if plan is not None and not self._engine.options.reference else ""

    @property
    def label(self) -> str:
        """Names the runtime and its level: ``minilite avx2``."""
        if not self.level:
            return "minilite's numpy references"
        return f"minilite {self.level}{', fast convolutions' if self._engine.options.fast_convolutions else ''}"

    @property
    def code(self) -> tuple[str, ...]:
        """The level, and whether convolutions are fast; results do not depend on the number of threads."""
        return ("minilite", self.level, "fast" if self._engine.options.fast_convolutions else "")

    def run(self, inputs: Mapping[int, Array]) -> None:
        """Resizes inputs to the arrays, allocates, sets and invokes. Raises: MiniliteError."""
        session = self._engine.session()
        for index, array in inputs.items():
            session.resize(index, array.shape)
        try:
            session.allocate()
        except errors.ShapeError as error:
            raise given_shapes(error, self.graph.tensors, list(inputs.items())) from None
        for index, array in inputs.items():
            session.set(index, array)
        session.invoke()
        self._plan = session.plan

    def value(self, index: int) -> tuple[Array | None, str]:
        """Returns a copy of the tensor's values."""
        if self._plan is not None and self._plan.tensor(index).storage == "none":
            return None, self._whole(self._plan, index)
        try:
            return self._engine.session().get(index), ""
        except (StateError, InputError, errors.KernelError) as error:
            return None, str(error)

    def _whole(self, plan: Plan, index: int) -> str:
        """Names the node that computes this tensor as a step to its own output."""
        for position, (number, _) in enumerate(plan.nodes()):
            node, whole = self.graph.nodes[number], plan.part_of(position)
            if whole is not None and index in (*node.outputs, *node.inputs):
                return f"inside node {whole}"
        return "has no memory of its own"


class _Outcome(NamedTuple):
    """The end of LiteRT's process."""

    version: str
    failure: str
    """The reason why it failed; empty if it did not."""
    crashed: bool


class LiteRTSide:
    """A model that LiteRT runs in a process of its own: without default delegates, keeping all tensors, or with them
    and then only the outputs. `close` removes its temporary folder."""

    def __init__(self, engine: Engine, kernels: str, threads: int = 1, *, outputs_alone: bool = False) -> None:
        self.graph: Subgraph = engine.graph
        self._model, self._kernels, self._threads = engine.model, kernels, threads
        self._signature: str | None = engine.options.signature
        self._outputs_alone = outputs_alone
        self._folder: Any = tempfile.TemporaryDirectory(prefix="minilite")
        self._outcome = _Outcome("LiteRT", "", crashed=False)
        self.note: str = ""
        """A crash of LiteRT, and what was compared in spite of it; empty if there was none."""

    @property
    def label(self) -> str:
        """Names the package and its options: ``ai-edge-litert 2.1.0, without default delegates, all tensors kept``."""
        kernels = "reference kernels, " if self._kernels == "BUILTIN_REF" else ""
        if self._kernels == "AUTO":
            return f"{self._outcome.version}, with its default delegates (XNNPACK), outputs alone"
        kept = "outputs alone" if self._outputs_alone else "all tensors kept"
        return f"{self._outcome.version}, {kernels}without default delegates, {kept}"

    @property
    def code(self) -> tuple[str, ...]:
        """The name of LiteRT's kernels."""
        return ("litert", self._kernels)

    def run(self, inputs: Mapping[int, Array]) -> None:
        """Runs the model; once more for only the outputs if LiteRT crashes while keeping all tensors. Raises:
        InputError."""
        self._outcome = self._attempt(inputs)
        if self._outcome.crashed and self._has_outputs():
            self.note = f"LiteRT {self._outcome.failure}: the tensors after it are not compared"
            return
        if self._outcome.crashed and not self._outputs_alone:
            self.note = f"LiteRT {self._outcome.failure} with all tensors kept: outputs alone are compared"
            self._outputs_alone = True
            self._outcome = self._attempt(inputs)
        if self._outcome.failure:
            message = f"LiteRT {self._outcome.failure}"
            raise InputError(message)

    def _has_outputs(self) -> bool:
        return all(self.value(index)[0] is not None for index in self.graph.outputs)

    def _attempt(self, inputs: Mapping[int, Array]) -> _Outcome:
        folder = Path(self._folder.name)
        for path in folder.iterdir():
            path.unlink()
        file = self._model.file or builder.as_read(self._model).file
        assert file is not None
        (folder / "model.tflite").write_bytes(bytes(file.data))
        for index, array in inputs.items():
            write_array(folder, f"in_{index}", array)
        request = {
            "threads": self._threads,
            "resolver": self._kernels,
            "keep_all": not self._outputs_alone,
            "signature": self._signature,
            "subgraph": self.graph.index,
            "inputs": list(inputs),
            "tensors": self._wanted(),
        }
        (folder / "request.json").write_text(json.dumps(request))
        done = subprocess.run(
            [sys.executable, "-m", "minilite.comparison.litert_process", str(folder)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment(), check=False,
        )  # fmt: skip
        return _outcome(folder, done.returncode, done.stderr.decode(errors="replace"))

    def _wanted(self) -> list[int]:
        """Lists the tensors to read, outputs first: reading some others may crash LiteRT."""
        wanted = list(self.graph.outputs)
        if not self._outputs_alone:
            wanted += [index for node in self.graph.nodes for index in node.outputs] + list(self.graph.inputs)
        return [index for index in dict.fromkeys(wanted) if index >= 0]

    def value(self, index: int) -> tuple[Array | None, str]:
        """Returns the values that the process wrote."""
        array = read_array(Path(self._folder.name), f"out_{index}")
        return (array, "") if array is not None else (None, "no value in LiteRT")

    def close(self) -> None:
        """Removes the temporary folder."""
        self._folder.cleanup()


def _environment() -> dict[str, str]:
    """Returns the environment of the process; folders in which minilite replaces LiteRT are not in its path."""
    ours = {*folders()}
    path = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and each not in ours]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def _outcome(folder: Path, status: int, printed: str) -> _Outcome:
    state = json.loads((folder / "state.json").read_text()) if (folder / "state.json").exists() else {}
    version, step = state.get("version", "LiteRT"), state.get("step", "starting")
    failure, crashed = "", False
    if (folder / "error.json").exists():
        error = json.loads((folder / "error.json").read_text())
        text = " ".join(error["text"].split())
        failure = text if error["kind"] == "ImportError" else f"({version}) refuses {step}: {text}"
    elif status:
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        last = printed.strip().splitlines()[-1:] if status > 0 else []
        failure, crashed = " ".join([f"({version}) ended by {how} while {step}", *last]), True
    return _Outcome(version, failure, crashed)
