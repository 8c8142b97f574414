"""Chains of products as loops: threads by themselves, in any order, give what the program gives, with these barriers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import functions
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.mapping.insert_barriers import insert_barriers
from nestor.transforms.schedulers.cuda.schedule_cuda import schedule_function
from parsed import parse_module

LIT = Path(__file__).parents[3] / "filecheck/transforms/schedulers/cuda"


def scheduled(file: str, batch: int, rows: int, columns: int):
    """The program of a lit test, of other extents, before and after its schedule."""
    text = (LIT / file).read_text()
    for old, new in ((64, batch), (70, rows), (300, columns)):
        for around in ("<{}x", "x{}x", "to {} {{"):
            text = text.replace(around.format(old), around.format(f"#{new}#"))
    module = parse_module(text.replace("#", ""), file)
    (before,) = functions(module)
    (after,) = functions(parse_module(text.replace("#", ""), file))
    schedule_function(after, 256)
    insert_barriers(after)
    return before, after


def run(function, mode, seed=0):
    rng = np.random.default_rng(3)
    types = function.function_type.inputs
    dtype = "f2" if "f16" in str(types.data[0]) else "f4"
    given = [rng.standard_normal(type.get_shape()).astype(dtype) for type in types]
    for result in given[4:]:
        result[:] = np.nan
    run_nest(function, given, mode=mode, seed=seed)
    return [result.astype("f8") for result in given[4:]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "tolerance"),
    [("nest-schedule-cuda-chains.mlir", 1e-4), ("nest-schedule-cuda-matrix-chains.mlir", 3e-2)],
    ids=["threads", "tensor cores"],
)
def test_threads_by_themselves_give_what_the_program_gives(file, tolerance):
    """Two blocks of rows and of columns, no tile of which is full, in three orders of threads."""
    before, after = scheduled(file, 1, 66, 70)
    assert "nest.barrier" in str(after)
    expected = run(before, "program")
    for seed in range(3):
        for found, wanted in zip(run(after, "threads", seed), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
