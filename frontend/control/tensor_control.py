"""Control flow on whole arrays: scf.for, scf.while and scf.if on tensors, for what is not a loop over elements.

    h = np.zeros(4)                  %h = scf.for %t = %c0 to %n step %c1 iter_args(%h_1 = %h0) -> (tensor<4xf64>) {
    for t in range(n):                 ...
        h = np.tanh(h + xs[t])         scf.yield %h1 : tensor<4xf64> }

What a body changes is carried: variables that it gives a new value (numbers as tensors of rank 0, tuples by their items),
and arrays that it writes. What that is, and of which types, is found by compiling the body until nothing changes any more.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ..frame.frame import Frame
from ..frame.objects import is_ref, refuse_changes
from ..frame.recursion import test
from ..values.aliases import TAG, root_of
from ..values.checks import as_bool, opposite
from ..values.extents import Affine, Atom, is_never_negative
from ..values.graph import INDEX, tensor_type
from ..values.names import ir_name
from ..values.promotion import same_operand
from ..values.values import Array, Buffer, Late, Range, Static, Value, serials
from .exchanges import (
    exchanged,
    joined,
    names_before,
    places,
    refuse_joined_writes,
    write_back,
    written_before,
)
from .forms import (
    Form,
    built,
    content_form,
    flatten,
    form_of,
    form_on,
    joined_form,
    lasting_form,
    widened_form,
)
from .joined_objects import are_sole, unify
from .loop_variables import ONLY_INSIDE
from .nest_loops import Execute, Loop, changed_names, stops, with_stops
from .rows import Growing
from .same_values import is_same
from .sequences import trip_count
from .settled import Start
from .sharing import arrays_in, other_owner, shown
from .structured import RESULT
from .sweeps import TENSORS, is_premature, sweeps
from .truth import as_condition

# ---- loops ------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Carried:
    """Variables by name, with their forms; arrays that are written."""

    forms: dict[str, Form] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    exchanged: tuple[str, ...] = ()
    """Arrays that change places in each iteration (`exchanges.py`): of each is carried which one it was at first."""
    kept: dict[str, tuple[str, Lenders]] = field(default_factory=dict)
    """Variables that may be an older array after an iteration, and which."""
    joined: list[tuple[str, str]] = field(default_factory=list)
    """Variables that may be one array after an iteration, in pairs."""
    written: list[Buffer] = field(default_factory=list)
    """Arrays that variables were before the loop and that iterations write."""
    older: frozenset[Buffer] = frozenset()
    """Arrays from before the loop that an iteration may leave to a variable."""
    is_scratch: bool = False
    """Whether another sweep follows: what was emitted is dropped."""

    def types(self) -> list[Attribute]:
        types = [t for form in self.forms.values() for t in form.types()]
        types += [TAG] * len(self.exchanged)
        return types + [tensor_type(b.dtype, b.extents) for b in self.buffers]

    def values(self, frame: Frame, starting: bool = False) -> list[SSAValue]:
        """The present tensors."""
        found = [
            ssa for name, form in self.forms.items() for ssa in flatten(frame, form, frame.variables[name])
        ]
        if self.exchanged:
            found += places(frame, self.exchanged, starting)
        return found + [b.value for b in self.buffers if b.value is not None]

    def set(self, frame: Frame, tensors: Sequence[SSAValue]) -> None:
        """Give variables and arrays these contents."""
        rest = iter(tensors)
        for name, form in self.forms.items():
            frame.variables[name] = built(frame, form, rest, name)
        arrays = arrays_in(frame.variables) if self.exchanged else {}
        for name in self.exchanged:
            arrays[name].buffer.place = next(rest)
        for buffer in self.buffers:
            ssa = next(rest)
            ssa.name_hint = ssa.name_hint or ir_name(buffer.name) or None
            frame.graph.update(buffer, ssa)


def tensor_for(
    frame: Frame, node: ast.For, iterable: Range, bind: Callable[[Affine], None], execute: Execute
) -> None:
    """A `for` over a range as scf.for; `bind` gives the target its value."""
    graph = frame.graph
    counts_up = iterable.step > 0
    start, stop = (iterable.start, iterable.stop) if counts_up else (Affine(0), trip_count(frame, iterable))
    step = iterable.step if counts_up else 1
    lower, upper, by = graph.index(start), graph.index(stop), graph.index(Affine(step))
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]

    trip = trip_count(frame, iterable)
    if not trip.is_of_extents() and not trip.arguments() and not is_never_negative(trip):
        trip = graph.larger(trip, Affine(0))
    growing = Growing(trip)

    def body(block: Block, carried: _Carried) -> None:
        counter = block.args[0]
        counter.name_hint = ir_name(names[0].lstrip(".")) if names else "i"
        index = Affine.of(Atom(counter, low=start.lower_bound(), high=stop - 1))
        turn = index - start
        if step != 1:
            turn = graph.assumptions.divided(AffineBinaryOpKind.FloorDiv, turn, step)
        growing.enter(frame, turn)
        bind(index if counts_up else iterable.start + index * iterable.step)
        _turn(frame, node, execute)
        growing.leave(frame, node, turn)

    before = dict(frame.variables)
    certain = (trip_count(frame, iterable).lower_bound() or 0) >= 1
    block, carried, starts = _settle(frame, node, [INDEX], body, growing, certain)
    loop = scf.ForOp(lower, upper, by, starts, Region(block))
    graph.insert(loop)
    carried.set(frame, loop.results)
    growing.close(frame, [frame.variables[name] for name in carried.forms])
    _leave_loop(frame, carried, before, certain)


def tensor_while(frame: Frame, node: ast.While, execute: Execute) -> None:
    """A `while` as scf.while."""
    graph = frame.graph
    condition = with_stops(node)
    before: list[Block] = []
    fixed: list[bool] = []

    def body(block: Block, carried: _Carried) -> None:
        check = Block(arg_types=carried.types())
        inner = dict(frame.variables)
        with graph.tensors_inside(check):
            carried.set(frame, check.args)
            for name in carried.forms:
                _take_over(frame.variables[name], inner[name])
            present = dict(frame.variables)
            value = test(frame, condition)
            refuse_changes(frame, node.test, present, "in the condition of a loop")
            # Until all that the body changes is carried, a condition may look as if it did not change.
            fixed[:] = [isinstance(value, Static)]
            if isinstance(value, Static):
                value = Static(bool(value.value))
            holds = as_bool(graph, as_condition(frame, node.test, value))
            frame.at(node)
            graph.insert(scf.ConditionOp(holds, *check.args))
        before[:] = [check]
        # The variables that `_settle` made, and knows: which are older arrays, which are written.
        frame.scope.variables = inner
        for buffer, contents in zip(reversed(carried.buffers), reversed(block.args), strict=False):
            graph.update(buffer, contents)
        _turn(frame, node, execute)

    outside = dict(frame.variables)
    block, carried, starts = _settle(frame, node, [], body)
    if fixed == [True] and not carried.is_scratch:
        frame.fail(node, "this loop never ends", "its condition does not change")
    loop = scf.WhileOp(starts, carried.types(), Region(before[0]), Region(block))
    graph.insert(loop)
    carried.set(frame, loop.results)
    _leave_loop(frame, carried, outside, certain=False)


def _turn(frame: Frame, node: Loop, execute: Execute) -> None:
    """The body of a loop. Where it always raises, the variables are what they were: nobody reads them."""
    inner = dict(frame.variables)
    if stops(frame, node.body, execute):
        frame.scope.variables = inner


def _leave_loop(frame: Frame, carried: _Carried, before: dict[str, Value], certain: bool) -> None:
    """What holds of the variables after a loop, of which it is `certain` or not that it has an iteration."""
    for buffer in carried.written:
        frame.graph.note_write(buffer)
    older = carried.older | _memory_of(_carried_arrays(carried, before))
    for array in _carried_arrays(carried, frame.variables).values():
        array.buffer.sources = older
    if carried.exchanged:
        renewed = write_back(frame, carried.exchanged, before)
        for name, (whose, lenders) in carried.kept.items():
            carried.kept[name] = (whose, tuple([(b, b.age if b in renewed else age) for b, age in lenders]))
    if not certain:
        # The body may not have run: what it gives new values may still be what it was.
        _freeze(frame, _carried_arrays(carried, before), before, carried)
    _freeze_kept(frame, carried)
    _freeze_joined(frame, carried)


def _memory_of(arrays: dict[str, Array]) -> frozenset[Buffer]:
    """The buffers that the arrays are, and those that they may be."""
    roots = [root_of(array).buffer for array in arrays.values()]
    return frozenset(buffer for root in roots for buffer in (root, *root.sources))


def _carried_as_they_are(frame: Frame, carried: _Carried, inner: dict[str, Value]) -> dict[str, Value]:
    """The variables that are one array in every iteration, which iterations write: another variable may be that array."""
    return {
        name: value
        for name, value in frame.variables.items()
        if name not in inner and isinstance(value, Array) and value.buffer in carried.buffers
    }


def _carried_arrays(carried: _Carried, variables: dict[str, Value]) -> dict[str, Array]:
    return arrays_in({name: variables[name] for name in carried.forms if name in variables})


def _borrow(frame: Frame, inner: dict[str, Array], carried: _Carried, before: dict[str, Value]) -> None:
    """Note of the arrays that variables are in a loop that they may be the ones that they were before."""
    outer = arrays_in(before)
    for name, array in inner.items():
        old = outer.get(name)
        if old is not None and _is_seen(frame, old, name, before):
            array.buffer.borrowed = old.buffer.borrowed or old.buffer.name or "another array"
            array.buffer.lenders = _lenders(old.buffer, carried)


def _take_over(value: Value, known: Value) -> None:
    """What is known of a variable in the body of a loop holds of it in the condition."""
    of_known = arrays_in({"": known})
    for name, array in arrays_in({"": value}).items():
        if (other := of_known.get(name)) is not None:
            array.buffer.borrowed, array.buffer.lenders = other.buffer.borrowed, other.buffer.lenders


Lenders = tuple[tuple[Buffer, int], ...]
_NEVER = -1
"""The age of an array that a loop writes: what it was in one iteration is not what it is in the next."""


def _lenders(buffer: Buffer, carried: _Carried | None = None) -> Lenders:
    """The arrays that one which is `buffer` on some paths may be, with the ages that it has the contents of."""
    own = buffer.lenders or ((buffer, buffer.age),)
    if carried is None:
        return own
    return tuple([(lender, _NEVER if _is_carried(lender, carried) else age) for lender, age in own])


def _is_carried(buffer: Buffer, carried: _Carried) -> bool:
    """Whether a loop writes the memory of an array."""
    return any(b in carried.buffers for b in (buffer, *buffer.overlapping))


def _on_some_paths(name: str, whose: str) -> str:
    return f"{shown(name)}, which is '{whose}' on some paths only,"


def _kept(
    frame: Frame, carried: _Carried, inner: dict[str, Value], before: dict[str, Value], since: int
) -> dict[str, tuple[str, Lenders]]:
    """The variables that an iteration may leave being an older array, and which: not those that it made, which nobody
    sees after it but by the variables that it leaves (`joined`)."""
    at_start = {array.buffer for array in arrays_in(inner).values()}
    outer, after = arrays_in(before), arrays_in(frame.variables)
    names = {array.buffer: array.buffer.name or "another array" for array in outer.values()}
    earlier = names_before(arrays_in(inner), after)
    kept: dict[str, tuple[str, Lenders]] = {}
    for name, array in _carried_arrays(carried, frame.variables).items():
        older = [array.buffer] if array.buffer.borrowed or array.buffer in names else []
        for start in earlier.get(name, ()):
            if start in outer and _is_seen(frame, outer[start], start, before):
                older.append(outer[start].buffer)
        if older:
            whose = older[0].borrowed or names.get(older[0], "another array")
            lenders = [
                (lender, age)
                for buffer in older
                for lender, age in _lenders(buffer, carried)
                if lender.serial < since or lender in at_start
            ]
            kept[name] = (whose, tuple(dict.fromkeys(lenders)))
    return kept


def _freeze_kept(frame: Frame, carried: _Carried) -> None:
    """Refuse later writes to what a loop may have left being another array."""
    arrays = _carried_arrays(carried, frame.variables)
    for name, (whose, lenders) in carried.kept.items():
        if name in arrays:
            buffer = arrays[name].buffer
            buffer.frozen = _on_some_paths(name, whose)
            buffer.borrowed = whose
            buffer.may_be(lenders)


def _freeze_joined(frame: Frame, carried: _Carried) -> None:
    """Refuse later writes to arrays that may be one, and are two from now on; the later of them to be written is."""
    arrays = _carried_arrays(carried, frame.variables)
    for pair in carried.joined:
        for name, other in (pair, pair[::-1]):
            if name in arrays and other in arrays:
                buffer, lender = arrays[name].buffer, arrays[other].buffer
                buffer.may_be([(lender, lender.age)])


MOST_ATTEMPTS = 6
"""Maximum number of attempts at a loop in which views of arguments that it leaves are told apart."""


def _settle(
    frame: Frame,
    node: Loop,
    leading: Sequence[Attribute],
    body: Callable[[Block, _Carried], None],
    growing: Growing | None = None,
    certain: bool = False,
) -> tuple[Block, _Carried, list[SSAValue]]:
    """Compile the body of a loop until what it carries does not change any more. `certain`: it has an iteration.

    Returns the block, what is carried, and what it starts from.
    """
    graph, before = frame.graph, dict(frame.variables)
    at_first = len(graph.frozen_buffers)
    names = [name for name in changed_names(frame, node) if name in before]
    first = {name: form_of(frame, name, before[name]) for name in names}
    attempts = 0
    # Which argument a variable is before the first iteration need not be carried where nothing asks for it.
    start, sweep = Start(frame, node, before), sweeps(graph)
    plain = {name: replace(f, aliases=()) if certain else f for name, f in first.items()}
    carried = _Carried(start.forms(plain), start.buffers(), start.exchanged())
    frame.looping += 1
    try:
        while True:
            frame.scope.variables = dict(before)
            if growing is not None:
                growing.make(frame, before)
                frame.scope.variables = dict(before)
            frozen, attempts = len(graph.frozen_buffers), attempts + 1
            known = len(graph.aliases) if attempts > MOST_ATTEMPTS else None
            block, since = Block(arg_types=[*leading, *carried.types()]), next(serials)
            finds, repeats, goes_on = sweep.finds, sweep.repeats, sweep.goes_on()
            try:
                with graph.journal() as written, graph.tensors_inside(block):
                    with sweep.sweep(frame, TENSORS):
                        inner, starts = _enter(
                            frame, node, names, first, block.args[len(leading) :], carried, before
                        )
                        body(block, carried)
                    after = _after(frame, node, carried, before, since, written, growing, known)
                    after = _tagged(frame, carried, after, inner, first)
                    if after is None and sweep.finds == finds:
                        after = _exchanging(frame, node, carried, before, inner, written)
                    again = after is not None or sweep.finds != finds
                    if again and not goes_on:
                        goes_on = growing is not None and bool(growing.wanted)
                        found = _found(carried, after or carried)
                        goes_on |= sweep.is_of_its_own(frame, *found, repeats)
                        sweep.repeats += goes_on
                    if after is not None:
                        start.keep(after.forms, after.buffers, after.exchanged)
                        sweep.found.times += 1
                    if again and not goes_on:
                        sweep.finds += 1
                        carried = replace(after or carried, is_scratch=True)
                    elif not again:
                        appended = [b for b, _ in graph.frozen_buffers[frozen:]]
                        _settled(
                            frame, node, carried, before, inner, starts, since, written, growing, appended
                        )
                    if not again or not goes_on:
                        frame.at(node)
                        graph.insert(scf.YieldOp(*carried.values(frame)))
            except Exception as error:
                if not goes_on or not is_premature(graph, error, finds):
                    raise
                again, after = True, None
            graph.restore(written)
            if not again or not goes_on:
                break
            carried, sweep.finds = after or carried, finds
            graph.unfreeze(frozen)
            graph.give_up(block)
    except BaseException:
        frame.scope.variables = dict(before)
        graph.unfreeze(at_first)
        raise
    finally:
        frame.looping -= 1
    frame.scope.variables = dict(before)
    starts = carried.values(frame, starting=True)
    targets = (
        {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        if isinstance(node, ast.For)
        else set()
    )
    for name in targets - set(names):
        frame.variables.pop(name, None)
        frame.scope.lost[name] = ONLY_INSIDE
    return block, carried, starts


def _found(old: _Carried, new: _Carried) -> tuple[list[str], list[Buffer]]:
    """The variables and arrays of which was found that a loop carries them, or that they have wider types."""
    names = [
        name for name, form in new.forms.items() if name not in old.forms or _differs(old.forms[name], form)
    ]
    return names, [buffer for buffer in new.buffers if buffer not in old.buffers]


def _enter(
    frame: Frame,
    node: Loop,
    names: Sequence[str],
    first: dict[str, Form],
    tensors: Sequence[SSAValue],
    carried: _Carried,
    before: dict[str, Value],
) -> tuple[dict[str, Value], dict[Buffer, SSAValue | None]]:
    """Give variables and arrays what they have in an iteration. Returns the variables, and what their arrays hold."""
    frame.at(node)
    carried.set(frame, tensors)
    inner = {name: frame.variables[name] for name in {**dict.fromkeys(names), **carried.forms}}
    for name in names:
        if isinstance(value := inner[name], Array):
            value.buffer.aliases = value.buffer.aliases or first[name].aliases
    _borrow(frame, arrays_in(inner), carried, before)
    return inner, {a.buffer: a.buffer.value for a in arrays_in(inner).values()}


def _tagged(
    frame: Frame,
    carried: _Carried,
    after: _Carried | None,
    inner: dict[str, Value],
    first: dict[str, Form],
) -> _Carried | None:
    """What has to be carried where something asked which argument a variable is before the first iteration."""
    for name, form in first.items():
        if isinstance(value := inner[name], Array) and value.buffer in frame.graph.untagged:
            after = after or carried
            tagged = {*after.forms[name].aliases, *form.aliases}
            after.forms[name] = replace(after.forms[name], aliases=tuple(sorted(tagged)))
    return after


def _exchanging(
    frame: Frame,
    node: Loop,
    carried: _Carried,
    before: dict[str, Value],
    inner: dict[str, Value],
    written: dict[Buffer, Any],
) -> _Carried | None:
    """What has to be carried where arrays change places, and that was not known yet."""
    found = exchanged(frame, node, before, inner, written)
    if found == carried.exchanged:
        return None
    carried.exchanged = found
    return carried


def _settled(
    frame: Frame,
    node: Loop,
    carried: _Carried,
    before: dict[str, Value],
    inner: dict[str, Value],
    starts: dict[Buffer, SSAValue | None],
    since: int,
    written: dict[Buffer, Any],
    growing: Growing | None,
    appended: list[Buffer],
) -> None:
    """Of a loop whose carried values are found: what variables may be after it, and what it may not write."""
    if growing is not None:
        rows = {r.buffer for r in growing.lists.values()}
        growing.refuse_written(frame, node, inner, [b for b in written if b not in rows], appended)
    carried.joined = joined(inner, frame.variables, list(arrays_in(inner)))
    seen = {**inner, **_carried_as_they_are(frame, carried, inner)}
    # what a function returns ends the loop: no iteration after that one reads it
    others = list(arrays_in({k: v for k, v in seen.items() if k != RESULT}))
    pairs = {*carried.joined, *joined(seen, frame.variables, others)}
    refuse_joined_writes(frame, node, pairs, seen, starts, written)
    carried.written = written_before(before, inner, frame.variables, written)
    left = _memory_of(_carried_arrays(carried, frame.variables))
    carried.older = frozenset(buffer for buffer in left if buffer.serial < since)
    carried.kept = _kept(frame, carried, inner, before, since)


def _after(
    frame: Frame,
    node: Loop,
    carried: _Carried,
    before: dict[str, Value],
    since: int,
    written: dict[Buffer, Any],
    growing: Growing | None,
    known: int | None,
) -> _Carried | None:
    """What has to be carried, after an attempt that made its own buffers `since`; None when it is what was carried.

    `known`: of arguments no views are told apart but so many.
    """
    forms: dict[str, Form] = {}
    changed = False
    for name, old in carried.forms.items():
        value = frame.variables.get(name)
        if value is None:
            frame.fail(node, f"{shown(name)} has a value on some paths only", "give it one on every path")
        if is_ref(name):
            new = widened_form(frame, node, name, old, value, before)
        else:
            own = _are_sole(frame, name, before)
            new = joined_form(frame, node, name, old, form_of(frame, name, value), before, own)
        new = lasting_form(frame, new, known)
        changed |= _differs(old, new)
        forms[name] = new
    for name, value in before.items():
        if is_ref(name) and name not in forms and frame.variables.get(name) is not value:
            if growing is not None and growing.found(frame, name, value, frame.variables[name]):
                changed = True
                continue
            form = content_form(frame, node, name, before, frame.variables)
            forms[name] = lasting_form(frame, form, known)
            changed = True
    buffers = list(carried.buffers)
    for buffer, (value, _) in written.items():
        if buffer not in buffers and value is not None and buffer.serial < since:
            buffers.append(buffer)
            changed = True
    return _Carried(forms, buffers) if changed else None


def _are_sole(frame: Frame, name: str, before: dict[str, Value]) -> bool:
    """Whether the objects that a variable holds, before a loop and after an iteration, are shown by it alone."""
    given = frame.graph.given_objects
    fixed = frame.graph.fixed_objects

    def is_known(ref: str) -> bool:
        return ref in given or ref in fixed

    after = {n: v for n, v in frame.variables.items() if n in before or is_ref(n)}
    return are_sole(before, name, is_known) and are_sole(after, name, is_known)


def _differs(a: Form, b: Form) -> bool:
    if a.ref != b.ref or a.own != b.own or a.joined.given != b.joined.given or a.undefined != b.undefined:
        return True
    if (a.items is None) != (b.items is None) or (a.fixed is None) != (b.fixed is None):
        return True
    if a.items is not None and b.items is not None:
        return any(_differs(x, y) for x, y in zip(a.items, b.items, strict=True))
    if a.aliases != b.aliases or a.order != b.order or a.options != b.options:
        return True
    if a.kind is None or b.kind is None:
        return (a.kind is None) != (b.kind is None)
    return not same_operand(a.kind, b.kind)


# ---- branches ---------------------------------------------------------------------------------------


def tensor_if(frame: Frame, node: ast.If, condition: Value, execute: Execute) -> None:
    """An `if` outside of islands whose condition is known at run time: scf.if."""
    graph, before = frame.graph, dict(frame.variables)
    holds = as_bool(graph, as_condition(frame, node.test, condition))
    blocks, sides, journals, starts = [Block(), Block()], [], [], []
    since = next(serials)
    try:
        for block, body in zip(blocks, (node.body, node.orelse), strict=True):
            frame.scope.variables = dict(before)
            with graph.journal() as written, graph.tensors_inside(block), sweeps(graph).perhaps():
                always = stops(frame, body, execute)
            if always and block is blocks[0]:
                _leave(frame, holds, block, before, written, since)
                return execute(frame, node.orelse)
            if always:
                graph.give_up(blocks[0])
                _leave(frame, opposite(graph, holds), block, before, written, since)
                return execute(frame, node.body)
            journals.append({b: (b.value, b.version) for b in written if not _is_new(b, since)})
            starts.append({b: written[b] for b in journals[-1]})
            # Arrays made in the block keep what was written to them: only this side can see them.
            graph.restore({b: old for b, old in written.items() if not _is_new(b, since)})
            sides.append(frame.scope.variables)
    except BaseException:
        frame.scope.variables = before
        raise
    then, other = sides
    unify(frame, then, other, before)
    forms = _joined_names(frame, node, then, other)
    buffers = list({**journals[0], **journals[1]})
    for block, side, written in zip(blocks, sides, journals, strict=True):
        with graph.tensors_inside(block):
            frame.at(node)
            graph.restore(written)
            frame.scope.variables = side
            tensors = [ssa for name, form in forms.items() for ssa in flatten(frame, form, side[name])]
            tensors += [b.value for b in buffers if b.value is not None]
            graph.insert(scf.YieldOp(*tensors))
            graph.restore({b: start for one in starts for b, start in one.items()})
    types = _Carried(forms, buffers).types()
    frame.scope.variables = {
        name: value for name, value in then.items() if name in other and is_same(value, other[name])
    }
    branch = scf.IfOp(holds, types, Region(blocks[0]), Region(blocks[1]))
    graph.insert(branch)
    _Carried(forms, buffers).set(frame, branch.results)
    for side in sides:
        old = arrays_in({name: side[name] for name in forms})
        _freeze(frame, old, before)
        for name, array in arrays_in({name: frame.variables[name] for name in forms}).items():
            if name in old:
                array.buffer.sources |= _memory_of({name: old[name]})


def _leave(
    frame: Frame,
    holds: SSAValue,
    block: Block,
    before: dict[str, Value],
    written: dict[Buffer, Any],
    since: int,
) -> None:
    """The side of an `if` that always raises, in `block`: the other side and what follows are one path.

    The caller sees what it has written to arrays.
    """
    graph = frame.graph
    starts = {b: old for b, old in written.items() if not _is_new(b, since)}
    carried = _Carried({}, list(starts))
    other = Block()
    with graph.tensors_inside(block):
        graph.insert(scf.YieldOp(*carried.values(frame)))
    graph.restore(written)
    with graph.tensors_inside(other):
        graph.insert(scf.YieldOp(*carried.values(frame)))
    frame.scope.variables = dict(before)
    branch = scf.IfOp(holds, carried.types(), Region(block), Region(other))
    graph.insert(branch)
    carried.set(frame, branch.results)


def _freeze(
    frame: Frame, old: dict[str, Array], before: dict[str, Value], carried: _Carried | None = None
) -> None:
    """Refuse later writes to the arrays of variables that are another one's memory on some path only."""
    new = arrays_in(frame.variables)
    for name, array in old.items():
        if name in new and _is_seen(frame, array, name, before):
            whose = array.buffer.borrowed or array.buffer.name or "another array"
            buffer = new[name].buffer
            buffer.frozen = _on_some_paths(name, whose)
            buffer.borrowed = whose
            buffer.may_be(_lenders(array.buffer, carried))


