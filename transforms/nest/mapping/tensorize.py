"""nest-tensorize: a nest is replaced by a call of an intrinsic that is proved to compute the same.

    func.func private @axpy4(%a: f32, %x: memref<4xf32, strided<[1], offset: ?>>,
                             %y: memref<4xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
      nest.for "l" %l = 0 to 4 {
        %u = nest.load %x[%l] : memref<4xf32, strided<[1], offset: ?>>
        %v = arith.mulf %a, %u : f32
        nest.accumulate add %v, %y[%l] : memref<4xf32, strided<[1], offset: ?>>
      }
      func.return
    }

    nest.for "i.o" %o = 0 to 25 {
      nest.for "i.i" %i = 0 to 4 {
        %u = nest.load %p[4 * %o + %i] : memref<100xf32>
        %v = arith.mulf %s, %u : f32
        nest.accumulate "q" add %v, %q[4 * %o + %i] : memref<100xf32>
      }
    }

becomes with loop=i.i, intrinsic=axpy4

    nest.for "i.o" %o = 0 to 25 {
      %0 = arith.muli %o, %c4 : index
      %x = memref.subview %p[%0] [4] [1] : memref<100xf32> to memref<4xf32, strided<[1], offset: ?>>
      %y = memref.subview %q[%0] [4] [1] : memref<100xf32> to memref<4xf32, strided<[1], offset: ?>>
      func.call @axpy4(%s, %x, %y) : (f32, ...) -> ()
    }

An intrinsic is a function of the module, marked `nest.intrinsic`, whose body is its meaning: one nest. The call runs
that body: in the interpreter as it is, on the CPU as it is lowered, with the marks that its own schedule gives it
(CUDA kernels call no functions: the lowering refuses). Every memref argument becomes a window of a buffer. Only
what fits the type of the argument is passed: one with the layout `strided<[?, 1], offset: ?>` takes rows of contiguous
elements that begin anywhere.

Refused unless the nest and the body are the same up to names and places (loops with equal steps and extents, the same
operations in one order), the windows are inside their buffers, and none that is written overlaps another
(two arguments of the intrinsic with one `nest.alias_set` may). Statements with domains are refused: the remainder of a
split stays a loop. `tensorize` in TVM, `replace` with an `@instr` in Exo, where the meaning is a body as well;
Halide selects instructions itself, NNC has external calls only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.loop_structure import enclosing_function
from ....analysis.nest.sets.accesses import Access, accesses_of, alias_set, is_defined_outside, may_overlap
from ....analysis.nest.sets.integer_sets import System, pair_system
from ....analysis.nest.sets.unify import Accessing, Mismatch, Unification, differ
from ....analysis.nest.values.extent_keys import extent_key
from ....dialects.affine import AffineList
from ....dialects.attributes import INTRINSIC
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from ..rewrite.buffers import erase_unused, extent_before
from ..rewrite.loops import materialise
from ..rewrite.mark_checks import refuse_on_processor


@dataclass(frozen=True, eq=False)
class Window:
    """What is passed for a memref argument: from `offsets`, `sizes` elements along `axes` and one along the others."""

    buffer: SSAValue
    argument: SSAValue
    offsets: AffineList
    axes: tuple[int, ...]
    sizes: tuple[AffineList, ...]
    is_whole: bool
    """Whether it is all of the buffer."""


def why_not_tensorize(loop: ForOp, intrinsic: str) -> NestorError | None:
    """The diagnostic that refuses to call `intrinsic` instead of the nest, None when it is legal."""
    if (refusal := refuse_on_processor(loop, "tensorize")) is not None:
        return refusal
    made: list[Operation] = []
    try:
        _plan(loop, intrinsic, made)
    except Mismatch as mismatch:
        return fail(
            loop,
            f'cannot tensorize the loop "{loop.label}" to "{intrinsic}": {mismatch.reason}',
            hint=mismatch.hint,
            notes=mismatch.notes,
        )
    finally:
        erase_unused(made)
    return None


def tensorize(loop: ForOp, intrinsic: str) -> func.CallOp:
    """Replace the nest by a call of `intrinsic`; the call. Raises the diagnostic of `why_not_tensorize`."""
    if (refusal := why_not_tensorize(loop, intrinsic)) is not None:
        raise refusal
    made: list[Operation] = []
    function, found, windows = _plan(loop, intrinsic, made)
    assert loop.parent is not None
    values = _Values(loop)
    arguments = [
        _view(windows[argument], values) if argument in windows else _scalar(found, argument, values)
        for argument in function.body.block.args
    ]
    call = func.CallOp(intrinsic, arguments, ())
    call.location = loop.location
    loop.parent.insert_op_before(call, loop)
    loop.detach()
    loop.erase()
    erase_unused(made)
    return call


def _plan(
    loop: ForOp, name: str, made: list[Operation]
) -> tuple[func.FuncOp, Unification, dict[SSAValue, Window]]:
    """The intrinsic, what its values are in the nest, and the windows to pass; `made` gets the operations added."""
    function = _intrinsic(loop, name)
    found = Unification(loop, function, _meaning(function))
    windows: dict[SSAValue, Window] = {}
    for argument in function.body.block.args:
        if isinstance(argument.type, MemRefType):
            windows[argument] = _window(found, argument, made)
        elif argument not in found.scalars and argument not in found.indices:
            raise Mismatch(f"nothing says what {_called(argument)} is", [(function, "the intrinsic")])
    _check_overlaps(found)
    return function, found, windows


# ---- the intrinsic ----------------------------------------------------------------------------------


def _intrinsic(loop: ForOp, name: str) -> func.FuncOp:
    """The function that is the intrinsic `name`."""
    around = enclosing_function(loop)
    beside = around.parent.ops if around.parent is not None else ()
    functions = [op for op in beside if isinstance(op, func.FuncOp)]
    named = [f for f in functions if f.sym_name.data == name]
    if not named:
        known = ", ".join(f.sym_name.data for f in functions if INTRINSIC in f.attributes)
        raise Mismatch("there is no such intrinsic", hint=f"intrinsics here: {known or 'none'}")
    (function,) = named
    if INTRINSIC not in function.attributes:
        raise Mismatch(
            "it is a function, not an intrinsic",
            [(function, "it has no attribute nest.intrinsic")],
            "mark it: attributes {nest.intrinsic}",
        )
    if function is around:
        raise Mismatch("the loop is the definition of that intrinsic", [(function, "the intrinsic")])
    return function


def _meaning(function: func.FuncOp) -> ForOp:
    """The nest that is the body of an intrinsic."""
    if function.function_type.outputs.data:
        raise Mismatch("the intrinsic has results", [(function, "results are written to memref arguments")])
    if len(function.body.blocks) != 1:
        raise Mismatch("the intrinsic has no body that says what it means", [(function, "the intrinsic")])
    nests: list[ForOp] = []
    for op in function.body.block.ops:
        if isinstance(op, ForOp):
            nests.append(op)
        elif not isinstance(op, arith.ConstantOp | memref.DimOp | func.ReturnOp):
            raise Mismatch("the body of the intrinsic is more than one nest", [(op, "outside of its nest")])
    if len(nests) != 1:
        raise Mismatch(f"the body of the intrinsic is {len(nests)} nests", [(function, "the intrinsic")])
    return nests[0]


def _called(argument: SSAValue) -> str:
    return f'the argument "{argument.name_hint}"' if argument.name_hint else "an argument"


# ---- windows ----------------------------------------------------------------------------------------


def _window(found: Unification, argument: SSAValue, made: list[Operation]) -> Window:
    """The window that the accesses through `argument` see."""
    pairs = found.accesses.get(argument)
    if pairs is None:
        raise Mismatch(f"nothing says what {_called(argument)} is", [(found.intrinsic, "the intrinsic")])
    buffer = found.buffers[argument]
    type_, wanted = _type(buffer), _type(argument)
    here, there = pairs[0]
    if type_.memory_space != wanted.memory_space:
        raise differ(f"{_called(argument)} is in another memory space", here, there)
    axes, offsets = _place(found, argument, pairs)
    extents: list[AffineList] = []
    for axis in range(type_.get_num_dims()):
        extent, new = extent_before(buffer, axis, found.nest)
        made += new
        extents.append(found.canonical(extent))
    rests = [extents[axis].minus(offsets[axis]) for axis in axes]
    sizes = tuple(_size(found, argument, k, rest, pairs) for k, rest in enumerate(rests))
    if len(axes) < type_.get_num_dims() and any(size.constants() == (1,) for size in sizes):
        raise differ(
            f"which axis of the buffer is an axis of {_called(argument)} of extent 1 is ambiguous",
            here,
            there,
        )
    steady = len(axes) == type_.get_num_dims() and offsets.constants() == (0,) * len(axes)
    whole = steady and all(found.canonical(s) == e for s, e in zip(sizes, extents, strict=True))
    assert all(found.is_fixed(expression) for expression in (offsets, *sizes))
    _check_layout(argument, buffer, axes, offsets, whole, here, there)
    starts = [offsets[axis] for axis in axes]
    _check_accesses(found, argument, starts, sizes, [found.canonical(rest) for rest in rests])
    window = Window(buffer, argument, offsets, axes, sizes, whole)
    if not whole and not _is_inside(found.nest, window, extents) and not _is_covered(found, argument, sizes):
        raise differ(
            f"the window that would be {_called(argument)} is not proved to be inside its buffer",
            here,
            there,
            "nest.dims on the arguments of the function says which extents are equal",
        )
    return window


def _place(
    found: Unification, argument: SSAValue, pairs: Sequence[tuple[Accessing, Accessing]]
) -> tuple[tuple[int, ...], AffineList]:
    """The axes of the buffer that the window has, and where it begins along each axis of the buffer."""
    rank, wanted = _type(found.buffers[argument]).get_num_dims(), _type(argument).get_num_dims()
    here, there = pairs[0]
    if rank < wanted:
        raise differ(f"{_called(argument)} has {wanted} axes, the buffer {rank}", here, there)
    failed = pairs[0]
    for axes in combinations(range(rank), wanted):
        first: AffineList | None = None
        for pair in pairs:
            offsets = _offsets(found, pair, axes)
            if offsets is None or (first is not None and offsets != first):
                failed = pair
                break
            first = offsets
        else:
            assert first is not None
            return axes, first
    raise differ(f"the elements accessed are not those of one window for {_called(argument)}", *failed)


def _offsets(found: Unification, pair: tuple[Accessing, Accessing], axes: Sequence[int]) -> AffineList | None:
    """Where a window begins that makes two accesses one; None where it would move during the nest."""
    here, there = pair
    inside = found.translated(there.indices)
    if inside is None:
        raise differ("nothing says what an index of the intrinsic is", here, there)
    offsets = AffineList((), ())
    for axis in range(len(here.indices)):
        offset = here.indices[axis]
        if axis in axes:
            offset = offset.minus(inside[axes.index(axis)])
        offset = found.canonical(offset)
        if not found.is_fixed(offset):
            return None
        offsets = offsets.concat(offset)
    return offsets


def _size(
    found: Unification,
    argument: SSAValue,
    axis: int,
    rest: AffineList,
    pairs: Sequence[tuple[Accessing, Accessing]],
) -> AffineList:
    """The extent of a window: what the type or a loop of the intrinsic says, else as far as the buffer goes."""
    key = extent_key(argument, axis)
    if isinstance(key, int):
        return AffineList.of(key)
    size = found.indices.get(key)
    if size is None:
        size = found.canonical(rest)
        if isinstance(key, str):
            found.indices[key] = size  # that of every argument that has an extent of this name
    least = 2 if isinstance(key, str) else 0
    if not _always(found.nest, size.add(-least)):
        reason = f"the extent {axis} of {_called(argument)} is not proved to be at least {least}"
        hint = "an extent with a name in nest.dims is never 0 or 1; leave the name out" if least else None
        raise differ(reason, *pairs[0], hint)
    return size


def _check_layout(
    argument: SSAValue,
    buffer: SSAValue,
    axes: Sequence[int],
    offsets: AffineList,
    whole: bool,
    here: Operation,
    there: Operation,
) -> None:
    """The strides and the offset of the window are what the type of the argument promises."""
    given, wanted = _type(buffer), _type(argument)
    hint = "write the layout of the argument as `strided<[?, 1], offset: ?>`, say"
    if whole and given.layout == wanted.layout:
        return
    if not isinstance(given.layout, NoneAttr | StridedLayoutAttr):
        raise differ("the buffer has a layout without strides", here, there)
    if not isinstance(wanted.layout, StridedLayoutAttr):
        raise differ(f"{_called(argument)} is contiguous, and the window need not be", here, there, hint)
    fixed, numbers = wanted.layout.get_offset(), offsets.constants()
    if fixed is not None and (given.get_offset() != fixed or numbers is None or any(numbers)):
        raise differ(f"{_called(argument)} begins at a fixed offset, the window elsewhere", here, there, hint)
    strides = given.get_strides()
    assert strides is not None
    for k, stride in enumerate(wanted.layout.get_strides()):
        if stride is not None and strides[axes[k]] != stride:
            raise differ(
                f"the stride {k} of {_called(argument)} is {stride}, that of the window "
                f"{strides[axes[k]] if strides[axes[k]] is not None else 'is not known'}",
                here,
                there,
            )


def _check_accesses(
    found: Unification,
    argument: SSAValue,
    starts: Sequence[AffineList],
    sizes: Sequence[AffineList],
    rests: Sequence[AffineList],
) -> None:
    """The accesses are inside the extents of the argument; what the program says of the buffer's need no proof."""
    for here, there in found.accesses[argument]:
        inside = found.translated(there.indices)
        assert inside is not None
        for k, (start, size, rest) in enumerate(zip(starts, sizes, rests, strict=True)):
            asked: list[AffineList] = []
            if start.constants() != (0,):
                asked.append(inside[k])
            if size != rest:
                asked.append(size.minus(inside[k]).add(-1))
            if asked and not _always(here, AffineList.of(*asked)):
                raise differ(f"this is not proved to be inside {_called(argument)}", here, there)


