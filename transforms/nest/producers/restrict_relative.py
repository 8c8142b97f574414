"""nest-restrict-relative: a reduction and the sum relative to it, in some of their iterations.

    nest.for "i" %i = 0 to %n { ... nest.accumulate "s" add %a, %s[] }
    ... %mean from %s
    nest.for "i.1" %i = 0 to %n { ... %d = %a - %mean ... nest.accumulate "q" add (%d * %d), %q[] }

with update=i relative=i.1 becomes

    nest.for "i" %i = %lo to %hi { ... nest.accumulate "s" add %a, %s[] }
    ... %s[] / (%hi - %lo) to %base[]
    nest.for "i.1" %i = %lo to %hi { ... %d = %a - %base
                                         nest.accumulate "power" add %d, %power[]
                                         nest.accumulate "q" add (%d * %d), %q[] }

so that one program, on one part of the inputs, makes parts of both. What it makes (s, q, sums of lower powers, the number of
terms; of exponentials s and q) is all that is needed to combine such parts (`sums_from_parts` for the last step): the
formulas are those of `nest-block-relative`, which says what sums these are, and why combining them is right. Refused where
that refuses, where either reduction cannot be restricted, and where both read different parts of an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    f64,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import functions, perfect_band, trips_between
from ....analysis.nest.sets.restriction import Made, buffers_of
from ....analysis.nest.values.extent_keys import extent_key
from ....analysis.nest.values.relative_terms import NoForm, Power
from ....dialects.affine import AffineList
from ....dialects.attributes import DIMS, ROLE
from ....dialects.diagnostic import fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp, LoadOp, StoreOp
from ....dialects.nest.common import INDEX
from ..cleanup.eliminate_dead import eliminate_dead
from ..reductions.block_relative import (
    RelativePair,
    base_from,
    check_reads,
    computed_again,
    insert,
    made,
    make_relative_to,
    power_label,
    relative_pair,
    shift_of,
    shifted,
    stored_apart,
)
from ..rewrite.buffers import fresh_buffer_name
from ..rewrite.loops import fresh_names, materialise
from .restrict import Part, Restricted, Word, reduction_of, restrict_update


def pair_in_parts(bases: ForOp, sums: ForOp) -> RelativePair:
    """The reduction and the sum relative to it that two nests make. Raises the diagnostic that says why there is none."""
    try:
        pair = relative_pair(bases, sums)
        check_reads(bases, sums, pair)
        first = {a.iv: b.iv for a, b in zip(perfect_band(bases), pair.band, strict=True)}
        if pair.base.indices.substitute_all(first) != pair.total.indices.canonical():
            raise NoForm("the two reductions go to elements at other indices", pair.total)
        if any(loop.step_value != 1 for loop in pair.band):
            raise NoForm("a loop has steps", pair.band[0])
    except NoForm as reason:
        message = f'cannot restrict "{bases.label}" with "{sums.label}", relative to it: {reason}'
        raise fail(bases, message, notes=[(reason.at, "here")]) from None
    return pair


def types_of_parts(pair: RelativePair) -> list[Attribute]:
    """The types of the elements that a part is made of: of the reduction, of the sums, and, for powers, of the sums of lower
    powers, and of the number of terms."""
    sums = pair.total.values[0].type
    found = [pair.base.values[0].type, sums]
    return [*found, *([sums] * len(pair.powers)), f64] if isinstance(pair.form, Power) else found


# ---- a part -----------------------------------------------------------------------------------------


def restrict_relative(
    function: FuncOp,
    bases: ForOp,
    sums: ForOp,
    loops: Sequence[int],
    axes: Sequence[int] = (),
    given: Sequence[Made] = (),
    *,
    inside: bool = False,
) -> Restricted:
    """Restrict a function, in place, to the updates of both reductions in the iterations `lo` to `hi` of loops (by their
    places in the nests), and to boxes of what they reduce to along `axes`. The parts "partial" are, in order, those of
    `types_of_parts`. Raises the diagnostic that says why not."""
    pair_in_parts(bases, sums)
    other, copy_of = _copied(function)
    copy = relative_pair(copy_of[bases], copy_of[sums])  # pyright: ignore
    update, band = relative_pair(bases, sums).base, perfect_band(bases)
    first = restrict_update(function, update, [band[k] for k in loops], axes, given, inside=inside)
    second = restrict_update(
        other,
        copy.total,
        [copy.band[k] for k in loops],
        axes,
        [*(copy_of[op] for op in given), copy.base],  # pyright: ignore
        inside=inside,
    )
    place = sum(len(buffers_of(op)) for op in given)
    return _Joining(first, second, copy, [copy.band[k] for k in loops], place).run()


def _copied(function: FuncOp) -> tuple[FuncOp, dict[Operation, Operation]]:
    copy = function.clone()
    copy_of = dict(zip(function.walk(), copy.walk(), strict=True))
    for op, other in copy_of.items():
        other.location = op.location
    return copy, copy_of


class _Joining:
    """Puts the second restricted function behind the first one; `place` is that of its base among the given buffers."""

    def __init__(
        self, first: Restricted, second: Restricted, pair: RelativePair, cut: Sequence[ForOp], place: int
    ):
        self._function, self._block = first.function, first.function.body.block
        self._other = second
        self._pair, self._cut, self._place = pair, cut, place
        self._roles = list(first.arguments)
        self._attributes = _attributes_of(first.function)
        self._inside = _both(first.inside, second.inside)
        end = self._block.last_op
        assert end is not None
        self._end: Operation = end

    def run(self) -> Restricted:
        target = self._target("partial", 0)
        self._join()
        sums = self._target("partial", 1)
        start = next(
            op for op in self._function.walk() if isinstance(op, StoreOp) and op.memref is sums
        )  # of the neutral values
        slots = {k: self._result(sums, sums.type.element_type, power_label(k)) for k in self._pair.powers}  # pyright: ignore
        for k, slot in slots.items():
            insert(start, StoreOp(start.value, slot, start.indices, label=power_label(k)))
        base = self._bases(target, sums)
        make_relative_to(base, self._pair, slots)
        eliminate_dead(self._function)
        self._drop_base()
        self._sign()
        return Restricted(self._function, self._roles, self._inside)

    def _drop_base(self) -> None:
        """The reduction of all parts is not read any more, nor where a part of it begins."""
        for k, (argument, role) in reversed([*enumerate(zip(self._block.args, self._roles, strict=True))]):
            is_base = isinstance(role, Part) and (role.kind, role.place) == ("reduction", self._place)
            is_first = isinstance(role, Word) and role.kind == "first" and role.of == "reduction"
            if is_base and argument.uses:
                raise fail(
                    self._pair.total,
                    "cannot restrict: the sums read what they are relative to otherwise, too",
                )
            if is_base or (is_first and not argument.uses):
                self._block.erase_arg(argument)
                del self._roles[k], self._attributes[k]

    def _target(self, kind: str, place: int) -> SSAValue:
        roles = zip(self._block.args, self._roles, strict=True)
        return next(a for a, r in roles if isinstance(r, Part) and (r.kind, r.place) == (kind, place))

    def _join(self) -> None:
        """Move the body of the second function, whose arguments are those of the first one where they are the same."""
        other = self._other.function.body.block
        attributes = _attributes_of(self._other.function)
        for argument, role, said in zip(list(other.args), self._other.arguments, attributes, strict=True):
            known = self._known(role, argument)
            argument.replace_all_uses_with(known if known is not None else self._add(argument, role, said))
        for op in other.walk():
            if isinstance(op, ForOp):
                op.set_label(fresh_names(self._end, op.label)[0])
            elif isinstance(op, AllocOp):
                op.properties["label"] = StringAttr(fresh_buffer_name(self._end, op.label.data))
        for op in list(other.ops):
            if op is not other.last_op:
                op.detach()
                self._block.insert_op_before(op, self._end)

    def _known(self, role: Part | Word | int, argument: SSAValue) -> SSAValue | None:
        """The argument of the first function that is the same."""
        for own, mine in zip(self._block.args, self._roles, strict=True):
            if not isinstance(role, Part) or not isinstance(mine, Part):
                if mine == role:
                    return own
            elif role.kind != "partial" and _which(mine) == _which(role):
                if mine.axes != role.axes or own.type != argument.type:
                    raise fail(
                        self._pair.total,
                        f'cannot restrict: the sums read another part of "{role.name}" than what they are relative to',
                    )
                return own
        return None

    def _add(self, argument: SSAValue, role: Part | Word | int, said: dict[str, Attribute]) -> SSAValue:
        if isinstance(role, Part) and role.kind == "partial":
            role = Part(role.kind, 1, role.name, role.axes)
        return self._argument(argument.type, argument.name_hint, role, said)

    def _argument(
        self, type_: Attribute, name: str | None, role: Part | Word | int, said: dict[str, Attribute]
    ) -> BlockArgument:
        new = self._block.insert_arg(type_, len(self._block.args))
        new.name_hint = name
        self._roles.append(role)
        self._attributes.append(self._renamed(said))
        return new

    def _renamed(self, said: dict[str, Attribute]) -> dict[str, Attribute]:
        """Attributes whose names of extents of parts are no others' of the first function."""
        dims = said.get(DIMS)
        if not isinstance(dims, ArrayAttr):
            return said
        taken = {one for had in self._attributes if isinstance(d := had.get(DIMS), ArrayAttr) for one in d}
        fresh = [
            StringAttr(f"{one.data}.{len(self._attributes)}")
            if isinstance(one, StringAttr) and one.data.endswith(".part") and one in taken
            else one
            for one in dims
        ]
        return said | {DIMS: ArrayAttr(fresh)}

    def _result(self, like: SSAValue, element: Attribute, name: str) -> SSAValue:
        """A further result of the shape of `like`."""
        k = self._block.args.index(like)  # pyright: ignore
        part = self._roles[k]
        assert isinstance(part, Part) and isinstance(like.type, MemRefType)
        place = sum(isinstance(one, Part) and one.kind == "partial" for one in self._roles)
        type_ = MemRefType(element, like.type.get_shape(), like.type.layout, like.type.memory_space)
        role = Part("partial", place, name, dict(part.axes))
        return self._argument(type_, name, role, {ROLE: StringAttr("out")} | self._attributes[k])

    def _bases(self, target: SSAValue, sums: SSAValue) -> SSAValue:
        """A buffer with what the sums of the part are relative to, made between the two nests, and the number of terms."""
        pair, before = self._pair, self._pair.band[0]
        element = pair.base.values[0].type
        is_power = isinstance(pair.form, Power)
        count = self._count(before) if is_power else None
        number = self._result(sums, f64, "count") if is_power else None
        assert isinstance(sums.type, MemRefType) and isinstance(element, AnyFloat)
        extents = [_extent(sums, axis, before) for axis in range(sums.type.get_num_dims())]
        sizes = [one for one in extents if isinstance(one, SSAValue)]
        name = fresh_buffer_name(before, "base")
        alloc = AllocOp(name, MemRefType(element, sums.type.get_shape()), sizes)
        insert(before, alloc)
        at, variables = _nest(before, name, extents)
        indices = AffineList.of(*variables)
        if number is not None and count is not None:
            insert(at, StoreOp(count, number, indices, label="count"))
        found = made(at, LoadOp(target, indices))
        base = base_from(pair.base, found, lambda: _converted(count, element, at), at)  # pyright: ignore
        insert(at, StoreOp(base, alloc.memref, indices, label="base"))
        at.detach()
        at.erase()
        return alloc.memref

    def _count(self, at: Operation) -> SSAValue:
        """How many terms of the part an element has."""
        ends = {
            role: a for a, role in zip(self._block.args, self._roles, strict=True) if isinstance(role, Word)
        }
        assert at.parent is not None
        total = made(at, arith.ConstantOp(FloatAttr(1.0, f64)))
        for loop in self._pair.band:
            if loop.iv in self._pair.axes:
                continue
            if loop in self._cut:
                k = self._cut.index(loop)
                low, high = (ends[Word(end, "partial loop", 0, k)] for end in ("lo", "hi"))
                size: AffineList | None = AffineList.of(high).minus(AffineList.of(low))
            else:
                size = trips_between(loop.lower, loop.upper, 1)
            if size is None or len(size) != 1:
                raise fail(loop, "cannot restrict: the number of iterations is no linear expression")
            trips = materialise(size.canonical(), at.parent, at)
            trips = made(at, arith.MaxSIOp(trips, made(at, arith.ConstantOp(IntegerAttr(0, INDEX)))))
            as_float = made(at, arith.SIToFPOp(made(at, arith.IndexCastOp(trips, i64)), f64))
            total = made(at, arith.MulfOp(total, as_float))
        return total

    def _sign(self) -> None:
        args = list(self._block.args)
        self._function.function_type = FunctionType.from_lists([a.type for a in args], [])
        self._function.properties["arg_attrs"] = ArrayAttr(
            [DictionaryAttr(attributes) for attributes in self._attributes]
        )


