"""Random sequences of schedule primitives: what is legal computes the same, what is not is refused by a diagnostic."""

from __future__ import annotations

import numpy as np
from cpu_nests import NESTS
from hypothesis import given, settings
from hypothesis import strategies as st
from nestor.analysis.nest.loop_structure import loops_in, sole_inner_loop
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import ForOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.flatten import flatten
from nestor.transforms.nest.loops.reorder import reorder
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.mapping.vectorize import vectorize
from nestor.transforms.nest.reductions.rfactor import rfactor
from parsed import parse_module
from sampling import seeds

PROGRAMS = ("iou-small", "row-sums-static", "column-sums", "gauss-seidel", "matmul", "transpose", "whole-sum")

STEPS = st.sampled_from(
    ("remainder", "mask", "clamp", "perfect", "flatten", "reorder", "rfactor", "vectorize", "parallel")
)


def apply(step: str, loop: ForOp, factor: int) -> None:
    if step in ("remainder", "mask", "clamp", "perfect"):
        split(loop, factor, step)  # type: ignore[arg-type]
    elif step in ("flatten", "reorder"):
        inner = sole_inner_loop(loop)
        if inner is not None and step == "flatten":
            flatten(loop, inner)
        elif inner is not None:
            reorder([inner, loop])
    elif step == "vectorize":
        vectorize(loop, factor)
    else:
        (rfactor if step == "rfactor" else parallelize)(loop)


@settings(max_examples=len(seeds(60)), deadline=None)
@given(
    st.sampled_from(PROGRAMS),
    st.lists(st.tuples(STEPS, st.integers(0, 9), st.sampled_from((1, 3, 4, 16))), max_size=5),
    st.integers(0, 3),
)
def test_legal_sequences_compute_the_same(name: str, steps: list[tuple[str, int, int]], seed: int):
    nest = NESTS[name]
    module = parse_module(nest.text)
    for step, position, factor in steps:
        loops = loops_in(module)
        try:
            apply(step, loops[position % len(loops)], factor)
        except NestorError as refusal:
            assert refusal.diagnostic.message.startswith("cannot ")
    verify(module)
    arguments = nest.arguments(np.random.default_rng(seed))
    wanted = nest.expected(*nest.arguments(np.random.default_rng(seed)))
    run_nest(next(iter(module.ops)), arguments)
    for position, expected in wanted.items():
        np.testing.assert_allclose(arguments[position], expected, rtol=max(nest.rtol, 1e-5), atol=0)