def _always(op: Operation, expressions: AffineList) -> bool:
    """Whether every expression is >= 0 wherever `op` runs."""
    if (numbers := expressions.constants()) is not None:
        return min(numbers, default=0) >= 0
    system = System(enclosing_function(op))
    negative = " or ".join(f"{text} < 0" for text in system.expressions(expressions, "s"))
    system.require_reached(op, "s")
    system.require(f"({negative})")
    return not system.has_solution()


def _is_inside(nest: ForOp, window: Window, extents: Sequence[AffineList]) -> bool:
    """Whether isl proves that the window is part of its buffer."""
    ends = AffineList((), ())
    for axis, extent in enumerate(extents):
        size = window.sizes[window.axes.index(axis)] if axis in window.axes else AffineList.of(1)
        ends = ends.concat(extent.minus(window.offsets[axis]).minus(size))
    return _always(nest, window.offsets.concat(ends))


def _is_covered(found: Unification, argument: SSAValue, sizes: Sequence[AffineList]) -> bool:
    """Whether the nest accesses every element of the window: a legal program has them all in the buffer."""
    return any(_covers(found, here, there, sizes) for here, there in found.accesses[argument])


def _covers(found: Unification, here: Accessing, there: Accessing, sizes: Sequence[AffineList]) -> bool:
    loops: dict[SSAValue, ForOp] = {}
    outer = there.parent_op()
    while outer is not found.intrinsic:
        if not isinstance(outer, ForOp):
            return False
        if outer.lower.constants() is None or outer.upper.constants() is None:
            return False
        (low,), (high,) = outer.lower.constants() or (0,), outer.upper.constants() or (0,)
        if high <= low:
            return False
        loops[outer.iv] = outer
        outer = outer.parent_op()
    for k, size in enumerate(sizes):
        if size.constants() == (1,) and there.indices[k].constants() == (0,):
            continue
        variable = there.indices[k].single_value()
        loop = loops.pop(variable, None) if variable is not None else None
        if loop is None or loop.step_value != 1 or loop.lower.constants() != (0,):
            return False
        if loop.upper.constants() != size.constants():
            return False
    return True