def _which(part: Part) -> tuple[str, int, int]:
    return part.kind, part.place, part.number


def _both(first, second):
    """The boxes that are inside for both."""
    if not first or not second:
        return list(first or second)
    return [([*a[0], *b[0]], [*a[1], *b[1]]) for a, b in zip(first, second, strict=True)]


def _attributes_of(function: FuncOp) -> list[dict[str, Attribute]]:
    assert function.arg_attrs is not None
    return [dict(one.data) for one in function.arg_attrs]


def _extent(buffer: SSAValue, axis: int, before: Operation) -> SSAValue | int:
    assert isinstance(buffer.type, MemRefType)
    if (extent := buffer.type.get_shape()[axis]) != DYNAMIC_INDEX:
        return extent
    return made(before, memref.DimOp(buffer, made(before, arith.ConstantOp(IntegerAttr(axis, INDEX)))))


def _nest(
    before: Operation, name: str, extents: Sequence[AffineList | SSAValue | int]
) -> tuple[Operation, list[SSAValue]]:
    """Loops in front of `before`, an operation in the innermost one to insert others in front of, and the variables."""
    at = arith.ConstantOp(IntegerAttr(0, INDEX))
    variables: list[SSAValue] = []
    outer: Operation | None = None
    for axis, extent in enumerate(extents):
        loop = ForOp(fresh_names(before, f"{name}.{axis}")[0], 0, extent)
        loop.location = before.location
        variables.append(loop.iv)
        if isinstance(outer, ForOp):
            outer.body.block.add_op(loop)
        else:
            insert(before, loop)
        outer = loop
    if isinstance(outer, ForOp):
        outer.body.block.add_op(at)
        at.location = before.location
    else:
        insert(before, at)
    return at, variables


