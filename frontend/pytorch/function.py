"""A graph of ATen operations as a jitted function: its programs, on the disk as well, its levels, its schedule."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ..interface.forwarders import forwarder
from ..jit.disk.fingerprints import digest
from ..jit.driver.jit_function import JitFunction
from ..jit.driver.trace import TracedFunction
from .graph import Graph
from .graph_call import graph_call


class GraphFunction(TracedFunction):
    """What is compiled of a graph. Its calls take and give arrays of NumPy."""

    _on_disk = True

    def __init__(self, graph: Graph, **options: Any):
        self.graph = graph
        JitFunction.__init__(self, _caller(graph), **options)
        self.traced = graph

    def _present_parts(self) -> list[Any]:
        return []

    def _take_signature(self) -> None:
        JitFunction._take_signature(self)

    def again(self, **others: Any) -> JitFunction:
        return GraphFunction(self.graph, **{**self.options(), **others})

    def _made_for(self, *args: Any) -> Any:
        from . import lowering  # noqa: F401 (it enters what compiles the call)

        return super()._made_for(*args)

    def _lower(self, *args: Any) -> Any:
        from . import lowering  # noqa: F401

        return super()._lower(*args)

    def __repr__(self) -> str:
        return f"<nestor program of {self.graph.__name__}: {len(self.graph.steps)} operations of PyTorch>"


def _caller(graph: Graph) -> FunctionType:
    """A function with the graph's inputs as parameters. Its name tells it from those of other graphs, on the disk too."""
    space: dict[str, Any] = {"_graph_call": graph_call, "_graph": graph}
    name = f"{graph.__name__}_{digest(graph.fingerprint_text())[:8]}"
    return forwarder(graph, name, "_graph_call(_graph, {})", space, "torch")
