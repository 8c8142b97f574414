"""nest-outline-repeated: sequences of nests that occur again become one function, which is called.

    func.func @f(%x: memref<64xf32>, %w: memref<64xf32>, %u: memref<64xf32>, %y: memref<64xf32> {nest.role = "out"}) {
      %a = nest.alloc "a" : memref<64xf32>
      %b = nest.alloc "b" : memref<64xf32>
      nest.for "i" ... { ... %x ... %w ... %a }
      nest.for "j" ... { ... %a ... %b }
      %c = nest.alloc "c" : memref<64xf32>
      nest.for "i.1" ... { ... %b ... %u ... %c }
      nest.for "j.1" ... { ... %c ... %y }
    }
  becomes, with nests=2 saved=1
    func.func @f(...) {
      %b = nest.alloc "b" : memref<64xf32>
      func.call @f.part(%x, %w, %b) {nestor.outlined}
      func.call @f.part(%b, %u, %y) {nestor.outlined}
    }
    func.func private @f.part(%x: memref<64xf32>, %w: memref<64xf32>, %b: memref<64xf32> {nest.role = "inout"})
        attributes {nestor.outlined} {
      %a = nest.alloc "a" : memref<64xf32>
      nest.for "i" ... { ... %x ... %w ... %a }
      nest.for "j" ... { ... %a ... %b }
    }

What is done once for `@f.part` (its schedule, its lowering, its machine code) would otherwise be done for each layer of a
network. What is lost is what a schedule does across the ends of a sequence: there every intermediate is written to memory.
So sequences are taken as long as they are, from `nests` nests on, and only where the occurrences after the first have
`saved` operations together: some 10 ms each of compilation. Loops keep the names of the first occurrence.

Once nests are scheduled (`scheduled=true`) nothing is lost but the call: a kernel of a convolution that a network has three
times is one function then, whatever follows it. Any nests may be in such sequences, and views are made in the function.

A buffer that every occurrence makes and nobody else uses is made in the function; others, and floats that differ, are
arguments. For a GPU, `host=true`, such a float is a constant or an argument of `@f`: elements of buffers are read in
kernels only. There gpu-inline-parts puts the launches of `@f.part` into `@f` again. Which sequences are equal:
`analysis/nest/repeated_nests.py`. A function with `nest.frozen` arguments stays as it is, for nest-freeze finds what depends
on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....analysis.nest.loop_structure import is_inside, structured_functions
from ....analysis.nest.repeated_nests import Occurrence, repeated_nests
from ....analysis.nest.sets.accesses import VIEWS, accesses_of, root_of
from ....analysis.nest.sets.frozen_buffers import is_frozen
from ....dialects.attributes import FROZEN_FUNCTION, OUTLINED, ROLE
from ....dialects.diagnostic import fail
from ....dialects.nest import AllocOp
from ....dialects.walk import walk

NESTS = 6
"""Minimum number of nests of a sequence: fewer are two products, which schedules compute together."""

SAVED = 60
"""Minimum number of operations that are not compiled again."""


@dataclass(frozen=True)
class NestOutlineRepeatedPass(ModulePass):
    """Make functions of sequences of nests that occur again: at least `nests` nests, whose other occurrences have
    `saved` operations together. With `host` the numbers that they use are those that the host of a GPU knows: constants
    and arguments. Nests that are `scheduled` may be any."""

    name = "nest-outline-repeated"

    nests: int = NESTS
    saved: int = SAVED
    host: bool = False
    scheduled: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.nests < 1 or self.saved < 1:
            option = "nests" if self.nests < 1 else "saved"
            raise fail(op, f"{option} is {getattr(self, option)}; a positive number is expected")
        for function in structured_functions(op):
            outline_repeated(function, self.nests, self.saved, self.host, self.scheduled)


def outline_repeated(
    function: FuncOp,
    nests: int = NESTS,
    saved: int = SAVED,
    host: bool = False,
    scheduled: bool = False,
) -> list[FuncOp]:
    """Outline what `function` repeats; the new functions, which stand behind it."""
    is_plain = len(function.body.blocks) == 1 and not function.function_type.outputs.data
    awaits_freeze = not scheduled and any(is_frozen(argument) for argument in function.body.block.args)
    if not is_plain or awaits_freeze:
        return []
    made = []
    for occurrences in repeated_nests(function, nests, saved, host, scheduled):
        made.append(_outline(function, occurrences, _fresh_name(function)))
    return made


def _fresh_name(function: FuncOp) -> str:
    module = function.parent
    assert module is not None
    taken = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    name, k = f"{function.sym_name.data}.part", 1
    while name in taken:
        name, k = f"{function.sym_name.data}.part.{k}", k + 1
    return name


def _outline(function: FuncOp, occurrences: Sequence[Occurrence], name: str) -> FuncOp:
    """Make a function of the first occurrence, and calls of it of all."""
    first = occurrences[0]
    inside, passed = [], []
    for k, value in enumerate(first.values):
        those = [one.values[k] for one in occurrences]
        is_made_here = all(_is_own(v, one) for v, one in zip(those, occurrences, strict=True))
        is_constant = isinstance(value.owner, arith.ConstantOp) and all(
            _same_constant(value, v) for v in those
        )
        (inside if is_made_here or is_constant else passed).append(k)
    made = _function(function, first, inside, passed, name)
    views = [_views(one) for one in occurrences]
    for one, seen in zip(occurrences, views, strict=True):
        call = CallOp(name, [one.values[k] for k in passed], [])
        call.attributes[OUTLINED] = UnitAttr()
        call.location = one.nests[-1].location
        block = one.nests[-1].parent
        assert block is not None
        block.insert_op_after(call, one.nests[-1])
        for nest in one.nests:
            nest.detach()
            nest.erase()
        _erase_unused(seen)
        for value in one.values:
            if isinstance(value.owner, AllocOp | arith.ConstantOp) and not value.uses:
                _erase(value.owner)
    return made


def _is_own(value: SSAValue, occurrence: Occurrence) -> bool:
    """Whether a buffer is used by the nests of an occurrence alone."""
    return isinstance(value.owner, AllocOp) and _is_used_inside(value, occurrence)


def _is_used_inside(value: SSAValue, occurrence: Occurrence) -> bool:
    for use in value.uses:
        op = use.operation
        if isinstance(op, VIEWS):
            if not all(_is_used_inside(result, occurrence) for result in op.results):
                return False
        elif not any(is_inside(op, nest) for nest in occurrence.nests):
            return False
    return True


def _views(occurrence: Occurrence) -> set[Operation]:
    """The views that the nests of an occurrence use, and what these are views of."""
    inside = {op for nest in occurrence.nests for op in walk(nest)}
    found: set[Operation] = set()
    for value in (value for op in inside for value in op.operands):
        while isinstance(value.owner, VIEWS) and value.owner not in inside:
            found.add(value.owner)
            value = value.owner.operands[0]
    return found


def _same_constant(one: SSAValue, other: SSAValue) -> bool:
    return isinstance(other.owner, arith.ConstantOp) and one.owner.value == other.owner.value  # pyright: ignore


def _function(
    function: FuncOp, first: Occurrence, inside: Sequence[int], passed: Sequence[int], name: str
) -> FuncOp:
    """The function of an occurrence: a copy of what it makes itself, and of its nests."""
    values = [first.values[k] for k in passed]
    block = Block(arg_types=[value.type for value in values])
    mapper: dict[SSAValue, SSAValue] = {}
    for value, argument in zip(values, block.args, strict=True):
        mapper[value] = argument
        argument.name_hint = value.name_hint
    owned = {first.values[k].owner for k in inside}
    nests = set(first.nests) | _views(first)
    for op in list(function.body.block.ops):
        if op in owned or op in nests:
            block.add_op(op.clone(mapper))
    block.add_op(ReturnOp())
    written = {
        root_of(a.buffer) for nest in first.nests for op in walk(nest) for a in accesses_of(op) if a.writes
    }
    made = FuncOp(name, ([value.type for value in values], []), Region(block), "private")
    roles = [{ROLE: StringAttr("inout")} if value in written else {} for value in values]
    made.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(one) for one in roles])
    made.attributes.update({n: a for n, a in function.attributes.items() if n.startswith(("nestor.", "nt."))})
    made.attributes.pop(FROZEN_FUNCTION, None)
    made.attributes[OUTLINED] = UnitAttr()
    made.location = first.nests[0].location
    around = function.parent
    assert around is not None
    around.insert_op_after(made, function)
    return made


def _erase_unused(views: set[Operation]) -> None:
    """Erase views that nobody uses any more, those of views first."""
    left = set(views)
    while unused := [view for view in left if not any(result.uses for result in view.results)]:
        for view in unused:
            _erase(view)
        left.difference_update(unused)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
