"""Prints a model's contents, and their memory in a plan, as text for `minilite inspect`."""

from __future__ import annotations

from collections.abc import Mapping

from minilite.engine.model_plan import ModelPlan
from minilite.format.model import Model
from minilite.names import names_of
from minilite.report.facts import Facts, model_facts
from minilite.text import Cell, bytes_text, count, cut, shape_text, table, wrapped

_MOST = 8
"""The number of operators that are counted by name."""


def inspection(model: Model, title: str, plan: ModelPlan | None = None, width: int | None = None) -> str:
    """Returns signatures, nodes and tensors, and with a plan each tensor's storage, offset and lifetime, frame by
    frame, in lines of at most `width`."""
    facts = model_facts(model, title, plan)
    lines = [wrapped(line, width) for line in _head(facts)]
    memory = _memory(plan, width) if plan is not None else []
    for frame in facts["frames"]:
        if frame["frame"] is None:
            lines, memory = lines + memory, []
        calling = frame["calling_frame"] is not None
        call = f", called by frame {frame['calling_frame']}, node {frame['calling_node']}" if calling else ""
        where = f"frame {frame['frame']}: " if frame["frame"] is not None else ""
        more = _entry(facts, frame["subgraph"], planned=plan is None or frame["frame"] is not None)
        lines += ["", wrapped(f"{where}subgraph {frame['subgraph']} '{cut(frame['name'])}'{call}{more}", width)]
        lines += [
            _nodes(frame, width),
            "",
            _tensors(frame, names_of(model.subgraphs[frame["subgraph"]].tensors), width),
        ]
        if frame["scratch"]:
            rows: list[list[Cell]] = [
                [scratch["node"], scratch["bytes"], scratch["offset"]] for scratch in frame["scratch"]
            ]
            lines += ["", table(["node", "scratch bytes", "offset"], rows, width=width)]
    return "\n".join(lines + memory)


def _memory(plan: ModelPlan, width: int | None) -> list[str]:
    """Returns the arena, after the frames of the plan."""
    inputs = f", inputs {bytes_text(plan.input_bytes)}" if plan.input_bytes else ""
    lines = ["", f"arena {bytes_text(plan.arena_bytes)}, lower bound {bytes_text(plan.lower_bound)}{inputs}"]
    return lines + ([wrapped(tiles, width)] if (tiles := plan.tiles_text()) else [])


def _entry(facts: Facts, subgraph: int, *, planned: bool) -> str:
    """Names the signatures that begin in a subgraph, and tells how to plan one that is not planned."""
    keys = [cut(each["key"]) for each in facts["signatures"] if each["subgraph"] == subgraph]
    told = f", signature {', '.join(keys)}" if keys and len(facts["signatures"]) > 1 else ""
    if planned:
        return told
    return f"{told}; as in the file{f', --signature {keys[0]} plans it' if keys else ', not reached by this plan'}"


def _totals(totals: Facts) -> str:
    """Names the most used operators."""
    used = ", ".join(f"{name} {number}" for name, number in list(totals["operators"].items())[:_MOST])
    macs = f"{totals['multiply_adds']:,}" if totals["multiply_adds"] is not None else "not known how many"
    return (
        f"{count(totals['nodes'], 'node')} of {count(len(totals['operators']), 'operator')} ({used or 'none'}), {macs} "
        f"multiply-adds, {totals['constants']:,} constant values in {bytes_text(totals['constant_bytes'])}"
    )


def _head(facts: Facts) -> list[str]:
    lines = [f"{facts['model']}: {count(facts['subgraphs'], 'subgraph')}", _totals(facts["totals"])]
    if facts["description"]:
        lines.append(f"description: {' '.join(facts['description'].split())}")
    for signature in facts["signatures"]:
        names = ", ".join(signature["inputs"]), ", ".join(signature["outputs"])
        told = signature["broken"] or f"({names[0]}) -> ({names[1]}), subgraph {signature['subgraph']}"
        lines.append(f"signature {signature['key']}: {told}")
    if facts["metadata"]:
        lines.append(
            "metadata: " + ", ".join(f"{name} ({bytes_text(size)})" for name, size in facts["metadata"].items())
        )
    return lines + _about(facts) + _files(facts)


def _about(facts: Facts) -> list[str]:
    """Returns the metadata, with the first words of the license."""
    about = facts["about"]
    if isinstance(about, str):
        return [f"about: {about}"]
    told = {key: cut(" ".join(value.split()), 400) for key, value in about.items() if isinstance(value, str)}
    lines = [f"about: {', '.join(told.values())}"] if told else []
    for role in ("inputs", "outputs"):
        for position, tensor in enumerate(about.get(role, ())):
            parts = [f"'{tensor['name']}'"] if "name" in tensor else []
            parts += [tensor["description"].rstrip(".")] if "description" in tensor else []
            parts += [f"{key} {_plain(value)}" for key, value in tensor.items() if key not in ("name", "description")]
            lines.append(f"{role[:-1]} {position}: {cut(' '.join(', '.join(parts).split()), 400)}")
    return lines


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _files(facts: Facts) -> list[str]:
    files = facts["associated_files"]
    if isinstance(files, str):
        return [files]
    return ["files: " + ", ".join(f"{name} ({bytes_text(size)})" for name, size in files.items())] if files else []


def _nodes(frame: Facts, width: int | None) -> str:
    rows: list[list[Cell]] = [
        [
            node["node"],
            f"{node['op']} (custom)" if node["custom"] else node["op"],
            node["version"],
            _numbers(node["inputs"]),
            _numbers(node["outputs"]),
            node["becomes"],
            " ".join(f"{key}={value}" for key, value in node["options"].items()),
        ]
        for node in frame["nodes"]
    ]
    header = ["node", "op", "version", "inputs", "outputs", "becomes", "options"]
    return table(header, rows, width=width, spare=("version",))


def _numbers(indices: tuple[int, ...]) -> str:
    return " ".join("-" if i < 0 else str(i) for i in indices)


def _tensors(frame: Facts, names: Mapping[int, str], width: int | None) -> str:
    rows: list[list[Cell]] = [
        [
            tensor["tensor"],
            cut(names[tensor["tensor"]]),
            tensor["role"],
            tensor["type"],
            shape_text(tensor["shape"]),
            tensor["storage"],
            tensor["bytes"],
            tensor.get("offset"),
            _lives(tensor),
            _notes(tensor),
        ]
        for tensor in frame["tensors"]
    ]
    header = ["tensor", "name", "role", "type", "shape", "storage", "bytes", "offset", "lives", "notes"]
    return table(header, rows, width=width, spare=("role", "bytes", "type", "storage"))


def _lives(tensor: Facts) -> str:
    if not tensor.get("lives"):
        return ""
    last = tensor["last_node"]
    return f"{tensor['first_node']}-{'end' if last is None else last}"


def _notes(tensor: Facts) -> str:
    notes = [f"shares with {tensor['shares_with']}"] if tensor.get("shares_with") is not None else []
    return ", ".join([*notes, "dynamic"] if tensor.get("dynamic") else notes)