def _converted(value: SSAValue, element: AnyFloat, at: Operation) -> SSAValue:
    """An f64 as a number of another type."""
    return value if element == f64 else made(at, arith.TruncFOp(value, element))


# ---- parts together ---------------------------------------------------------------------------------


def combined_parts(
    pair: RelativePair, one: Sequence[SSAValue], other: Sequence[SSAValue], at: Operation
) -> list[SSAValue]:
    """Two parts as one, in front of `at`, element by element: each is what `types_of_parts` says."""
    from ....analysis.nest.kernels.combiners import combiner_op

    kind, properties = combiner_op(pair.base.combiner.data, one[0].type)
    total = made(
        at, kind.create(operands=[one[0], other[0]], result_types=[one[0].type], properties=properties)
    )
    numbers = [one[-1], other[-1]] if isinstance(pair.form, Power) else [None, None]
    count = None if numbers[0] is None else made(at, arith.AddfOp(*numbers))  # pyright: ignore
    base = _base(pair, total, count, at)
    sums = [
        _from_part(pair, side, number, base, at) for side, number in zip((one, other), numbers, strict=True)
    ]
    found = [made(at, arith.AddfOp(a, b)) for a, b in zip(*sums, strict=True)]
    return [total, *found] if count is None else [total, *found, count]


