"""What must hold where machine code is to run that was made elsewhere: the version of Nestor, and what the processor has."""

from __future__ import annotations

import json
from typing import Any

from .... import __version__
from ....lowering.abi.error_codes import RECORD_WORDS
from ....runtime.cpu.instruction_sets import kind_of_processor, lacking, needed, uses_tiles
from ....runtime.cpu.processor import may_use_tiles
from ...interface.errors import SavedProgramError, UnsupportedError


def conditions_of(engine: Any) -> bytes:
    """What must hold where the code is to run."""
    machine, tiles = engine._machine, uses_tiles(engine.llvm_ir)
    facts = {
        "nestor": __version__,
        "words": RECORD_WORDS,
        "processor": machine.triple.partition("-")[0] if machine is not None else kind_of_processor(),
        "needs": needed(machine, tiles=tiles),
        "tiles": tiles,
    }
    return json.dumps(facts).encode()


def check_conditions(name: str, header: bytes) -> None:
    """Raise where the program cannot run here."""
    facts = json.loads(header)
    if facts["nestor"] != __version__ or facts["words"] != RECORD_WORDS:
        raise SavedProgramError(
            f"'{name}' was saved by Nestor {facts['nestor']}, this is {__version__}",
            hint="save the program with this version",
        )
    lower = 'save it where it is to run, or compile for both: nt.jit(f, machine="x86-64-v3")'
    if facts["processor"] != kind_of_processor():
        raise UnsupportedError(
            f"'{name}' is machine code for {facts['processor']}, and this processor is {kind_of_processor()}",
            hint="save the program where it is to run",
        )
    missing = lacking(facts["needs"])
    if missing:
        raise UnsupportedError(
            f"'{name}' was compiled for a processor that has {', '.join(missing)}, and this one has not",
            hint=lower,
        )
    if facts["tiles"] and not may_use_tiles():
        raise UnsupportedError(f"'{name}' uses the matrix unit (AMX), which this process may not", hint=lower)
