"""Random programs through canonicalize, cse, dce and nt-fuse: the results stay what NumPy computes, to the bit."""

import functools
import sys
from collections import Counter

import numpy as np
import pytest
from nestor.dialects.nt import (
    BroadcastOp,
    ConstantOp,
    ElementwiseOp,
    FusionOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from nestor.dialects.nt.ops import shape_of
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.transforms.registry import IDLE_WITHOUT, PASSES, load_pass
from nestor.transforms.tensor.nt_fuse import explain_fusion
from parsed import parse_module
from places import FILECHECK, UNIT
from sampling import seeds

sys.path.insert(0, str(UNIT))
from nt_programs import random_arguments, random_module, run

CONTEXT = make_context()
SEEDS = seeds(150)


def apply(module, *names):
    for name in names:
        load_pass(name)().apply(CONTEXT, module)
        verify(module)


def function_of(module):
    return next(iter(module.ops))


def settles_zeros(module):
    """Whether the signs of zeros are settled: NumPy's minimum and maximum give either."""
    extrema = [op for op in module.walk() if op.name in ("nt.maximum", "nt.minimum")]
    reductions = [
        op for op in module.walk() if isinstance(op, ReduceOp) and op.combiner.data in ("maximum", "minimum")
    ]
    return not extrema and not reductions


def assert_same(before, after, signs):
    for wanted, got in zip(before, after, strict=True):
        assert wanted.dtype == got.dtype and wanted.shape == got.shape
        np.testing.assert_array_equal(got, wanted)
        numbers = ~np.isnan(wanted) & signs
        assert np.array_equal(np.signbit(got)[numbers], np.signbit(wanted)[numbers])


@pytest.mark.parametrize(
    "passes", [("canonicalize",), ("nt-fuse",), ("canonicalize", "cse", "dce", "nt-fuse")], ids="-".join
)
def test_results_are_kept(passes):
    for seed in SEEDS:
        original, arguments, expected = as_drawn(seed)
        module = original.clone()
        apply(module, *passes)
        assert_same(expected, run(function_of(module), arguments), settles_zeros(original))


@functools.cache
def as_drawn(seed):
    """A program, its arguments, and what it computes of them."""
    module, arguments = random_module(seed), random_arguments(seed)
    return module, arguments, run(function_of(module), arguments)


def test_results_of_programs_without_dead_operations_are_kept():
    for seed in SEEDS:
        module = random_module(seed, 40, keep_all=True)
        arguments = random_arguments(seed)
        signs = settles_zeros(module)
        expected = run(function_of(module), arguments)
        apply(module, "nt-fuse")
        assert_same(expected, run(function_of(module), arguments), signs)


@pytest.mark.parametrize(("size", "keep_all"), [(20, False), (60, True)])
def test_fusions_are_as_promised(size, keep_all):
    """The invariants in the docstring of nt_fuse.py, by ties that are found anew and by extents."""
    for seed in SEEDS:
        module = random_module(seed, size, keep_all=keep_all)
        apply(module, "nt-fuse")
        for fusion in module.walk():
            if isinstance(fusion, FusionOp):
                check_fusion(fusion)
        outside = [
            op for op in function_of(module).body.block.ops if isinstance(op, ElementwiseOp | ReduceOp)
        ]
        assert not outside


def check_fusion(fusion):
    axes = Axes(fusion)
    for op in axes.computing:
        dims = axes.space(op)
        assert len(set(dims)) == len(dims), "a dimension twice in one value"
    spaces = [axes.extents(op) for op in axes.computing]
    full = max(spaces, key=lambda space: space.total())
    assert all(space <= full for space in spaces), "no value has the full space"
    reductions = [op for op in axes.computing if isinstance(op, ReduceOp)]
    assert all(axes.extents(op) == full for op in reductions), "a reduction of less than the space"
    reduced = {
        tuple(sorted((axes.extents(op) - Counter(shape_of(op.results[0]))).elements())) for op in reductions
    }
    assert len(reduced) <= 1, "reductions over different dimensions"


class Axes:
    """Ties axes of the values of a fusion, as its docstring says, with a union-find of its own."""

    def __init__(self, fusion):
        self.inside = set(fusion.body.block.ops)
        self.parent = {}
        for op in fusion.body.block.ops:
            self._tie(op)
        self.computing = [op for op in fusion.body.block.ops if isinstance(op, ElementwiseOp | ReduceOp)]
        if not self.computing:
            self.computing = [op for op in fusion.body.block.ops if op.results][-1:]

    def of(self, value):
        return [self._root((value, k)) for k, e in enumerate(shape_of(value)) if e != 1]

    def space(self, op):
        return self.of(op.operands[0] if isinstance(op, ReduceOp) else op.results[0])

    def extents(self, op):
        """The extents of the space of `op`, but for those of 1."""
        return Counter(
            e for e in shape_of(op.operands[0] if isinstance(op, ReduceOp) else op.results[0]) if e != 1
        )

    def _root(self, key):
        while key in self.parent:
            key = self.parent[key]
        return key

    def _union(self, a, b):
        a, b = self._root(a), self._root(b)
        if a != b:
            self.parent[a] = b

    def _tie(self, op):
        if not op.results:
            return
        result = op.results[0]
        for value in op.operands:
            for axis, place in self._pairs(op, value):
                # What is outside is loaded at whatever point: only computed values tie.
                if (value.owner in self.inside and not self._is_load(value)) or isinstance(op, ReduceOp):
                    self._union((value, axis), (result, place))

    def _is_load(self, value):
        owner = value.owner
        if owner not in self.inside or isinstance(owner, ConstantOp):
            return True
        views = BroadcastOp | TransposeOp | ReshapeOp | SliceOp
        return isinstance(owner, views) and self._is_load(owner.operands[0])

    def _pairs(self, op, value):
        shape = shape_of(value)
        if isinstance(op, BroadcastOp):
            return [(k, d) for k, d in enumerate(op.dims) if shape[k] != 1]
        if isinstance(op, TransposeOp):
            return [(p, k) for k, p in enumerate(op.permutation)]
        if isinstance(op, ReduceOp):
            kept = [d for d in range(len(shape)) if d not in op.reduced]
            return [(d, k) for k, d in enumerate(kept)]
        if isinstance(op, SliceOp):
            assert self._is_load(value), "a slice of a computed value"
            return []
        if isinstance(op, ReshapeOp):
            places = [k for k, e in enumerate(shape_of(op.result)) if e != 1]
            return list(zip([k for k, e in enumerate(shape) if e != 1], places, strict=True))
        return [(k, k) for k in range(len(shape))]


def test_iou_is_one_fusion():
    names = ("x1", "y1", "w1", "h1", "x2", "y2", "w2", "h2")
    tensor = "tensor<100x1000xf32>"
    steps = [
        ("xi", "maximum %x1, %x2"), ("yi", "maximum %y1, %y2"),
        ("a", "add %x1, %w1"), ("b", "add %x2, %w2"), ("c", "minimum %a, %b"), ("d", "subtract %c, %xi"),
        ("wi", "maximum %d, %zero"),
        ("e", "add %y1, %h1"), ("f", "add %y2, %h2"), ("g", "minimum %e, %f"), ("h", "subtract %g, %yi"),
        ("hi", "maximum %h, %zero"), ("area_i", "multiply %wi, %hi"),
        ("p", "multiply %w1, %h1"), ("q", "multiply %w2, %h2"), ("r", "add %p, %q"),
        ("area_u", "subtract %r, %area_i"), ("s", "maximum %area_u, %eps"), ("iou", "divide %area_i, %s"),
    ]  # fmt: skip
    text = f"func.func @ratio_iou({', '.join(f'%{n}: {tensor}' for n in names)}) -> {tensor} {{\n"
    text += f"  %zero = nt.constant dense<0.0> : {tensor}\n  %eps = nt.constant dense<1.0e-05> : {tensor}\n"
    text += "".join(f"  %{name} = nt.{step} : {tensor}\n" for name, step in steps)
    module = parse_module(text + f"  func.return %iou : {tensor}\n}}")
    apply(module, "canonicalize", "cse", "dce", "nt-fuse")
    assert explain_fusion(module) == ["iou: 19 ops, 8 loads, 1 store"]


TEXTS = sorted((FILECHECK / "transforms" / "tensor").glob("*.mlir"))
SHORT: dict[str, dict[str, int]] = {"nest-outline-repeated": {"nests": 2, "saved": 1}}
"""Options with which a pass changes small programs."""


@pytest.mark.parametrize("name", IDLE_WITHOUT)
def test_a_pass_does_nothing_without_the_operations_it_looks_at(name):
    """Of the programs of all FileCheck tests and random ones, a pass changes only those that have such an operation."""
    modules = [random_module(seed) for seed in range(20)]
    own = FILECHECK.joinpath(*PASSES[name].partition(":")[0].split(".")[:-1], f"{name}.mlir")
    for path in dict.fromkeys([*TEXTS, own]):
        if "invalid" not in path.name:
            modules += [parse_module(part) for part in path.read_text().split("// -----")]
    changed, idle = 0, 0
    for module in modules:
        has_some = any(op.name in IDLE_WITHOUT[name] for op in module.walk())
        before = str(module)
        load_pass(name)(**SHORT.get(name, {})).apply(CONTEXT, module)
        assert has_some or str(module) == before
        changed += str(module) != before
        idle += not has_some
    assert changed and idle > 10
