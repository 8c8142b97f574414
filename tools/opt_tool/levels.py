"""The level that a module must be at for what is asked of it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...dialects.diagnostic import fail
from ...dialects.dominance import walk


def require_llvm_level(module: ModuleOp, target: str) -> None:
    for op in walk(module):
        dialect = op.name.partition(".")[0]
        if isinstance(op, ModuleOp) or dialect == "llvm":
            continue
        raise fail(
            op,
            f"target '{target}' needs a module of the llvm dialect, this is '{op.name}'",
            hint=f"lower it first: -p cpu from the nt level, -p cpu-to-llvm from scf, then -t {target}",
        )


def require_gpu_level(module: ModuleOp, target: str) -> None:
    """Raise NestorError unless the module has kernels."""
    if any(op.name == "gpu.module" for op in walk(module)):
        return
    raise fail(
        module,
        f"target '{target}' needs a gpu.module, and there is none",
        hint=f"lower it first: -p cuda from the nt level, then -t {target}",
    )
