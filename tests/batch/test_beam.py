"""Beam's RunInference on a MiniliteModelHandler: every element once, as single runs give it, in batches by weight."""

from __future__ import annotations

import pathlib
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from batch.models import gathering
from batch.programs import check_program

from minilite import InputError, Interpreter, KernelError, ModelNotFoundError

beam = pytest.importorskip("apache_beam", reason="apache-beam is not installed: .ci/programs installs it")

from apache_beam.io.localfilesystem import LocalFileSystem
from apache_beam.ml.inference.base import KeyedModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_pipeline as pipelines
from apache_beam.testing.util import assert_that

from minilite.beam import MiniliteModelHandler

pytestmark = pytest.mark.filterwarnings("ignore")
DIGITS = str(pathlib.Path(__file__).resolve().parents[2] / "minilite" / "data" / "digits.tflite")
THREADS = ["--direct_num_workers=3", "--direct_running_mode=multi_threading"]


def images(count: int = 90) -> list[Any]:
    """Images of six sizes in turn."""
    rng = np.random.default_rng(0)
    return [rng.random(((8, 12, 17)[i % 3], 8 + i % 2, 1), np.float32) for i in range(count)]


def singles(elements: Sequence[Any]) -> list[Any]:
    interpreter = Interpreter(DIGITS)
    return [interpreter.run(element[None])["probabilities"][0] for element in elements]


def run(handler: Any, elements: Sequence[Any], check: Callable[[list[Any]], None], options: Sequence[str] = ()) -> None:
    """Runs a pipeline and passes its results, in no order, to `check`; an exception fails the test."""
    with pipelines.TestPipeline(options=PipelineOptions(list(options))) as pipeline:
        assert_that(pipeline | beam.Create(elements) | beam.Reshuffle() | RunInference(handler), check)


@pytest.mark.parametrize("options", [[], THREADS], ids=["one thread", "threads"])
def test_elements_give_what_single_runs_give(options: list[str]) -> None:
    elements = images()
    wanted = singles(elements)

    def check(found: list[Any]) -> None:
        assert sorted(number for number, _ in found) == list(range(len(elements)))
        for number, result in found:
            assert np.array_equal(result.example, elements[number])
            assert np.array_equal(result.inference["probabilities"], wanted[number])
            assert result.model_id == DIGITS

    run(KeyedModelHandler(MiniliteModelHandler(DIGITS, batch=1)), list(enumerate(elements)), check, options)
    with pytest.raises(Exception, match="assert"):
        run(KeyedModelHandler(MiniliteModelHandler(DIGITS)), list(enumerate(elements[:-1])), check)


def test_batches_are_by_arena_and_nothing_is_padded() -> None:
    """Beam makes batches of whole elements whose arenas together stay within the weight; a larger element is a batch by
    itself."""
    small, large = np.zeros((8, 8, 1), np.float32), np.zeros((64, 64, 1), np.float32)
    weigh = MiniliteModelHandler(DIGITS).batch_elements_kwargs()["element_size_fn"]
    interpreter = Interpreter(DIGITS)
    assert weigh(small) == weigh({"image": small}) == weigh(("key", small)) == interpreter.plan_for({}).arena_bytes
    assert weigh(large) == interpreter.plan_for({"image": (1, 64, 64, 1)}).arena_bytes > 30 * weigh(small)
    limited = MiniliteModelHandler(DIGITS, max_batch_weight=4 * weigh(small) + 1)

    def check(found: list[list[Any]]) -> None:
        sizes = [[element.shape[0] for element in batch] for batch in found]
        assert sorted(side for batch in sizes for side in batch) == [8] * 12 + [64] * 2
        assert all(batch == [64] or (0 < len(batch) <= 4 and 64 not in batch) for batch in sizes), sizes
        assert len(sizes) <= 7

    elements = [small] * 6 + [large] * 2 + [small] * 6
    with pipelines.TestPipeline() as pipeline:
        assert_that(pipeline | beam.Create([0]) | beam.FlatMap(lambda _: elements)
                    | beam.BatchElements(**limited.batch_elements_kwargs()), check)  # fmt: skip


