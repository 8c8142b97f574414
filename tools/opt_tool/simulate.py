"""`-t cuda-sim-report`: the kernels of a gpu-level module run in the CUDA simulator, checked and then profiled.

Arguments are given or generated as for `--run` (tools/opt_tool/run_arguments.py); extents that nothing tells are 64.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from xdsl.dialects import gpu, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.attributes import DIMS, ROLE
from ...dialects.diagnostic import fail
from ...runtime.cuda_sim.engine import SimEngine
from ...runtime.cuda_sim.faults import Fault, SimulatorFault
from ...runtime.cuda_sim.report import ProfileReport
from ...runtime.errors import NAMES
from .levels import require_gpu_level
from .run_arguments import Arguments, RunRequest, entry_function

_OPTION = "-t cuda-sim-report"
_UNKNOWN_EXTENT = 64


@dataclass(frozen=True)
class Simulated:
    """What was found: faults, and the profile unless a fault stopped the program."""

    faults: tuple[Fault, ...]
    profile: ProfileReport | None

    def to_json(self) -> str:
        """The same for programs."""
        profile = None if self.profile is None else self.profile.as_plain()
        return json.dumps({"faults": list(map(asdict, self.faults)), "profile": profile}, indent=2) + "\n"

    def __str__(self) -> str:
        faults = [f"fault in kernel {fault.kernel}: {fault}\n" for fault in self.faults]
        return "\n".join([*faults, str(self.profile)] if self.profile else faults)


def simulate(module: ModuleOp, request: RunRequest) -> Simulated:
    """Run the entry function in mode `checked`, in each order of threads, and in mode `profile`.

    Raises NestorError where it cannot run.
    """
    require_gpu_level(module, "cuda-sim-report")
    module = module.clone()
    function = entry_function(module, request.entry, _OPTION)
    _describe_arguments(module, function)
    values = Arguments(function, request.inputs, request.extents, _OPTION, _UNKNOWN_EXTENT).values()
    engine = SimEngine(module, function.sym_name.data)
    record, faults = engine.check(*values)
    if record.code:
        raise fail(function, f"{NAMES[record.code]} (value {record.value}, extent {record.extent})")
    try:
        _, profile = engine.profile(*values)
    except SimulatorFault:
        profile = None
    return Simulated(tuple(faults), profile)


def _describe_arguments(module: ModuleOp, function: FuncOp) -> None:
    """Give the host function's arguments the names of dimensions, and the role `out`, that its kernels know."""
    kernels = {k.sym_name.data: k for k in module.walk() if isinstance(k, gpu.FuncOp)}
    uses = [
        (argument, kernels[launch.kernel.string_value().rpartition(".")[2]], k)
        for launch in function.walk()
        if isinstance(launch, gpu.LaunchFuncOp)
        for k, argument in enumerate(launch.kernelOperands)
    ]
    known = function.arg_attrs.data if function.arg_attrs is not None else ()
    attributes = [dict(a.data) for a in known] or [{} for _ in function.args]
    for argument, found in zip(function.args, attributes, strict=True):
        if not isinstance(argument.type, MemRefType):
            continue
        parameters = [(kernel, k) for value, kernel, k in uses if value is argument]
        for kernel, k in parameters:
            dims = _attribute(kernel, k, DIMS)
            if isinstance(dims, ArrayAttr):
                found.setdefault(DIMS, dims)
        if parameters and all(_only_written(kernel.body.block.args[k]) for kernel, k in parameters):
            found.setdefault(ROLE, StringAttr("out"))
    function.arg_attrs = ArrayAttr([DictionaryAttr(found) for found in attributes])


def _attribute(kernel: Operation, position: int, name: str) -> Attribute | None:
    attributes = kernel.attributes.get("arg_attrs")
    return attributes.data[position].data.get(name) if isinstance(attributes, ArrayAttr) else None


def _only_written(buffer: SSAValue) -> bool:
    return all(isinstance(use.operation, (memref.StoreOp, memref.DimOp)) for use in buffer.uses)
