"""Profiles: callgrind's files are read correctly, and drawn with callers below."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from asv_bench import bad_case, callgrind

TEXT = """\
version: 1
events: Ir
fl=(1) csrc/state/state.c
fn=(1) ml_state_run
10 5
cfi=(2) csrc/memory/planner.c
cfn=(2) place
calls=3 7
11 60
12 5
fl=(2)
fn=(2)
7 40
cfn=(3) sort
calls=1 9
8 20
fn=(3)
9 20
"""
RUN, PLACE, SORT = (
    ("csrc/state/state.c", "ml_state_run"),
    ("csrc/memory/planner.c", "place"),
    ("csrc/memory/planner.c", "sort"),
)


def test_own_costs_exclude_costs_of_calls() -> None:
    profile = callgrind.parse(TEXT)
    assert profile.own == {RUN: 10, PLACE: 40, SORT: 20}
    assert profile.calls == {RUN: {PLACE: 60}, PLACE: {SORT: 20}}
    assert profile.total == 70


def test_shares_are_by_folder() -> None:
    shares = bad_case.shares(callgrind.parse(TEXT))
    assert shares["memory/"] == pytest.approx(600 / 7)
    assert shares["state/"] == pytest.approx(100 / 7)
    assert sum(shares.values()) == pytest.approx(100)


def test_planning_is_what_no_kernel_computes() -> None:
    """Shares of 100 instructions: 60 in kernels, one of which begins with an inlined function of kernel.h; 5 in a
    prepare, 35 elsewhere."""
    loop, unsettled = ("a/csrc/run/loop.c", "ml_run_frame"), ("a/csrc/run/dynamic.c", "ml_run_unsettled.part.0")
    relu, reshape = ("a/csrc/kernels/activation.c", "relu_f32"), ("a/csrc/kernel.h", "reshape")
    sweep, prepare = ("a/csrc/plan/sweep.c", "ml_prepare_call"), ("a/csrc/kernels/activation.c", "prepare_relu")
    own = {loop: 20, unsettled: 5, relu: 50, reshape: 10, sweep: 10, prepare: 5}
    calls = {loop: {relu: 20, unsettled: 60}, unsettled: {relu: 30, reshape: 10, sweep: 15}, sweep: {prepare: 5}}
    assert bad_case.planning(callgrind.Profile(own, calls)) == pytest.approx(40)


def test_a_callee_is_drawn_above_its_caller_and_no_wider() -> None:
    picture = ET.fromstring(callgrind.flame(callgrind.parse(TEXT), [RUN], "<title>", bad_case.COLOURS))
    boxes = {}
    for group in picture.iter("{http://www.w3.org/2000/svg}g"):
        title, box = group[0].text, group[1]
        assert title is not None
        boxes[title.split(":")[0]] = float(box.attrib["y"]), float(box.attrib["width"])
    assert boxes["ml_state_run"][0] > boxes["place"][0] > boxes["sort"][0]
    assert boxes["ml_state_run"][1] == pytest.approx(callgrind.WIDTH)
    assert boxes["place"][1] == pytest.approx(callgrind.WIDTH * 6 / 7, abs=0.1)
    assert boxes["sort"][1] == pytest.approx(callgrind.WIDTH * 2 / 7, abs=0.1)


def test_a_difference_says_what_grew_shrank_and_is_new() -> None:
    before = callgrind.parse(TEXT)
    text = (
        TEXT.replace("csrc/", "/elsewhere/csrc/").replace("ml_state_run", "ml_run").replace(") sort", ") sort.part.0")
    )
    after = callgrind.parse(text.replace("8 20", "8 10").replace("9 20", "9 10"))
    (root,) = bad_case.roots(after)
    fresh = ("csrc/run/run.c", "fresh")
    after.calls[root][fresh] = after.own[fresh] = 40
    picture = callgrind.difference(before, after, (bad_case.roots(before), [root]), "<title>")
    shown = {}
    for group in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}g"):
        title, box = group[0].text, group[1]
        assert title is not None
        name, label = title.split(": ")
        shown[name] = label, box.attrib["fill"]
    assert shown == {
        "ml_run": ("70 -> 110 instructions (+57.1%)", "#ffaaaa"),
        "place": ("60 -> 60 instructions (+0.0%)", "#ffffff"),
        "sort.part.0": ("20 -> 12 instructions (-40.0%)", "#a1a1ff"),
        "fresh": ("0 -> 40 instructions, new", "#ff1414"),
    }
    assert bad_case.changes(before, after).splitlines()[2:] == [
        "| fresh | 0 | 1 |",
        "| ml_state_run | 0 | 0 |",
        "| sort | 0 | 0 |",
        "| ml_run | 0 | 0 |",
    ]
