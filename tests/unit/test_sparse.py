"""DENSIFY: compressed rows and blocks, against LiteRT and against the array they were made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import check, run_minilite
from support.sparse import blocks, compressed, model, sparse, vector

from minilite.errors import UnsupportedOpError


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("form", [compressed, blocks])
def test_forms(dtype: Any, form: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        x = sparse(rng, dtype)
        np.testing.assert_array_equal(check(model(*form(x), x.shape), [])[0], x)


def test_forms_that_do_not_fit_are_refused() -> None:
    stored, sparsity = compressed(np.eye(4, dtype=np.float32))
    for key, values in (
        ("array_indices", [0, 1, 2, 4]),
        ("array_segments", [0, 1, 2, 9, 4]),
        ("array_segments", [0, 4]),
    ):
        wrong = {**sparsity["dim_metadata"][1], key: vector(values)}
        broken = {**sparsity, "dim_metadata": [sparsity["dim_metadata"][0], wrong]}
        with pytest.raises(UnsupportedOpError, match="does not fit its shape"):
            run_minilite(model(stored, broken, (4, 4)), [])
    with pytest.raises(UnsupportedOpError, match="stores 3 values, its sparse form has 4"):
        run_minilite(model(stored[:3], sparsity, (4, 4)), [])
