"""nt-batch: random programs applied to every slice of their arguments compute what NumPy computes slice by slice."""

import random
import sys

import numpy as np
import pytest
from nestor.dialects.nt import BatchOp
from nestor.dialects.nt.ops import element_of, shape_of
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.transforms.registry import load_pass
from places import UNIT
from sampling import seeds
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

sys.path.insert(0, str(UNIT))
from nt_programs import random_arguments, random_module, run

CONTEXT = make_context()


def around(module, along, slices):
    """The module with a function that applies its own to slices of its arguments."""
    inner = next(iter(module.ops))
    inner.sym_visibility = StringAttr("private")
    types = [
        a.type if axis < 0 else TensorType(element_of(a), [*shape_of(a)[:axis], slices, *shape_of(a)[axis:]])
        for a, axis in zip(inner.body.block.args, along, strict=True)
    ]
    block = Block(arg_types=types)
    op = BatchOp("f", block.args, along, inner.function_type.outputs.data)
    block.add_ops([op, ReturnOp(*op.results_)])
    outer = FuncOp("main", (types, [r.type for r in op.results_]), Region(block))
    module.body.block.add_op(outer)
    verify(module)
    return outer


def stack(choose, generator, argument, slices):
    """Other arguments of the same kind, stacked along an axis, and the axis; or the same for all slices."""
    if choose.random() < 0.4:
        return [argument] * slices, argument, -1
    axis = choose.randint(0, argument.ndim)
    given = [generator.permutation(argument.ravel()).reshape(argument.shape) for _ in range(slices)]
    return given, np.stack(given, axis), axis


@pytest.mark.parametrize("slices", [3, 1])
def test_random_programs_do_for_a_stack_what_they_do_for_a_slice(slices):
    for seed in seeds(60):
        choose, generator = random.Random(seed), np.random.default_rng(seed)
        module = random_module(seed)
        function = next(iter(module.ops))
        drawn = [stack(choose, generator, a, slices) for a in random_arguments(seed)]
        along = [axis for _, _, axis in drawn]
        if max(along) < 0:
            continue
        each = [run(function, [d[0][k] for d in drawn]) for k in range(slices)]
        outer = around(module, along, slices)
        load_pass("nt-batch")().apply(CONTEXT, module)
        verify(module)
        assert list(module.ops) == [outer]
        for k, got in enumerate(run(outer, [d[1] for d in drawn])):
            want = np.stack([one[k] for one in each])
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=f"seed {seed}")


def test_no_slices():
    """Of nothing the results are empty, and of the right shape."""
    for seed in range(5):
        module = random_module(seed)
        outer = around(module, [0] * 7, 0)
        load_pass("nt-batch")().apply(CONTEXT, module)
        verify(module)
        assert all(shape_of(t)[0] == 0 for t in outer.function_type.outputs)
