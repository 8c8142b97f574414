"""Random nt functions, and what NumPy makes of them: the oracle of the tensor-level passes."""

import random

import numpy as np
from nestor.dialects.affine import AffineList
from nestor.dialects.nt import (
    ELEMENTWISE_OPS,
    REDUCTIONS,
    BroadcastOp,
    CastOp,
    ConstantOp,
    ElementwiseOp,
    FusionOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    YieldOp,
)
from nestor.dialects.nt.constants import compute, dtype_of, from_numpy, to_numpy
from nestor.dialects.nt.ops import element_of, shape_of
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

ARGUMENTS = ((3, 4), (4, 3), (3,), (4,), (), (3, 1), (3, 4))
CONSTANTS = (-0.0, 0.0, 1.0, 2.0, -1.0, 0.5, np.inf, np.nan)
UNARY = ("negative", "absolute", "exp", "sqrt", "floor", "square")
ARITHMETIC = ("add", "subtract", "multiply", "divide")


def random_module(seed, size=20, *, keep_all=False):
    """A function of `size` random operations that returns a few of its values, or all that nothing else uses."""
    choose = random.Random(seed)
    # Every third program has no minimum and maximum, the only operations that leave signs of zeros open.
    makers = _MAKERS if seed % 3 else _WITHOUT_EXTREMA
    block = Block(arg_types=[TensorType(f32, shape) for shape in ARGUMENTS])
    values = list(block.args)
    while len(values) < len(ARGUMENTS) + size:
        op = choose.choice(makers)(choose, values)
        if op is not None:
            block.add_op(op)
            values.append(op.results[0])
    computed = values[len(ARGUMENTS) :]
    results = [v for v in computed if not v.uses] if keep_all else choose.sample(computed, 3)
    block.add_op(ReturnOp(*results))
    types = ([a.type for a in block.args], [r.type for r in results])
    return ModuleOp([FuncOp("f", types, Region(block))])


def random_arguments(seed):
    """Small numbers, halves and zeros of both signs among them."""
    generator = np.random.default_rng(seed)
    return [_random_array(generator, shape) for shape in ARGUMENTS]


def _random_array(generator, shape):
    magnitudes = generator.integers(0, 5, shape) / 2
    return np.asarray(np.copysign(magnitudes, generator.random(shape) - 0.5), np.float32)


def _unary(choose, values):
    return ELEMENTWISE_OPS[choose.choice(UNARY)](_float(choose, values))


def _binary(choose, values, names=ARITHMETIC):
    a = _float(choose, values)
    alike = [v for v in values if v.type == a.type]
    constants = [v for v in alike if isinstance(v.owner, ConstantOp)]
    b = choose.choice(constants if constants and choose.random() < 0.5 else alike)
    return ELEMENTWISE_OPS[choose.choice(names)](a, b)


def _extremum(choose, values):
    if choose.random() < 0.5:
        return _reduce(choose, values, ("maximum", "minimum"))
    return _binary(choose, values, ("maximum", "minimum"))


def _float(choose, values):
    return choose.choice([v for v in values if element_of(v) == f32])


def _select(choose, values):
    conditions = [v for v in values if element_of(v) not in (f32, f64)]
    if not conditions:
        a = _float(choose, values)
        return ELEMENTWISE_OPS["less"](a, choose.choice([v for v in values if v.type == a.type]))
    condition = choose.choice(conditions)
    same = [v for v in values if shape_of(v) == shape_of(condition) and element_of(v) == f32]
    return ELEMENTWISE_OPS["select"](condition, choose.choice(same), choose.choice(same)) if same else None


def _broadcast(choose, values):
    source = choose.choice(values)
    shape = choose.choice(((3, 4), (4, 3), (2, 3, 4)))
    extents = shape_of(source)
    along = next((a for a in _increasing(len(extents), len(shape)) if _stretches(extents, a, shape)), None)
    return BroadcastOp(source, along, TensorType(element_of(source), shape)) if along is not None else None


