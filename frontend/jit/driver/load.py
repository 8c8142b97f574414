"""`nt.load`: a program that `compiled.save` wrote to a file."""

from __future__ import annotations

import os

from ....dialects.tracebacks import boundary
from .lowered import Compiled
from .saved import read


@boundary
def load(path: str | os.PathLike[str]) -> Compiled:
    """The program that `compiled.save` wrote to a file: call it as the compiled function.

    Its machine code runs in this process: load only files that you trust. Raises FileError where the file cannot be read,
    SavedProgramError where it holds no program or is damaged or of another version, UnsupportedError where this processor
    cannot run it.
    """
    owner, program, kernel = read(path)
    return Compiled(owner, program, kernel, kernel.engine)
