"""The backend "nestor" of `torch.compile`, which finds it by the entry point `torch_dynamo_backends`.

    fast = torch.compile(model, backend="nestor")
    fast = torch.compile(model, backend="nestor", options={"strict": True})

PyTorch captures the function, makes mutation into results, differentiates it (AOTAutograd), and takes apart the operations
that the table of operations does not have. Forward and backward graphs are compiled each.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext

from ..interface.errors import DTypeError, UnsupportedError
from .calls import CompiledGraph
from .decompositions import decompositions
from .function import GraphFunction
from .importing import Import, Program, Remark

OPTIONS = ("strict", "freeze", "fastmath", "machine", "autocast")
"""What `options=` of `torch.compile` may say: `strict` refuses what PyTorch would run; `freeze` computes what depends on
parameters alone once for each version of them, in inference; the others are those of `nt.jit`."""

_SAID: set[tuple[str, str]] = set()
"""What users have been told: once in a process."""


def nestor(
    module: fx.GraphModule, example_inputs: Sequence[Any], options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Compile a captured graph. Called by PyTorch. Raises DTypeError for options that there are not."""
    given = dict(options or {})
    for name in given:
        if name not in OPTIONS:
            raise DTypeError(
                f"the backend 'nestor' has no option '{name}'", hint=f"its options: {', '.join(OPTIONS)}"
            )
    compile = compiler(given)
    backend = aot_autograd(
        fw_compiler=partial(compile, "forward"),
        bw_compiler=partial(compile, "backward"),
        inference_compiler=partial(compile, "inference"),
        decompositions=decompositions(),
        partition_fn=min_cut_rematerialization_partition,
    )
    return backend(module, example_inputs)


def compiler(options: Mapping[str, Any]) -> Callable[..., Any]:
    """What compiles one graph: called with its name ("forward"), the graph, and examples of its inputs."""
    return partial(_compile, options)


def _compile(
    options: Mapping[str, Any], name: str, module: fx.GraphModule, example_inputs: Sequence[Any]
) -> Callable[..., Any]:
    """One graph: what runs in its place."""
    imported = Import(module, name)
    _tell(imported.remarks, bool(options.get("strict")))
    own = {key: value for key, value in options.items() if key not in ("strict", "freeze")}
    frozen = _parameters(imported) if options.get("freeze") and name == "inference" else set()

    def function(program: Program) -> GraphFunction:
        pairs = zip(program.graph.names, program.inputs, strict=True)
        constants = tuple([name for name, node in pairs if node in frozen])
        return GraphFunction(program.graph, dynamic=program.dynamic or False, constants=constants, **own)

    return CompiledGraph(imported, function, frozen).boxed()


def _parameters(imported: Import) -> set[fx.Node]:
    """The inputs that are parameters and buffers of modules: tensors that are the same in all calls."""
    context = TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    places = [] if metadata is None else metadata.static_input_indices
    return {imported.placeholders[k] for k in places if k < len(imported.placeholders)}


def _tell(remarks: Sequence[Remark], strict: bool) -> None:
    """Say what PyTorch runs, once for each reason. Raises UnsupportedError where that is refused."""
    for one in remarks:
        if strict:
            raise UnsupportedError(
                f"{one.operation} is not compiled: {one.reason}",
                one.place,
                hint="without options={'strict': True} PyTorch runs it between two programs",
            )
        key = one.operation, one.reason
        if key not in _SAID:
            _SAID.add(key)
            warnings.warn(str(one), RuntimeWarning, stacklevel=2)
