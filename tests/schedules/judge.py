"""Whether a refusal was needed, by brute force: the request is carried out without its checks, and runs compared.

    judge(schedule.module, request, program)    # ACCEPTED, NEEDED, HARMLESS or UNJUDGED

Marks are judged in adversarial orders, and threads by the elements that two of them touch. In these orders
reductions are made to depend on their order (3 * old + new in place of old + new): threads, and lanes that update
one element, may not do what commutes at one time either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from nestor.analysis.nest.loop_structure import find_loop
from nestor.analysis.nest.sets.accesses import is_defined_outside
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AccumulateOp, ForOp, IfOp, LoadOp, StoreOp
from nestor.dialects.verifier import VerificationFailure, verify
from nestor.runtime.interp.run import TrapError
from primitive_loops import program_loops
from primitive_requests import NothingToDo, Request
from primitives import PRIMITIVES, apply, unchecked
from program_drafts import MOST, Program
from sequences import Runner, Stop, defined_elements, difference
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

ACCEPTED = "accepted"
NEEDED = "needed"
"""Refused, and wrong when it is done all the same."""
HARMLESS = "harmless"
"""Refused, and no difference was found when it is done all the same."""
UNJUDGED = "not judged"
"""Refused, and there is nothing to compare: it cannot be done, or a mark stands for a decision that is made."""

SEEDS = range(10)
ORDERS = (1, 2, 3, 4)

LONGEST = 12
"""Extents with which a refusal that seems to be harmless is tried again."""

FIXED = ("affine", "relative", "attention")
"""Families whose programs leave their buffers when extents are larger than `MOST`."""

MOST_THREADS = 128
"""Iterations that no loop has more of."""

NOTHING_RAN = "sums were not exact on any arguments"

HIDING = (arith.MaximumfOp, arith.MinimumfOp, arith.MaxSIOp, arith.MinSIOp)
"""Operations that give the same for most of their operands."""

FROM_IDENTITIES = ("rfactor", "cache_write", "stage_mem")
"""Primitives that start reductions from the identity: what they reduce by has to stay what it is."""


@dataclass(frozen=True)
class Verdict:
    """What was judged, with the refusal's message or how an accepted request went wrong."""

    kind: str
    message: str = ""
    is_wrong: bool = False


def judge(module: ModuleOp, request: Request, program: Program, seeds: Sequence[int] = SEEDS) -> Verdict:
    """Judge one request on the present program; `module` stays as it is."""
    done = module.clone()
    try:
        apply(done, request)
    except NothingToDo:
        return _judge_refusal(module, request, program, seeds, "there is nothing to do")
    except NestorError as refusal:
        return _judge_refusal(module, request, program, seeds, refusal.diagnostic.message)
    try:
        verify(done)
    except VerificationFailure as failure:
        return Verdict(ACCEPTED, str(failure), is_wrong=True)
    found = _difference(module, done, request, program, seeds)
    return Verdict(ACCEPTED, found or "", found not in (None, NOTHING_RAN))


def _judge_refusal(
    module: ModuleOp, request: Request, program: Program, seeds: Sequence[int], message: str
) -> Verdict:
    if any(loop.kind != "serial" for loop in program_loops(module) if loop.label in request.loops):
        return Verdict(UNJUDGED, message)
    forced = module.clone()
    try:
        with unchecked(request.primitive):
            apply(forced, request)
        verify(forced)
    except Exception:  # whatever a primitive does where its precondition does not hold
        return Verdict(UNJUDGED, message)
    if request.primitive == "vectorize" and not _runs_in_lockstep(forced):
        return Verdict(UNJUDGED, message)
    found = _difference(module, forced, request, program, seeds)
    if found is None:
        changed = _without_hiding(module, forced, request)
        more = [seed + k * len(seeds) for k in (0, 1, 2) for seed in seeds]
        for longest in (MOST,) if program.family in FIXED else (MOST, LONGEST):
            again = _difference(*changed, request, program, more, longest)
            if again not in (None, NOTHING_RAN):
                found = again
                break
    if found is None and request.primitive in ("parallel", "bind"):
        found = _race(module, request, program, seeds)
    return Verdict({None: HARMLESS, NOTHING_RAN: UNJUDGED}.get(found, NEEDED), message)


def _runs_in_lockstep(module: ModuleOp) -> bool:
    """Whether the interpreter runs the vectors statement by statement: not when there are loops inside."""
    return not any(
        isinstance(inner, (ForOp, IfOp))
        for loop in module.walk()
        if isinstance(loop, ForOp) and loop.kind == "vectorized"
        for inner in loop.body.walk()
    )


