"""The kernels of tests/filecheck/lowering/cuda_c, parsed, for the unit tests of the CUDA back end."""

from __future__ import annotations

from pathlib import Path

from nestor.dialects.registry import make_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

DIRECTORY = Path(__file__).parents[1] / "filecheck" / "lowering" / "cuda_c"
KERNELS = sorted(p.stem for p in DIRECTORY.glob("*.mlir") if not p.stem.endswith("-invalid"))


def parse(text: str) -> ModuleOp:
    """A module of the gpu level from its text."""
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def load(name: str) -> ModuleOp:
    """The kernel of that name."""
    return parse((DIRECTORY / f"{name}.mlir").read_text())
