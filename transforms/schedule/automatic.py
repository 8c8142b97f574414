"""The automatic schedules as schedule IR: what `nest-schedule-cpu` and `nest-schedule-cuda` decide, written down."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...analysis.machine import Cpu, Gpu, cpu, gpu
from ...analysis.nest.loop_structure import functions
from ...dialects.schedule.ops import SequenceOp
from ..schedulers.cpu import schedule_cpu as nest_schedule_cpu
from ..schedulers.cuda import schedule_cuda as nest_schedule_cuda
from .recorder import Recorder


def automatic_schedules(module: ModuleOp, target: str) -> list[SequenceOp]:
    """Schedule the functions of `module` for `target` ("cpu" or "cuda"), one sequence a function with loops."""
    recorders = [record(function, target) for function in functions(module)]
    return [recorder.sequence for recorder in recorders if recorder.sequence.body.block.first_op is not None]


def record(function: FuncOp, target: str, machine: Cpu | Gpu | None = None) -> Recorder:
    """Schedule one function for a machine, and keep the record."""
    recorder = Recorder([function], target)
    if target == "cpu":
        described = machine if isinstance(machine, Cpu) else cpu()
        nest_schedule_cpu.schedule_nests(function, nest_schedule_cpu.Machine(described, recorder))
    else:
        described = machine if isinstance(machine, Gpu) else gpu()
        nest_schedule_cuda.schedule_function(function, steps=recorder, gpu=described)
    return recorder
