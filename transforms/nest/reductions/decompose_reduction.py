"""nest-decompose-reduction: the first values of a reduction are set in a nest of their own, before it.

    nest.for "i" %i = 0 to %n {
      nest.store "s" %zero, %s[%i]
      nest.for "k" %k = 0 to %m {
        %v = nest.load %x[%i, %k]
        nest.accumulate "s" add %v, %s[%i]
      }
    }

becomes

    nest.for "i.init" %i = 0 to %n {
      nest.store "s" %zero, %s[%i]
    }
    nest.for "i" %i = 0 to %n {
      nest.for "k" %k = 0 to %m {
        %v = nest.load %x[%i, %k]
        nest.accumulate "s" add %v, %s[%i]
      }
    }

after which "i" and "k" can be reordered, or tiled together. The stores that open the body (of `loop`, or of the innermost
of loops that are each all of the body of the one before) and whose buffers are accumulated into after them go to the
first nest, several of them where a reduction has several results. Refused as distributing the loops is: where a
dependence would be turned around, something can fail, a loop is marked, or each iteration has a buffer of its own.
`decompose_reduction` in TVM; Halide's `init` and `update` are apart from the start; `fission` in Exo.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....analysis.nest.loop_structure import enclosing_function, loops_in
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AccumulateOp, ForOp, StoreOp
from ....dialects.nest.common import name_hint_of
from ..loops.distribute import distribute, pieces_of
from ..rewrite.loops import fresh_names


def why_not_decompose_reduction(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to decompose, None when it is legal."""
    what = f'cannot decompose the reduction in the loop "{loop.label}"'
    levels = _levels(loop)
    if not _initialisers(levels[-1]):
        hint = "the stores that set what is accumulated must come first"
        return fail(loop, f'{what}: the body of "{levels[-1].label}" does not start by setting it', hint=hint)
    function = enclosing_function(loop)
    copy = function.clone()
    try:
        _separate(_levels(loops_in(copy)[loops_in(function).index(loop)]))
    except NestorError as error:
        found = error.diagnostic
        about, _, reason = found.message.partition(": ")
        inner = about.rpartition(" the loop ")[2]
        place = "" if inner == f'"{loop.label}"' else f"the loop {inner} cannot be distributed: "
        refusal = fail(loop, f"{what}: {place}{reason}", hint=found.hint)
        refusal.diagnostic.notes.extend(found.notes)
        return refusal
    finally:
        copy.erase()
    return None


def _levels(loop: ForOp) -> list[ForOp]:
    """`loop`, and the loops inside that are each all that the one before does."""
    levels = [loop]
    while len(pieces := pieces_of(levels[-1])) == 1 and isinstance(pieces[0], ForOp):
        levels.append(pieces[0])
    return levels


def _initialisers(loop: ForOp) -> list[StoreOp]:
    """The stores that open the body of `loop`, to buffers that are accumulated into after them."""
    updated: set[SSAValue] = set()
    for op in loop.body.walk():
        if isinstance(op, AccumulateOp):
            updated.update(op.memrefs)
    found: list[StoreOp] = []
    for piece in pieces_of(loop):
        if not isinstance(piece, StoreOp) or piece.memref not in updated:
            break
        found.append(piece)
    return found


def decompose_reduction(loop: ForOp) -> tuple[ForOp, ForOp]:
    """Set what `loop` accumulates in a nest of its own before it: that nest, and what is left of `loop`, in its name.

    Raises the diagnostic of `why_not_decompose_reduction`.
    """
    if (refusal := why_not_decompose_reduction(loop)) is not None:
        raise refusal
    return _separate(_levels(loop))


def _separate(levels: list[ForOp]) -> tuple[ForOp, ForOp]:
    pairs: list[tuple[ForOp, ForOp]] = []
    cut = len(_initialisers(levels[-1]))
    for level in reversed(levels):
        first, second = distribute(level, cut)
        pairs.append((first, second))
        cut = 1
    for first, second in reversed(pairs):
        name = first.label
        first.set_label(fresh_names(first, f"{name}.init")[0])
        first.iv.name_hint = name_hint_of(first.label)
        second.set_label(name)
    return pairs[-1]
