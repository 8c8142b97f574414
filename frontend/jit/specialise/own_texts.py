"""What a CUDA compiler says of a text of the user's (`nt.custom_op` with `cuda=`), as an error at the line of the call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ....dialects.diagnostic import SourceLocation
from ...interface.errors import UnsupportedError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_HINT = {
    "the CUDA simulator": "it knows the part of CUDA C that docs/custom-ops.md lists; a GPU (target='cuda') takes all",
    "NVRTC": "docs/custom-ops.md says what a text may hold",
    "nvcc": "docs/custom-ops.md says what a text may hold",
}


@contextmanager
def own_texts(lowered: ModuleOp) -> Iterator[None]:
    """Compile kernels of a module of the gpu level. Raises UnsupportedError where the text that is refused is the user's."""
    from ....runtime.errors import CompileError

    try:
        yield
    except CompileError as error:
        raise _refused(lowered, error) or error from None


def _refused(lowered: ModuleOp, error: Exception) -> UnsupportedError | None:
    from ....lowering.cuda_c.emit import print_cuda
    from ....lowering.cuda_c.own_kernels import shown
    from ....runtime.errors import CompileError

    assert isinstance(error, CompileError)
    for own in print_cuda(lowered).own:
        line = error.line - own.first + 1
        if 1 <= line <= own.source.count("\n") + 1:
            compiler = error.what.partition(" cannot")[0]
            where = SourceLocation(*own.call, 0) if own.call else None
            what = f"the CUDA text of {own.name} cannot be used: {compiler} says: {error.reason}"
            return UnsupportedError(
                f"{what}\n{shown(own.source, line, error.column)}", where, hint=_HINT.get(compiler)
            )
    return None
