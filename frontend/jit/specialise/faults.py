"""Faults of Nestor's own that are found after its passes: invalid IR, and what an emitter or LLVM raises.

Each is an internal error, as one inside a pass is, and says how the program is kept for a report.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ....dialects.diagnostic import NestorError, PassFailure, op_location
from . import progress
from .dump import VARIABLE

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

ADVICE = f"please report it: {VARIABLE}=folder keeps the program at every level, for opt-tool"


def check_dominance(module: ModuleOp, maker: str) -> None:
    """Raise an internal error where the IR that `maker` has made uses a value before its definition.

    xDSL's own verifier does not see it, and LLVM says it without a place.
    """
    from ....dialects.dominance import dominance_errors
    from ....transforms.pass_manager import InternalFailure

    first = next(dominance_errors(module), None)
    if first is not None:
        message = f"internal error: {maker} made invalid IR: {first.message}"
        hint = f"this is a bug in Nestor, {ADVICE}"
        raise InternalFailure(message, first.location, notes=first.notes, hint=hint)


@contextmanager
def stage(name: str, module: ModuleOp) -> Iterator[None]:
    """A stage after the passes: an exception that it does not raise on purpose is an internal error.

    Where the module breaks a rule of its operations, the first is a note.
    """
    progress.at(name)
    try:
        yield
    except (NestorError, MemoryError, OSError):
        raise
    except RecursionError as error:
        raise PassFailure(f"the IR is nested too deeply for {name}", op_location(module)) from error
    except Exception as error:
        from ....dialects.verifier import verification_errors
        from ....transforms.pass_manager import internal_failure

        failure = internal_failure(name, error, module, advice=ADVICE)
        failure.diagnostic.notes += verification_errors(module)[:1]
        raise failure from error
