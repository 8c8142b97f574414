"""Attention by tensor cores as loops: threads by themselves, in any order, give what the program gives, with these barriers.

The interpreter runs each thread of a block up to the next barrier (mode "threads"): lanes along lane.y and lane.x have rows
and columns of scores, four of them combine what they have of a row, and a tensor core takes its operand from them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.nest import BarrierOp
from nestor.runtime.interp.run import TrapError, run_nest
from nestor.transforms.nest.mapping.insert_barriers import insert_barriers
from nestor.transforms.schedulers.cuda.schedule_cuda import schedule_function
from parsed import parse_module

LIT = (
    Path(__file__).parents[3]
    / "filecheck/transforms/schedulers/cuda/nest-schedule-cuda-matrix-attention.mlir"
)


def scheduled(queries: int, keys: int, features: int):
    """The program of the lit test, of other extents, before and after its schedule."""
    text = LIT.read_text()
    for old, new in ((70, queries), (100, keys), (64, features)):
        for around in ("{}x", "to {} {{"):
            text = text.replace(around.format(old), around.format(f"<{new}>"))
    for new in (queries, keys, features):
        text = text.replace(f"<{new}>", str(new))
    module = parse_module(text, "attention.mlir")
    (before,) = functions(module)
    (after,) = functions(parse_module(text, "attention.mlir"))
    schedule_function(after, 256)
    insert_barriers(after)
    return before, after


def arguments(function):
    rng = np.random.default_rng(3)
    shapes = [type.get_shape() for type in function.function_type.inputs]
    given = [rng.standard_normal(shape).astype("f2") for shape in shapes[:3]]
    return [*given, np.full(shapes[3], np.nan, "f2")]


def run(function, mode, seed=0):
    given = arguments(function)
    with np.errstate(all="ignore"):
        run_nest(function, given, mode=mode, seed=seed)
    return given[3].astype("f8")


@pytest.mark.parametrize("sizes", [(9, 20, 16), pytest.param((70, 100, 64), marks=pytest.mark.slow)], ids=str)
def test_threads_by_themselves_give_what_the_program_gives(sizes):
    before, after = scheduled(*sizes)
    assert 'bind "lane.x"' in str(after) and "nestor.matrix" in str(after)
    expected = run(before, "program")
    for mode, seed in (("program", 0), ("shuffled", 1), ("threads", 1)):
        np.testing.assert_allclose(run(after, mode, seed), expected, rtol=4e-3, atol=4e-3)


def test_without_its_barriers_threads_meet():
    _, after = scheduled(9, 20, 16)
    for barrier in [op for op in after.walk() if isinstance(op, BarrierOp)]:
        barrier.detach()
    with pytest.raises(TrapError):
        run(after, "threads", 1)
