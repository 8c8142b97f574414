"""nest-rename: give a loop another name.

    nest.for "i.i.init" %l = 0 to 16 { ... }

becomes with to=lanes

    nest.for "lanes" %l = 0 to 16 { ... }

Names are what schedules and messages speak of, so two loops of a function cannot share one. `rename` in Halide; a
loop's name is the user's in TVM and Exo; NNC has none.
"""

from __future__ import annotations

from ....analysis.nest.loop_structure import enclosing_function, loops_in
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import ForOp
from ....dialects.nest.common import name_hint_of
from ..rewrite.loops import fresh_names
from ..rewrite.steps import Steps


def why_not_rename(loop: ForOp, to: str) -> NestorError | None:
    """The diagnostic that refuses the name, None when no other loop of the function has it."""
    if not to:
        return fail(loop, f'cannot rename the loop "{loop.label}": a loop needs a name')
    for other in loops_in(enclosing_function(loop)):
        if other is not loop and other.label == to:
            return fail(
                loop,
                f'cannot rename the loop "{loop.label}" to "{to}": another loop is called that',
                notes=[(other, "that loop is here")],
            )
    return None


def rename(loop: ForOp, to: str) -> ForOp:
    """Call `loop` `to`. Raises the diagnostic of `why_not_rename`."""
    if (refusal := why_not_rename(loop, to)) is not None:
        raise refusal
    loop.set_label(to)
    loop.iv.name_hint = name_hint_of(to)
    return loop


def rename_freely(steps: Steps, loop: ForOp, name: str) -> None:
    """Call a loop `name`, or with `.1`, `.2` ... where another loop has that name."""
    steps.do(rename, loop, to=fresh_names(loop, name)[0])