def test_one_model_per_process_and_a_clone_per_thread() -> None:
    handler = MiniliteModelHandler(DIGITS, batch=1)
    assert len(pickle.dumps(handler)) < 3000
    again = pickle.loads(pickle.dumps(handler))
    model = handler.load_model()
    assert model is handler.load_model() is again.load_model()
    elements = images(40)
    found: dict[int, list[Any]] = {}

    def work(number: int) -> None:
        found[number] = again.run_inference(elements, model)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in found.values():
        for result, wanted in zip(results, singles(elements), strict=True):
            assert np.array_equal(result.inference["probabilities"], wanted)
    assert sorted(found) == [0, 1, 2, 3]


def test_another_model_is_loaded_where_beam_finds_one(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "rows.tflite"
    path.write_bytes(gathering())
    handler = MiniliteModelHandler(DIGITS)
    first = handler.load_model()
    handler.update_model_path(str(path))
    second = handler.load_model()
    assert first.inputs == ("image",)
    assert second.inputs == ("which",)
    (result,) = handler.run_inference([np.int32(3)], second)
    assert result.inference["row"].tolist() == [6, 7]
    assert result.model_id == str(path)


class Bucket(LocalFileSystem):  # type: ignore[misc]
    """A file system of addresses that begin with bucket://, like that of a store in the network."""

    @classmethod
    def scheme(cls) -> str:
        return "bucket"

    def open(self, path: str, *arguments: Any, **more: Any) -> Any:
        return super().open(path.removeprefix("bucket:/"), *arguments, **more)


def test_addresses_are_opened_by_beam(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "rows.tflite"
    path.write_bytes(gathering())
    assert MiniliteModelHandler(f"bucket:/{path}").load_model().inputs == ("which",)


def test_a_bad_element_is_named_and_others_go_on(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "rows.tflite"
    path.write_bytes(gathering())
    elements = [np.int32(each) for each in (0, 9, 2)]
    handler = MiniliteModelHandler(path)
    with pytest.raises(KernelError, match=r"row 1: .*node 0 \(GATHER"):
        handler.run_inference(elements, handler.load_model())
    with pytest.raises(Exception, match=r"node 0 \(GATHER"):
        run(handler, elements, lambda found: None)

    def check(found: list[Any]) -> None:
        by = {int(result.example): result.inference for result in found}
        assert [by[key]["row"].tolist() for key in (0, 2)] == [[0, 1], [4, 5]]
        assert by[0]["error"] is by[2]["error"] is None
        assert "GATHER" in by[9]["error"]

    run(MiniliteModelHandler(path, on_error="skip"), elements, check)


def test_beam_handler_refuses_wrong_elements_and_arguments() -> None:
    handler = MiniliteModelHandler(DIGITS)
    model = handler.load_model()
    with pytest.raises(InputError, match="element 1 of the batch has no 'image': it has 'picture'"):
        handler.run_inference([{"image": images(1)[0]}, {"picture": images(1)[0]}], model)
    with pytest.raises(InputError, match="row 0 of column 'image' is of dtype float64"):
        handler.run_inference([np.zeros((8, 8, 1))], model)
    with pytest.raises(InputError, match=r"inference_args are \{'top': 3\}, must be None"):
        _ = beam.Pipeline() | beam.Create([1]) | RunInference(handler, inference_args={"top": 3})
    with pytest.raises(InputError, match="max_batch_weight is 0, must be a number of bytes, 1 or more"):
        MiniliteModelHandler(DIGITS, max_batch_weight=0)
    with pytest.raises(ModelNotFoundError, match=r"nothing\.tflite"):
        MiniliteModelHandler("nothing.tflite").load_model()
    assert handler.run_inference([], model) == []
    assert handler.get_num_bytes([images(1)[0], {"image": np.zeros((2, 2), np.float32)}]) == 256 + 16


def test_program_of_the_page(tmp_path: pathlib.Path) -> None:
    check_program("Apache Beam", tmp_path)
