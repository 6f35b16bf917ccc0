"""Prints a profile as text and as plain values, for `minilite profile`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from minilite.names import short_names
from minilite.text import Cell, count, cut, duration, html_table, markup, shape_text, significant, table, wrapped

if TYPE_CHECKING:
    from minilite.profiling.profile import NodeTime, Profile, Spread

_HEAD = ["frame", "node", "op", "output", "us", "+-%", "%", "MMAC", "GMAC/s", "KiB", "blocks", "% alone", "% of peak"]
_HEAD += ["name", "kernel"]
_OPERATORS = ("operator", "nodes", "%", "kernel")
_SPARE = ("KiB", "MMAC", "blocks", "name", "GMAC/s", "% alone", "output", "% of peak")


def profile_text(profile: Profile, width: int | None = None) -> str:
    """Returns median, spread, share, work, rates and share of the core's peak of every node, then the same by operator.

    The peak is the rate of products (of float32 or bytes, by the weights) or of copies as large as the node's operands,
    whichever limits it. A node above 100 % finds its operands in a nearer cache than a copy does.
    """
    whole = profile.nodes_ns or 1
    divided = any(node.blocks for node in profile.nodes)
    names = _names(profile)
    rows = [_row(profile, node, whole, divided, names) for node in profile.nodes]
    lines = [
        table(_HEAD, rows, width=width, spare=_SPARE, whole=("op", "kernel")),
        "",
        table(_OPERATORS, _operators(profile, whole), width=width, whole=("operator", "kernel")),
        "",
    ]
    return "\n".join([*lines, *(wrapped(line, width) for line in (*_sums(profile), str(profile.peaks)))])


def profile_html(profile: Profile) -> str:
    """Returns the profile as HTML, sums and operators first; the table of nodes has only columns that need no measured
    peak."""
    head = f"Profile: {count(profile.runs, 'run')}, {count(profile.threads, 'thread')}, level {profile.level}"
    whole = profile.nodes_ns or 1
    divided = any(node.blocks for node in profile.nodes)
    names = _names(profile)
    rows = [_row(profile, node, whole, divided, names, peaks=False) for node in profile.nodes]
    told = "<br>".join(markup(line) for line in (head, *_sums(profile)))
    operators = html_table(_OPERATORS, _operators(profile, whole))
    nodes = html_table(_HEAD, rows)
    return f"<p>{told}</p>{operators}<details open><summary>nodes</summary>{nodes}</details>"


def _sums(profile: Profile) -> Iterator[str]:
    macs = sum(node.macs * node.times for node in profile.nodes)
    products = f"{significant(macs / 1e6)} million" if macs >= 1e6 else f"{macs:,.0f}"
    run = profile.time
    yield (
        f"a run takes {_duration(run.median)}, half of the runs {_duration(run.low)} to {_duration(run.high)}; "
        f"nodes {_duration(profile.nodes_ns)}, {products} multiply-adds"
    )
    if divided := sum(node.blocks > 0 for node in profile.nodes):
        ran = sum(node.times > 0 for node in profile.nodes)
        yield f"{100 * profile.alone:.0f} % of it on the calling thread alone; {divided} of {ran} nodes are divided"
    yield "us: medians; +-%: distance of the quartiles in percent of the median"


def _duration(ns: float) -> str:
    return duration(ns / 1e9)


def profile_facts(profile: Profile) -> dict[str, Any]:
    """Returns the profile as plain values: times and shares of one run, work, and parts of the core's peak."""
    whole = profile.nodes_ns or 1
    rows = [
        {
            "frame": node.frame,
            "node": node.node,
            "op": node.op,
            "name": node.name,
            "kernel": node.kernel,
            "shape": node.shape,
            "times": node.times,
            **_seconds(node.time),
            "share": node.ns / whole,
            "multiply_adds": node.macs,
            "bytes": node.nbytes,
            "blocks": node.blocks,
            "alone": 1 - node.shared_ns / node.ns if node.ns else None,
            "of_peak": profile.peaks.share(node),
        }
        for node in profile.nodes
    ]
    head = {"runs": profile.runs, "threads": profile.threads, "level": profile.level, **_seconds(profile.time)}
    return head | {"nodes_seconds": profile.nodes_ns / 1e9, "alone": profile.alone, "nodes": rows}


def _seconds(time: Spread) -> dict[str, float]:
    """Returns the median, the quartiles, the least and the largest time."""
    names = ("seconds", "seconds_low", "seconds_high", "seconds_least", "seconds_most")
    return {name: ns / 1e9 for name, ns in zip(names, time, strict=True)}


def _names(profile: Profile) -> dict[int, dict[int, str]]:
    """Returns short names of the nodes' first outputs by frame and tensor."""
    full: dict[int, dict[int, str]] = {}
    for node in profile.nodes:
        full.setdefault(node.frame, {})
        if node.tensor >= 0:
            full[node.frame][node.tensor] = node.name
    return {frame: short_names(names) for frame, names in full.items()}


def _row(
    profile: Profile,
    node: NodeTime,
    whole: float,
    divided: bool,
    names: Mapping[int, Mapping[int, str]],
    *,
    peaks: bool = True,
) -> list[Cell]:
    seconds, ran = node.seconds, node.times > 0
    peak = profile.peaks.share(node) if peaks else None
    return [
        node.frame or None,
        node.node,
        node.op,
        shape_text(node.shape),
        significant(node.ns / 1e3) if ran else None,
        f"{node.time.percent:.0f}" if ran else None,
        significant(100 * node.ns / whole) if ran else None,
        significant(node.macs / 1e6) if node.macs else None,
        significant(node.macs / seconds / 1e9) if node.macs and seconds else None,
        significant(node.nbytes / 1024) if ran else None,
        round(node.blocks) or None,
        f"{100 - 100 * node.shared_ns / node.ns:.0f}" if node.ns and divided else None,
        f"{100 * peak:.0f}" if peak is not None else None,
        cut(names[node.frame].get(node.tensor, ""), 32),
        node.kernel,
    ]


def _operators(profile: Profile, whole: float) -> list[list[Cell]]:
    sums: dict[tuple[str, str], list[float]] = {}
    for node in (node for node in profile.nodes if node.times):
        one = sums.setdefault((node.op, node.kernel), [0, 0])
        one[0] += 1
        one[1] += node.ns
    ranked = sorted(sums.items(), key=lambda item: -item[1][1])
    return [[op, int(n), significant(100 * ns / whole), kernel] for (op, kernel), (n, ns) in ranked]
