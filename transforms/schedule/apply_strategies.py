"""nest-apply-strategies: the user's own strategies, on the nests that they take.

    module attributes {nestor.strategies = ["schedule.sequence @by_four ..."]} {
      func.func @f(...) {
        nest.for "i" %i = 0 to %n { nest.for "j" %j = 0 to %m { ... nest.accumulate "s" add %v, %s[%j] } }

becomes, with

    schedule.sequence @by_four takes "column sums" params {rows = 4} {
      %row = schedule.match loops role "row"
      %column = schedule.match loops role "column"
      %rows, %four = schedule.split %row by @rows tail(clamp)
      schedule.reorder %rows, %column, %four
      schedule.vectorize %column
    }

        nest.for "i.o" %o = 0 to %n ceildiv 4 { nest.for "j" %j = 0 to %m vectorized { nest.for "i.i" ... } }

`file=` names a file of such texts in place of the attribute, which `nt.jit(strategies=...)` sets. For each nest, the first
strategy is used that takes it and of which no step is refused; where a step is, the nest is as it was, and a remark says
which. The automatic schedule, which runs next, does what is left: it leaves alone what a strategy has marked (vectors,
threads), and schedules other loops. Each step is proved by its primitive, as in any schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ...analysis.nest.loop_structure import functions, loops_in
from ...dialects.attributes import STRATEGIES
from ...dialects.diagnostic import NestorError, fail
from ...dialects.nest import ForOp
from ...dialects.parse import parse_module
from ...dialects.remarks import remark
from ...dialects.schedule.ops import SequenceOp
from ..schedulers.cpu.vectors import outermost_loops
from ..schedulers.strategies import APPLIED, Strategy, heard, passed_over
from .apply_schedule import load_sequences, sequences_in
from .nest_kinds import KINDS, Kind
from .payload import State
from .snapshot import Snapshot


def checked_strategies(sequences: Sequence[SequenceOp]) -> list[SequenceOp]:
    """Sequences that say which nests they take. Raises a diagnostic where one does not."""
    for sequence in sequences:
        name = sequence.sym_name.data
        if sequence.takes is None or sequence.takes.data not in KINDS:
            said = "no nests" if sequence.takes is None else f'"{sequence.takes.data}"'
            kinds = ", ".join(f'"{kind}"' for kind in KINDS)
            raise fail(
                sequence,
                f"the strategy @{name} takes {said}",
                hint=f'schedule.sequence @{name} takes "..." {{ ... }}, with one of {kinds}',
            )
    return list(sequences)


@lru_cache(maxsize=64)
def strategies_in(text: str, name: str) -> list[SequenceOp]:
    """The strategies of a text; `name` is what diagnostics call it."""
    return checked_strategies(sequences_in(parse_module(text, name)))


@dataclass(frozen=True, eq=False)
class NestApplyStrategiesPass(ModulePass):
    """Do to nests what the strategies of the module say, or those of `file`, where they take them and no step is refused."""

    name = "nest-apply-strategies"

    file: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        strategies: list[SequenceOp] = []
        if self.file is not None:
            strategies = checked_strategies(load_sequences(self.file))
        elif isinstance(given := op.attributes.pop(STRATEGIES, None), ArrayAttr):
            for text in given.data:
                assert isinstance(text, StringAttr)
                strategies += strategies_in(text.data, "<strategies>")
        for function in functions(op):
            apply_strategies(function, strategies)


def apply_strategies(function: FuncOp, strategies: Sequence[SequenceOp]) -> None:
    """Do to each nest of a function what the first strategy says that takes it. Loops that are marked stay as they are."""
    for label in [nest.label for nest in outermost_loops(function)]:
        for strategy in strategies:
            nest = next((one for one in outermost_loops(function) if one.label == label), None)
            if nest is None or any(loop.kind != "serial" for loop in loops_in(nest)):
                break
            assert strategy.takes is not None
            kind = KINDS[strategy.takes.data]
            row = Strategy(f"@{strategy.sym_name.data}", kind.what, lambda _: True, kind.recognise)
            outcome = _outcome(function, nest, strategy, row, kind)
            heard(label, row, outcome)
            if outcome is APPLIED:
                break


def _outcome(function: FuncOp, nest: ForOp, strategy: SequenceOp, row: Strategy, kind: Kind) -> str:
    """Do a strategy to a nest that it takes; what came of it."""
    roles = row.recognise(nest)
    if roles is None:
        return passed_over(row)
    snapshot, label = Snapshot([function]), nest.label
    state = State([function], strategy.parameters, restores=False)
    state.roles = {role: roles.get(role, []) for role in kind.roles}
    try:
        for op in strategy.body.block.ops:
            state.run(op)
    except NestorError as refusal:
        snapshot.restore()
        said = refusal.diagnostic
        (back,) = (one for one in outermost_loops(function) if one.label == label)
        remark(
            back,
            f'the strategy @{strategy.sym_name.data} is not used for "{label}": {said.message}',
            hint=said.hint,
            notes=[(note.location, note.message) for note in said.notes],
        )
        return passed_over(row, said.message)
    return APPLIED
