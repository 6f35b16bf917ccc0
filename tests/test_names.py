"""Short names of tensors, numbers for people, and columns: minilite/names.py and minilite/text.py."""

from __future__ import annotations

import pathlib

import pytest

from minilite.format.reader import load_model
from minilite.names import kept_apart, names_of, short_names
from minilite.report.sizes_svg import ticks
from minilite.text import bytes_text, exactly, significant, table, types_text

MODELS = pathlib.Path(__file__).resolve().parents[2] / "shared" / "models"


def test_names_of_converters() -> None:
    """TensorFlow's joined names, what most share at both ends, an input that shares nothing, equal names."""
    conv = [f"Net/Net/Conv_{n}/Relu6;Net/Net/Conv_{n}/BatchNorm_Fold/bias" for n in range(4)]
    names = short_names(dict(enumerate(["input", *conv, "Net/Logits/Reshape"])))
    assert [*names.values()] == ["input", "Conv_0", "Conv_1", "Conv_2", "Conv_3", "Logits/Reshape"]
    assert short_names({3: "a/same", 5: "a/same", 7: "a/other"}) == {3: "same #3", 5: "same #5", 7: "other"}
    torch = {n: f"model.Net/torch.nn.Conv2d_conv{n};" for n in range(3)}
    assert [*short_names(torch).values()] == ["Conv2d_conv0", "Conv2d_conv1", "Conv2d_conv2"]
    assert short_names({}) == {}
    assert short_names({0: "", 1: "", 2: ";"}) == {0: "#0", 1: "#1", 2: ";"}
    assert short_names({0: "a/b", 1: "a/c"}) == {0: "a/b", 1: "a/c"}  # two are too few to tell


@pytest.mark.skipif(not MODELS.is_dir(), reason="needs ../shared/models")
def test_no_two_tensors_of_a_public_model_have_one_name() -> None:
    for path in sorted(MODELS.glob("*.tflite")):
        for graph in load_model(path).subgraphs:
            short = names_of(graph.tensors)
            assert len({*short.values()}) == len(short) == len(graph.tensors), path.name
            assert sum(map(len, short.values())) <= sum(len(t.name) + 6 for t in graph.tensors), path.name


def test_cut_names_stay_different() -> None:
    same_start = [f"network/layer/block/conv_{n}" for n in range(9)]
    assert len({*kept_apart(same_start, 10)}) == 9
    same_end = [f"{n}_network/layer/block/conv" for n in range(9)]
    assert len({*kept_apart(same_end, 10)}) == 9
    both = [f"network/layer_{n}/block" for n in range(9)]
    assert all(len(text) <= 20 for text in kept_apart(both, 20))
    assert kept_apart(["a", "b"], 8) == ["a", "b"]
    lines = table(["name", "n"], [[name, 1] for name in same_end], width=22).splitlines()[1:]
    assert len({*lines}) == 9


def test_numbers_for_people() -> None:
    assert [significant(value) for value in (183.2, 9.96, 9.4, 0.96, 0.0523, 0, 99.5)] == [
        "183", "10", "9.4", "0.96", "0.052", "0", "100",
    ]  # fmt: skip
    sizes = {0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1 KiB", 147456: "144 KiB", 1048575: "1 MiB"}
    sizes |= {1500000: "1.43 MiB", 3 << 30: "3 GiB", 5 << 40: "5 TiB"}
    assert {size: bytes_text(size) for size in sizes} == sizes
    assert exactly(147456) == "144 KiB (147456 bytes)"
    assert exactly(12) == "12 bytes"
    assert types_text(["int8", "int8", "int32"], ["int8"]) == "int8 int32 -> int8"
    assert types_text(["float32", "float32"], ["float32"]) == "float32"


def test_ticks_are_round() -> None:
    assert ticks(147456, binary=True) == [0, 32768, 65536, 98304, 131072]
    assert ticks(1050) == [0, 500, 1000]
    assert ticks(96) == [0, 20, 40, 60, 80]
    assert ticks(0) == [0]
    assert all(3 <= len(ticks(most, binary=True)) <= 6 for most in range(1, 5000, 7))


def test_columns_of_numbers_are_aligned_right() -> None:
    assert table(["a", "score"], [["x", "0.5"], ["y", "10.25"]]).splitlines() == [
        "  a  score",
        "  x    0.5",
        "  y  10.25",
    ]
