"""A pass that does nothing."""

from dataclasses import dataclass

from xdsl.passes import ModulePass


@dataclass(frozen=True)
class NothingPass(ModulePass):
    """Change nothing."""

    name = "test-nothing"

    def apply(self, ctx, op):
        pass