def _base(pair: RelativePair, found: SSAValue, count: SSAValue | None, at: Operation) -> SSAValue:
    return base_from(pair.base, found, lambda: _converted(count, found.type, at), at)  # pyright: ignore


def _from_part(
    pair: RelativePair, part: Sequence[SSAValue], number: SSAValue | None, base: SSAValue, at: Operation
) -> list[SSAValue]:
    """The sums of a part, of lower powers as well, relative to another base than its own; 0 of no terms."""
    shift = shift_of(pair, _base(pair, part[0], number, at), base, at)
    if number is None or not isinstance(pair.form, Power):
        return [shifted(pair.form, part[1], {}, shift, at)]
    type_ = part[1].type
    assert isinstance(type_, AnyFloat)
    powers = {0: _converted(number, type_, at)} | dict(zip(pair.powers, part[2:-1], strict=True))
    none = made(at, arith.ConstantOp(FloatAttr(0.0, type_)))
    zero = made(at, arith.ConstantOp(FloatAttr(0.0, f64)))
    is_empty = made(at, arith.CmpfOp(number, zero, "oeq"))
    found = [shifted(pair.form, part[1], powers, shift, at)]
    found += [shifted(Power(k, 1.0), powers[k], powers, shift, at) for k in pair.powers]
    return [made(at, arith.SelectOp(is_empty, none, one)) for one in found]