def _check_overlaps(found: Unification) -> None:
    """No argument that is written overlaps another one, unless the intrinsic allows it."""
    for one, other in combinations(found.accesses, 2):
        group = alias_set(one)
        if group is not None and group == alias_set(other):
            continue
        for first in _accesses(found, one):
            for second in _accesses(found, other):
                if not (first.writes or second.writes) or not may_overlap(first, second):
                    continue
                if pair_system(first, second, found.nest).has_solution():
                    raise Mismatch(
                        f"{_called(one)} and {_called(other)} may overlap, and one is written",
                        [(first.op, "one accesses this"), (second.op, "the other this")],
                        "give both arguments of the intrinsic one nest.alias_set",
                    )


def _accesses(found: Unification, argument: SSAValue) -> list[Access]:
    buffer = found.buffers[argument]
    ops = dict.fromkeys(here for here, _ in found.accesses[argument])
    return [access for op in ops for access in accesses_of(op) if access.buffer is buffer]


def _type(buffer: SSAValue) -> MemRefType:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type


# ---- rewriting --------------------------------------------------------------------------------------


class _Values:
    """What is computed before the loop, each expression once."""

    def __init__(self, loop: ForOp):
        assert loop.parent is not None
        self.loop, self.block = loop, loop.parent
        self._known: dict[AffineList, SSAValue] = {}

    def value(self, expression: AffineList) -> SSAValue:
        if expression not in self._known:
            self._known[expression] = materialise(expression, self.block, self.loop)
        return self._known[expression]

    def entry(self, expression: AffineList) -> SSAValue | int:
        """An offset or size: a number where it is one."""
        numbers = expression.constants()
        return self.value(expression) if numbers is None else numbers[0]

    def insert(self, op: Operation) -> SSAValue:
        op.location = self.loop.location
        self.block.insert_op_before(op, self.loop)
        return op.results[0]