def _difference(
    before: ModuleOp,
    after: ModuleOp,
    request: Request,
    program: Program,
    seeds: Sequence[int],
    longest: int = MOST,
) -> str | None:
    """How `after` differs from `before` on some arguments, in some order; `NOTHING_RAN` where nothing is compared."""
    is_mark = PRIMITIVES[request.primitive].is_mark
    if is_mark:
        before, after = before.clone(), after.clone()
        loop = find_loop(before, request.loops[0], "f")
        for module in (before, after):
            _fix_order(module, loop, shared_too=request.primitive != "vectorize")
    reference = Runner(before)
    is_marked = is_mark or any(isinstance(op, ForOp) and op.kind != "serial" for op in after.walk())
    # the adversarial mode also stops at reads of what was never written
    runners = [(Runner(after), (0,)), (Runner(after, "shuffled"), ORDERS if is_marked else ORDERS[:1])]
    compared = False
    for seed in seeds:
        old = reference.run(program.arguments(seed, longest))
        if not isinstance(old, Stop) and not (program.is_exact(old) or (is_mark and _are_numbers(old))):
            continue
        compared = True
        defined = (
            []
            if isinstance(old, Stop)
            else defined_elements(reference, program.arguments(seed, longest), program, old)
        )
        for runner, orders in runners:
            for order in orders:
                try:
                    after = runner.run(program.arguments(seed, longest), order)
                    found = difference(old, after, defined, program.tolerance)
                except (TrapError, ValueError, MemoryError) as error:
                    found = str(error)
                if found is not None:
                    return f"arguments {seed}, order {order}: {found}"
    return None if compared else NOTHING_RAN


def _race(module: ModuleOp, request: Request, program: Program, seeds: Sequence[int]) -> str | None:
    """Where two threads, each running one iteration, touch an element that one of them writes."""
    threads = module.clone()
    loop = find_loop(threads, request.loops[0], "f")
    loop.set_kind("thread.x")
    if len(loop.lower) == 1:
        loop.set_bounds(loop.lower, loop.upper.concat(loop.lower.add(MOST_THREADS * loop.step_value)))
    runner = Runner(threads, "threads")
    for seed in seeds:
        try:
            runner.run(program.arguments(seed))
        except TrapError as error:
            return f"arguments {seed}: {error}"
    return None


def _are_numbers(arrays: Sequence[np.ndarray]) -> bool:
    return not any(np.isnan(array).any() for array in arrays)


def _without_hiding(before: ModuleOp, after: ModuleOp, request: Request) -> list[ModuleOp]:
    """Both programs with operations in place of those that hide which values they are given, and in which order.

    A maximum becomes a difference, a reduction of maxima a sum, and a reduction whose order the program fixes one
    whose result depends on it.
    """
    changed = [before.clone(), after.clone()]
    may_add = request.primitive not in FROM_IDENTITIES
    for module in changed:
        for op in list(module.walk()):
            if isinstance(op, HIDING) and not isinstance(op.results[0].type, IndexType):
                _replace(op, [(arith.SubiOp if op.name.endswith("i") else arith.SubfOp)(*op.operands)])
            elif isinstance(op, AccumulateOp) and op.order_name != "any":
                _replace_ordered(op)
            elif isinstance(op, AccumulateOp) and op.combiner.data.startswith(("max", "min")) and may_add:
                op.properties["combiner"] = StringAttr("add")
    return changed


def _fix_order(module: ModuleOp, loop: ForOp, shared_too: bool) -> None:
    """Make accumulates depend on their order; those into one element of all lanes only where `shared_too`."""
    for op in [op for op in module.walk() if isinstance(op, AccumulateOp)]:
        if shared_too or not _is_shared(op):
            _replace_ordered(op)


def _replace_ordered(op: AccumulateOp) -> None:
    """3 * old + new in place of a reduction into one buffer."""
    if len(op.memrefs) != 1 or op.combine is not None:
        return
    element = op.values[0].type
    is_float = isinstance(element, AnyFloat)
    three = FloatAttr(3.0, element) if is_float else IntegerAttr(3, element)  # pyright: ignore
    old = LoadOp(op.memrefs[0], op.indices)
    factor = arith.ConstantOp(three)
    scaled = (arith.MulfOp if is_float else arith.MuliOp)(old.result, factor.result)
    total = (arith.AddfOp if is_float else arith.AddiOp)(scaled.result, op.values[0])
    store = StoreOp(total.result, op.memrefs[0], op.indices, where=op.where, mask=op.mask)
    _replace(op, [factor, old, scaled, total, store])


def _replace(op: Operation, by: list[Operation]) -> None:
    """Put operations in the place of one; the last has its result."""
    block = op.parent
    assert block is not None
    for new in by:
        new.location = op.location
        block.insert_op_before(new, op)
    for old, new in zip(op.results, by[-1].results, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def _is_shared(op: AccumulateOp) -> bool:
    """Whether all iterations of the innermost loop around update one element."""
    loop = op.parent_op()
    return isinstance(loop, ForOp) and all(is_defined_outside(v, loop) for v in op.indices.operands)