def _increasing(count, rank):
    if count == 0:
        return [()]
    return [(*rest, d) for d in range(rank) for rest in _increasing(count - 1, d)]


def _stretches(extents, along, shape):
    return all(e in (1, shape[d]) for e, d in zip(extents, along, strict=True))


def _transpose(choose, values):
    source = choose.choice(values)
    perm = list(range(len(shape_of(source))))
    choose.shuffle(perm)
    return TransposeOp(source, perm)


def _slice(choose, values):
    slices = [v for v in values if isinstance(v.owner, SliceOp)]
    source = choose.choice(slices if slices and choose.random() < 0.5 else values)
    shape = shape_of(source)
    starts = [choose.randrange(e) for e in shape]
    strides = [choose.choice((1, -1)) for _ in shape]
    sizes = [e - s if step > 0 else s + 1 for e, s, step in zip(shape, starts, strides, strict=True)]
    return SliceOp(source, AffineList.of(*starts), strides, TensorType(element_of(source), sizes))


def _reshape(choose, values):
    source = choose.choice(values)
    count = int(np.prod(shape_of(source)))
    return ReshapeOp(
        source, TensorType(element_of(source), choose.choice(((count,), (1, count), (count, 1))))
    )


def _reduce(choose, values, combiners=("add", "multiply")):
    source = _float(choose, values)
    rank = len(shape_of(source))
    dims = sorted(choose.sample(range(rank), choose.randint(0, rank)))
    return ReduceOp(choose.choice(combiners), [source], dims)


def _constant(choose, values):
    shape = shape_of(choose.choice(values[-4:]))
    return ConstantOp(from_numpy(np.full(shape, choose.choice(CONSTANTS), np.float32), f32))


_WITHOUT_EXTREMA = (
    *(_unary, _unary, _binary, _binary, _binary, _select, _broadcast, _broadcast, _transpose, _slice, _slice),
    *(_reshape, _reshape, _reduce, _reduce, _constant, _constant),
)
_MAKERS = (*_WITHOUT_EXTREMA, _extremum, _extremum)


def run(function, arguments):
    """The results of an nt function of static shapes, as NumPy computes them."""
    values = dict(zip(function.body.block.args, arguments, strict=True))
    return _run_block(function.body.block, values)


def _run_block(block, values):
    for op in block.ops:
        if isinstance(op, ReturnOp | YieldOp):
            return [values[v] for v in op.operands]
        if isinstance(op, FusionOp):
            values.update(zip(op.results, _run_block(op.body.block, values), strict=True))
        else:
            values[op.results[0]] = _value(op, [values[v] for v in op.operands if v in values])
    raise AssertionError("a block without terminator")


def _value(op, operands):
    if isinstance(op, ElementwiseOp):
        return compute(op.row, operands)
    if isinstance(op, ConstantOp):
        return to_numpy(op.value)
    return _STRUCTURE[type(op)](op, *operands)


def _run_broadcast(op, x):
    shape = [1] * len(shape_of(op.result))
    for k, d in enumerate(op.dims):
        shape[d] = x.shape[k]
    return np.broadcast_to(x.reshape(shape), shape_of(op.result))


def _run_slice(op, x):
    starts = op.offsets.constants()
    axes = zip(starts, op.stride_values, shape_of(op.result), strict=True)
    places = [[first + step * k for k in range(size)] for first, step, size in axes]
    return x[np.ix_(*places)] if places else x


def _run_reduce(op, x):
    with np.errstate(all="ignore"):
        return np.asarray(getattr(np, REDUCTIONS[op.combiner.data].ufunc).reduce(x, axis=op.reduced))


_STRUCTURE = {
    CastOp: lambda op, x: x.astype(dtype_of(element_of(op.result))),
    BroadcastOp: _run_broadcast,
    TransposeOp: lambda op, x: x.transpose(op.permutation),
    ReshapeOp: lambda op, x: x.reshape(shape_of(op.result)),
    SliceOp: _run_slice,
    ReduceOp: _run_reduce,
}
