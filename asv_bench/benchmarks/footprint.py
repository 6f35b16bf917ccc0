"""Bytes: of arenas and how far they are above the least possible, of peak memory, of the package."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from . import common, dynamic_family

MODELS = ["conv", "chain 1", "chain 10", "chain 100"]


@common.suite
class Arena:
    """A plan's arena. `resized` is measured after going up four sizes and back, which should leave nothing in the
    plan."""

    params = [MODELS]
    param_names = ["model"]
    unit = "bytes"
    deterministic = True

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            self.interpreter, self.source, _ = common.ready(name)
        self.name = name

    def track_arena(self, _: str) -> int:
        return int(self.interpreter.arena_bytes)

    # Its code was changed, what it measures was not: results that asv has by this hash stay.
    track_arena.version = "29507e100a69f994cf3ed9b2c69d4725b81b199ff195b4d32fefc7ea1c06797b"  # type: ignore[attr-defined]

    def track_over_lower_bound(self, _: str) -> int:
        with common.since("0.4.0"):
            return int(self.interpreter.plan.arena_bytes - self.interpreter.plan.lower_bound)

    def track_arena_resized(self, _: str) -> int:
        for step in (4, 0):
            common.resize(self.interpreter, self.source, common.shape(self.name, step))
        return int(self.interpreter.arena_bytes)

    def track_plan(self, _: str) -> int:
        """Bytes of a plan and its residence, for a size that was not used before."""
        with common.since("0.10.0"):
            before = self.interpreter.usage.cached_bytes
            common.resize(self.interpreter, self.source, common.shape(self.name, 7))
            return int(self.interpreter.usage.cached_bytes - before)


class InTurn:
    """Bytes of the arenas of three interpreters that run one after the other, in memory of their own or in one
    workspace."""

    params = [["alone", "workspace"]]
    param_names = ["memory"]
    unit = "bytes"
    deterministic = True

    def setup(self, memory: str) -> None:
        with common.since("0.16.0"):
            import minilite

            shared = {"workspace": minilite.Workspace()} if memory == "workspace" else {}
            self.interpreters = [common.interpreter(model_content=common.model("conv"), **shared) for _ in range(3)]
            for step, interpreter in enumerate(self.interpreters):
                interpreter.run(np.zeros(common.shape("conv", step), np.float32))

    def track_arenas(self, _: str) -> int:
        return sum(int(interpreter.usage.arena_capacity) for interpreter in self.interpreters)


@common.suite
class Cached:
    """Bytes of weights that a process has for itself, with packed weights in a cache or without."""

    params = [["packs", "packs first", "finds packed weights"]]
    param_names = ["process"]
    unit = "bytes"
    deterministic = True

    def setup(self, process: str) -> None:
        with common.since("0.18.0"):
            self.kept = common.Kept()
        if process == "packs first":
            for path in Path(self.kept.folder).iterdir():
                path.unlink()

    def track_private(self, process: str) -> int:
        usage = self.kept.loaded(cached=process != "packs").usage
        return int(usage.packed_bytes - usage.mapped_bytes)


class Peak:
    """The process's largest resident memory after loading a chain and running it at sixteen sizes."""

    params = [["chain 1000", "dynamic"]]
    param_names = ["model"]

    def setup(self, name: str) -> None:
        with common.since("0.4.0"):
            if name == "dynamic":
                dynamic_family.Runner(dynamic_family.draw("branches", 50, 50), common.interpreter)
            else:
                common.ready(name)

    def peakmem_sixteen_sizes(self, name: str) -> None:
        if name == "dynamic":
            runner = dynamic_family.Runner(dynamic_family.draw("branches", 200, 50), common.interpreter)
            for turn in range(16):
                runner.run(turn)
            return
        interpreter, source, _ = common.ready(name)
        for step in range(16):
            common.resize(interpreter, source, common.shape(name, step))
            interpreter.invoke()


@common.suite
class Package:
    """Bytes that an installation takes."""

    unit = "bytes"
    deterministic = True
    tolerance = 0.01

    def track_wheel(self) -> int:
        """The package's files, deflated one by one as in a wheel."""
        with common.since("0.4.0"):
            import minilite

            folder = Path(minilite.__file__).parent
            files = {path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".so")}
            package = common.distribution()
            listed = (package.files if package else None) or []
            built = [Path(str(path.locate())) for path in listed if path.suffix == ".so"]
            assert built  # in an editable install they lie elsewhere than the sources
            return sum(len(zlib.compress(path.read_bytes())) for path in (*files, *built))

    track_wheel.version = "dff556f7baa64a06859b14802f7873e8a06258173456b25c21b683eec374d63e"  # type: ignore[attr-defined]