def _is_seen(frame: Frame, array: Array, name: str, before: dict[str, Value]) -> bool:
    """Whether what is written to the array of a variable may be seen elsewhere."""
    buffer = array.buffer
    return (
        buffer.borrowed is not None or not array.whole or other_owner(frame, name, buffer, before) is not None
    )


def _is_new(buffer: Buffer, since: int) -> bool:
    """Whether a buffer of tensors was made in a block that was entered at `since`: only the block sees it."""
    return buffer.value is None or buffer.serial >= since


def _joined_names(
    frame: Frame, node: ast.If, then: dict[str, Value], other: dict[str, Value]
) -> dict[str, Form]:
    """The variables that the two sides leave different."""
    forms: dict[str, Form] = {}
    for name in {**then, **other}:
        if name not in then or name not in other:
            frame.scope.lost[name] = "it has a value on one side of an `if` only"
        elif isinstance(then[name], Late) or isinstance(other[name], Late):
            if then[name] is not other[name]:
                frame.scope.lost[name] = ONLY_INSIDE
        elif not is_same(then[name], other[name]):
            if is_ref(name):
                forms[name] = content_form(frame, node, name, then, other)
                continue
            sides = [form_on(frame, name, side[name], side) for side in (then, other)]
            forms[name] = joined_form(frame, node, name, *sides, known=then.keys() & other.keys())
    return forms
