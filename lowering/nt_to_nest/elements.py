"""Elements on demand: emits the scalar operations that compute one element of a tensor, each once per point.

`Elements` keeps a stack of scopes, the function and the open loops. What is asked for is emitted in the outermost scope
where its loads are possible, so that constants are before the loops and row values before the inner loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import UNKNOWN_LOC, IntegerAttr, LocationAttr, StringAttr, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.affine import AffineList
from ...dialects.attributes import NT_APPROXIMATE
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import ForOp, LoadOp, StoreOp
from ...dialects.nest.common import name_hint_of, segments
from ...dialects.nt import (
    ELEMENTWISE_OPS,
    CastOp,
    ConstantOp,
    ElementwiseOp,
    FromScalarOp,
    IotaOp,
    ReduceOp,
)
from ...dialects.nt.expand import Emitter
from ...dialects.nt.ops import element_of
from ...dialects.nt.types import kind_of, scalar_type
from .access import VIEW_INDEX, Index
from .plan import Key
from .scalars import convert, from_storage, to_storage
from .shapes import INDEX, as_value, constant

_ONE_STEP = IntegerAttr(1, INDEX)
_STORE_SEGMENTS: dict[int, Attribute] = {}


class LoopNames:
    """Names of loops, or of buffers, unique in a function: `i`, then `i.1`."""

    LETTERS = "ijklmn"

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, base: str) -> str:
        name, count = base, 0
        while name in self._used:
            count += 1
            name = f"{base}.{count}"
        self._used.add(name)
        return name

    def of_axis(self, axis: int) -> str:
        """The name of a loop over dimension `axis`: i, j, k, l, m, n, d6, d7 ..."""
        return self.take(self.LETTERS[axis] if axis < len(self.LETTERS) else f"d{axis}")


@dataclass(eq=False)
class Place:
    """Where elements of a value are in memory. `level`: the depth of the scope of a rank-0 accumulator, else None."""

    memref: SSAValue
    level: int | None = None


@dataclass(eq=False)
class _Scope:
    insert: Callable[[Operation], object]
    loop: ForOp | None = None
    keys: list[Key] = field(default_factory=list)


class Elements:
    """Emits elements into the function (before its current operation, by `insert`) and the loops opened on top of it."""

    def __init__(
        self,
        insert: Callable[[Operation], object],
        places: dict[SSAValue, Place],
        extents: Callable[[SSAValue], Index],
        names: LoopNames,
        location: LocationAttr = UNKNOWN_LOC,
    ):
        self.places = places
        self.location = location
        self._extents = extents
        self._names = names
        self._scopes = [_Scope(insert)]
        self._depth: dict[SSAValue, int] = {}
        self._memo: dict[Key, tuple[SSAValue, int]] = {}
        self._readers: dict[Key, LocationAttr] = {}
        """Where an element is first asked for: elements of arguments come from no line of their own."""
        self._constants: dict[tuple[float | int | str, Attribute], SSAValue] = {}
        self._emitter = Emitter(self.insert)
        self._level = 0
        self._base = 0

    # ---- scopes -------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """The number of open loops."""
        return len(self._scopes) - 1

    def insert(self, op: Operation) -> None:
        """Add `op` at the level being emitted to (used by the emitter of scalars)."""
        self._scopes[self._level].insert(op)

    def emitter(self, location: LocationAttr, level: int | None = None) -> Emitter:
        """An emitter of scalar operations into the scope at `level`, by default the innermost."""
        self._level = self.depth if level is None else level
        self._emitter.location = location
        return self._emitter

    def append(self, op: Operation) -> None:
        """Add a statement to the innermost scope."""
        self._scopes[-1].insert(op)

    @contextmanager
    def inside(
        self, insert: Callable[[Operation], object], variable: SSAValue | None = None
    ) -> Iterator[None]:
        """What is emitted meanwhile belongs to a block of control flow, by `insert`: a loop's with its `variable`."""
        base = self._base
        self._scopes.append(_Scope(insert))
        self._base = self.depth
        if variable is not None:
            self._depth[variable] = self.depth
        yield
        for key in self._scopes.pop().keys:
            del self._memo[key]
        self._base = base

    def open_loop(self, axis: int, extent: AffineList) -> AffineList:
        """Start a loop over `[0, extent)`; what follows is inside. Returns the index that is its variable."""
        name = self._names.of_axis(axis)
        body = Block(arg_types=[INDEX])
        iv = body.args[0]
        iv.name_hint = name_hint_of(name)
        loop = ForOp.create(
            operands=extent.operands,
            properties={
                "loop_name": StringAttr(name),
                "lower_map": constant(0).map_attr,
                "upper_map": extent.map_attr,
                "step": _ONE_STEP,
                "operandSegmentSizes": segments(0, len(extent.operands)),
            },
            regions=[Region(body)],
            location=self.location,
        )
        self._scopes.append(_Scope(body.add_op, loop))
        self._depth[iv] = self.depth
        return AffineList.of(iv)

    def close_loop(self) -> None:
        """End the innermost loop; only now is it added to the enclosing scope, after what was hoisted from it."""
        scope = self._scopes.pop()
        for key in scope.keys:
            del self._memo[key]
        assert scope.loop is not None
        del self._depth[scope.loop.iv]
        self._scopes[-1].insert(scope.loop)

    # ---- elements -----------------------------------------------------------------------------------

    def trace(self, roots: Sequence[Key], stop: Collection[SSAValue] = ()) -> list[Key]:
        """The elements that computing `roots` needs, each after those it needs; views are looked through.

        Elements in memory, results of reductions and those of `stop` need nothing; what is emitted already is left out.
        """
        order: list[Key] = []
        seen: set[Key] = set()
        pending: list[tuple[Key, bool]] = [(self.resolve(*root), False) for root in reversed(roots)]
        while pending:
            key, done = pending.pop()
            if done:
                order.append(key)
                continue
            if key in seen or key in self._memo:
                continue
            seen.add(key)
            pending.append((key, True))
            if key[0] in stop:
                continue
            operands = self._operand_keys(key)
            for operand in operands:
                self._readers.setdefault(operand, key[0].owner.location)  # pyright: ignore
            pending.extend([(operand, False) for operand in reversed(operands)])
        return order

    def resolve(self, value: SSAValue, index: Index) -> Key:
        """The element that `value[index]` is, through views; splats have one element."""
        while value not in self.places:
            op = value.owner
            op_type = type(op)
            if op_type in VIEW_INDEX:
                source = op.operands[0]  # pyright: ignore
                index = VIEW_INDEX[op_type](op, index, (self._extents(source), self._extents(value)))
                value = source
                continue
            if op_type in _SPLATS:
                index = ()
            break
        return value, index

    def _operand_keys(self, key: Key) -> list[Key]:
        value, index = key
        op = value.owner
        if value in self.places or isinstance(op, ReduceOp | IotaOp) or type(op) in _SPLATS:
            return []
        if type(op) not in _COMPUTED:
            raise fail(
                op,
                f"convert-nt-to-nest cannot compute an element of the result of {getattr(op, 'name', 'a block')}",
                error=LoweringError,
            )
        return [self.resolve(operand, index) for operand in op.operands]  # pyright: ignore

    def get(self, value: SSAValue, index: Index) -> SSAValue:
        """The scalar `value[index]`, computed now where it is not at hand."""
        root = self.resolve(value, index)
        for key in self.trace([root]):
            result, level = self._emit(key)
            self._memo[key] = (result, level)
            self._scopes[level].keys.append(key)
        return self._memo[root][0]

    def constant(self, value: complex, scalar: Attribute) -> SSAValue:
        """A scalar constant, before all loops, once per function scope."""
        key = (repr(value), scalar)
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self.emitter(UNKNOWN_LOC, 0).const(value, scalar)
        return known

    def _emit(self, key: Key) -> tuple[SSAValue, int]:
        value, index = key
        place = self.places.get(value)
        if place is not None:
            return self._load(value, index, place)
        op = value.owner
        if isinstance(op, FromScalarOp):
            return op.scalar, self._base
        if isinstance(op, ConstantOp):
            return self._splat(op), 0
        if isinstance(op, IotaOp):
            return self._position(op, index[0])
        assert isinstance(op, Operation)
        operands = [self._memo[self.resolve(operand, index)] for operand in op.operands]
        level = max([at for _, at in operands], default=self._base)
        result = _COMPUTED[type(op)](op, self.emitter(op.location, level), [v for v, _ in operands])
        if value.name_hint is not None and result.name_hint is None:
            result.name_hint = value.name_hint
        return result, level

    def _load(self, value: SSAValue, index: Index, place: Place) -> tuple[SSAValue, int]:
        if place.level is not None:
            level, at = place.level, AffineList(())
        else:
            at = AffineList.of(*index)
            level = max([self._base, *(self._depth.get(v, 0) for v in at.operands)])
        reader = self._readers.get((value, index), self.location)
        op = LoadOp.create(
            operands=[place.memref, *at.operands],
            properties={"map": at.map_attr},
            result_types=[place.memref.type.element_type],  # pyright: ignore
            location=value.owner.location if isinstance(value.owner, Operation) else reader,
        )
        op.result.name_hint = value.name_hint
        self._scopes[level].insert(op)
        scalar = from_storage(self.emitter(op.location, level), op.result, element_of(value))
        if scalar is not op.result:
            scalar.name_hint = value.name_hint
        return scalar, level

    def _splat(self, op: ConstantOp) -> SSAValue:
        value = op.splat if len(op.value) else 0  # of no elements none is ever used
        if value is None:
            raise fail(
                op,
                f"a constant of {op.result.type} with several values must be in memory before it is read",
                error=LoweringError,
            )
        known = self.constant(value, scalar_type(element_of(op.result)))
        if known.name_hint is None:
            known.name_hint = op.result.name_hint
        return known

    def _position(self, op: IotaOp, at: AffineList) -> tuple[SSAValue, int]:
        """The element of nt.iota at an index: the index itself, as an integer."""
        level = max([self._base, *(self._depth.get(v, 0) for v in at.operands)])
        insert = self._scopes[level].insert
        position = as_value(at, insert, self._index_constant)
        emitter = self.emitter(op.location, level)
        return emitter.op(arith.IndexCastOp, (position,), i64), level

    def _index_constant(self, value: int) -> SSAValue:
        op = arith.ConstantOp.create(
            result_types=[INDEX], properties={"value": IntegerAttr(value, INDEX)}, location=UNKNOWN_LOC
        )
        self._scopes[0].insert(op)
        return op.result

    # ---- statements ---------------------------------------------------------------------------------

    def store(self, label: str, value: SSAValue, memref: SSAValue, index: Index) -> None:
        """`memref[index] = value`, the scalar converted to its form in memory."""
        at = AffineList.of(*index)
        owner = value.owner
        location = owner.location if isinstance(owner, Operation) else self.location
        if location is UNKNOWN_LOC:
            location = self.location
        stored = to_storage(self.emitter(location), value, memref.type.element_type)  # pyright: ignore
        properties: dict[str, Attribute] = {
            "map": at.map_attr,
            "operandSegmentSizes": segments(1, 1, len(at.operands), 0, 0),
        }
        if label:
            properties["label"] = StringAttr(label)
        self.append(
            StoreOp.create(operands=[stored, memref, *at.operands], properties=properties, location=location)
        )


def _elementwise(op: ElementwiseOp, e: Emitter, operands: Sequence[SSAValue]) -> SSAValue:
    value = op.row.expansions[kind_of(element_of(op.inputs[-1]))](e, *operands)
    made = value.owner
    if NT_APPROXIMATE in op.attributes and isinstance(made, Operation) and "fastmath" in made.properties:
        made.properties["fastmath"] = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
    return value


def _cast(op: CastOp, e: Emitter, operands: Sequence[SSAValue]) -> SSAValue:
    return convert(e, operands[0], element_of(op.source), element_of(op.result))


_COMPUTED: dict[type[Operation], Callable[..., SSAValue]] = {
    CastOp: _cast,
    **{op_type: _elementwise for op_type in ELEMENTWISE_OPS.values()},
}
_SPLATS = frozenset({ConstantOp, FromScalarOp})