def _scalar(found: Unification, argument: SSAValue, values: _Values) -> SSAValue:
    """What is passed for a scalar argument."""
    if argument in found.indices:
        return values.value(found.indices[argument])
    value = found.scalars[argument]
    if is_defined_outside(value, values.loop):
        return value
    assert isinstance(value.owner, arith.ConstantOp)
    return values.insert(value.owner.clone())


def _view(window: Window, values: _Values) -> SSAValue:
    """What is passed for a memref argument: the buffer, or a view of it."""
    wanted, result = _type(window.argument), window.buffer
    if not window.is_whole:
        given = _type(window.buffer)
        offsets = [values.entry(window.offsets[k]) for k in range(len(window.offsets))]
        sizes: list[SSAValue | int] = [1] * len(offsets)
        for axis, size in zip(window.axes, window.sizes, strict=True):
            sizes[axis] = values.entry(size)
        steps = [1] * len(offsets)
        full = memref.SubviewOp.infer_result_type(given, offsets, sizes, steps)
        shape, strides = full.get_shape(), full.get_strides()
        assert strides is not None
        type_ = MemRefType(
            given.element_type,
            [shape[axis] for axis in window.axes],
            StridedLayoutAttr([strides[axis] for axis in window.axes], full.get_offset()),
            given.memory_space,
        )
        result = values.insert(memref.SubviewOp.get(window.buffer, offsets, sizes, steps, type_))
    if result.type != wanted:
        result = values.insert(memref.CastOp.get(result, wanted))
    if result is not window.buffer:
        result.name_hint = window.argument.name_hint
    return result