def sums_from_parts(function: FuncOp, bases: ForOp, sums: ForOp) -> list[BlockArgument]:
    """Let the sums come from all parts together, which are new arguments: in place of the nest `sums` is a shift, from their
    base to what the program subtracts. What the nest stores beside them stays, in a nest of its own.

    The arguments are those of `types_of_parts` but the first, which is what `bases` reduces to."""
    pair = relative_pair(bases, sums)
    stored_apart(sums, pair)
    buffer = pair.total.memrefs[0]
    block = function.body.block
    dims = [extent_key(buffer, axis) for axis in range(buffer.type.get_num_dims())]  # pyright: ignore
    said: dict[str, Attribute] = {}
    if all(isinstance(one, str | int) for one in dims):
        said[DIMS] = ArrayAttr(
            [IntegerAttr(one, i64) if isinstance(one, int) else StringAttr(str(one)) for one in dims]
        )
    attributes = _attributes_of(function)
    arguments: list[BlockArgument] = []
    names = ["sums", *map(power_label, pair.powers), "count"]
    for name, element in zip(names, types_of_parts(pair)[1:], strict=False):
        type_ = MemRefType(element, buffer.type.get_shape())  # pyright: ignore
        argument = block.insert_arg(type_, len(block.args))
        argument.name_hint = f"relative_{name}"
        arguments.append(argument)
        attributes.append(said)
    function.function_type = FunctionType.from_lists([a.type for a in block.args], [])
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(one) for one in attributes])
    loops = [loop for loop in pair.band if loop.iv in pair.axes]
    at, variables = _nest(sums, sums.label, [loop.upper for loop in loops])
    renamed = dict(zip([loop.iv for loop in loops], variables, strict=True))
    indices = pair.total.indices.substitute_all(renamed)
    subtracted = computed_again(pair.subtracted, pair.band, renamed, at)
    part = [made(at, LoadOp(one, indices)) for one in (pair.base.memrefs[0], *arguments)]
    number = part[-1] if isinstance(pair.form, Power) else None
    value = _from_part(pair, part, number, subtracted, at)[0]
    insert(
        at,
        AccumulateOp(
            "add", [value], [buffer], indices, label=pair.total.label.data if pair.total.label else ""
        ),
    )
    for op in (at, sums):
        op.detach()
        op.erase()
    return arguments


# ---- the pass -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NestRestrictRelativePass(ModulePass):
    """Restrict a function to some updates of a reduction and of the sum relative to it."""

    name = "nest-restrict-relative"

    update: str
    relative: str
    axis: tuple[int, ...] = ()
    reductions: tuple[str, ...] = ()
    inside: bool = False
    func: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op, self.func):
            given = [reduction_of(function, name)[0] for name in self.reductions]
            bases, sums = (reduction_of(function, name)[1] for name in (self.update, self.relative))
            restrict_relative(function, bases, sums, [0], self.axis, given, inside=self.inside)
