"""Every pass by its name on the command line, loaded on first use.

Passes of schedule primitives are made from the rows of `dialects/schedule/table.py`; each other pass has a line here.
`opt-tool`, the Python API, and the `xdsl.universe` entry point read this table. xDSL's own passes that
the pipelines use (`canonicalize`, `cse`, `dce`) are found through `xdsl.transforms`; what `canonicalize` does to `nt` is
said here too, so that whoever finds a pass by its name has the rules.
"""

from __future__ import annotations

from importlib import import_module

from ..dialects.canonicalization import register_patterns
from ..dialects.schedule.table import PRIMITIVES, Primitive

_PRIMITIVES: dict[str, Primitive] = {row.pass_name: row for row in PRIMITIVES.values()}

PASSES: dict[str, str] = {
    # nt -> nt
    "nt-differentiate": "transforms.autodiff.nt_differentiate:NtDifferentiatePass",
    "nt-batch": "transforms.batching.nt_batch:NtBatchPass",
    "nt-autocast": "transforms.tensor.nt_autocast:NtAutocastPass",
    "nt-observe": "transforms.tensor.nt_observe:NtObservePass",
    "nt-quantise": "transforms.tensor.nt_quantise:NtQuantisePass",
    "nt-fuse-quantised": "transforms.tensor.nt_fuse_quantised:NtFuseQuantisedPass",
    "nt-if-to-select": "transforms.tensor.nt_if_to_select:NtIfToSelectPass",
    "nt-drop-carried": "transforms.tensor.nt_drop_carried:NtDropCarriedPass",
    "nt-hoist": "transforms.tensor.nt_hoist:NtHoistPass",
    "nt-batch-dots": "transforms.tensor.nt_batch_dots:NtBatchDotsPass",
    "nt-propagate-layouts": "transforms.tensor.nt_propagate_layouts:NtPropagateLayoutsPass",
    "nt-unroll": "transforms.tensor.nt_unroll:NtUnrollPass",
    "nt-double-buffer": "transforms.tensor.nt_double_buffer:NtDoubleBufferPass",
    "nt-unroll-swaps": "transforms.tensor.nt_unroll_swaps:NtUnrollSwapsPass",
    "nt-drop-native": "transforms.tensor.nt_drop_native:NtDropNativePass",
    "nt-decompose": "transforms.tensor.nt_decompose:NtDecomposePass",
    "nt-split-reductions": "transforms.tensor.nt_split_reductions:NtSplitReductionsPass",
    "nt-fuse": "transforms.tensor.nt_fuse:NtFusePass",
    "nt-recompute": "transforms.tensor.nt_recompute:NtRecomputePass",
    "nt-drop-barriers": "transforms.tensor.nt_drop_barriers:NtDropBarriersPass",
    # nt -> nest
    "convert-nt-to-nest": "lowering.nt_to_nest.convert:ConvertNtToNestPass",
    # nest -> nest
    "nest-outline-repeated": "transforms.nest.cleanup.outline_repeated:NestOutlineRepeatedPass",
    "nest-expand-complex": "lowering.complex.expand_complex:NestExpandComplexPass",
    "nest-prove-bounds": "transforms.nest.cleanup.prove_bounds:NestProveBoundsPass",
    **{name: row.function for name, row in _PRIMITIVES.items()},
    "nest-share-scratch": "transforms.nest.memory.share_scratch:NestShareScratchPass",
    "nest-freeze": "transforms.nest.cleanup.freeze:NestFreezePass",
    "nest-fold-combiners": "transforms.nest.cleanup.fold_combiners:NestFoldCombinersPass",
    "nest-if-to-select": "transforms.nest.cleanup.if_to_select:NestIfToSelectPass",
    "nest-raise-updates": "transforms.nest.cleanup.raise_updates:NestRaiseUpdatesPass",
    "nest-sink-checks": "transforms.nest.cleanup.sink_checks:NestSinkChecksPass",
    "nest-forward-scalars": "transforms.nest.cleanup.forward_scalars:NestForwardScalarsPass",
    "nest-schedule-own": "transforms.schedule.own_schedules:NestScheduleOwnPass",
    "nest-apply-strategies": "transforms.schedule.apply_strategies:NestApplyStrategiesPass",
    "nest-schedule-cpu": "transforms.schedulers.cpu.schedule_cpu:NestScheduleCpuPass",
    "nest-schedule-cuda": "transforms.schedulers.cuda.schedule_cuda:NestScheduleCudaPass",
    "apply-schedule": "transforms.schedule.apply_schedule:ApplySchedulePass",
    "nest-print-dependences": "transforms.nest.cleanup.print_dependences:NestPrintDependencesPass",
    "nest-separate-reductions": "transforms.nest.reductions.separate:NestSeparateReductionsPass",
    "nest-loop-borders": "transforms.nest.loops.loop_borders:NestLoopBordersPass",
    "nest-unroll-steps": "transforms.nest.loops.unroll_steps:NestUnrollStepsPass",
    "nest-split-steps": "transforms.nest.loops.split_steps:NestSplitStepsPass",
    "nest-split-buffers": "transforms.nest.memory.split_buffers:NestSplitBuffersPass",
    "nest-inline-once": "transforms.nest.producers.inline_once:NestInlineOncePass",
    "nest-restrict": "transforms.nest.producers.restrict:NestRestrictPass",
    "nest-restrict-relative": "transforms.nest.producers.restrict_relative:NestRestrictRelativePass",
    "nest-print-chunking": "transforms.nest.cleanup.print_chunking:NestPrintChunkingPass",
    # nest -> upstream dialects
    "convert-nest-to-scf": "lowering.nest_to_scf.convert:ConvertNestToScfPass",
    "convert-nest-to-gpu": "lowering.nest_to_gpu.convert:ConvertNestToGpuPass",
    "gpu-inline-parts": "lowering.nest_to_gpu.inline_parts:GpuInlinePartsPass",
    "gpu-plan-memory": "lowering.nest_to_gpu.plan_memory:GpuPlanMemoryPass",
    # upstream -> llvm
    "cut-long-loops": "lowering.to_llvm.cut_long_loops:CutLongLoopsPass",
    "expand-division": "lowering.to_llvm.expand_division:ExpandDivisionPass",
    "expand-math": "lowering.math.expand_math:ExpandMathPass",
    "convert-to-llvm": "lowering.to_llvm.convert:ConvertToLlvmPass",
}
"""The module of each pass, and its class there (of a primitive: its function)."""

IDLE_WITHOUT: dict[str, tuple[str, ...]] = {
    "nt-differentiate": ("nt.vjp", "nt.jvp", "nt.stop_gradient", "nt.checkpoint"),
    "nt-batch": ("nt.batch",),
    "nt-autocast": ("nt.dot",),
    "nt-quantise": ("nt.dot",),
    "nt-fuse-quantised": ("nt.composite",),
    "nt-decompose": ("nt.composite",),
    "nt-if-to-select": ("scf.if",),
    "nest-if-to-select": ("nest.if",),
    "nt-drop-carried": ("scf.for", "scf.while", "scf.if"),
    "nt-hoist": ("scf.for", "scf.while"),
    "nt-batch-dots": ("nt.dot",),
    "nt-propagate-layouts": ("nt.transpose",),
    "nt-double-buffer": ("nt.loops",),
    "nt-unroll-swaps": ("scf.for", "scf.while"),
    "nt-split-reductions": ("nt.reduce",),
    "nt-drop-native": ("nt.composite",),
    "nt-recompute": ("nt.fusion",),
    "nt-drop-barriers": ("nt.optimization_barrier",),
    "nest-outline-repeated": ("nest.accumulate",),
    "nest-share-scratch": ("func.call",),
    "gpu-inline-parts": ("func.call",),
}
"""Passes that look at these operations only. A compilation of a program that has none does not import them."""


def load_pass(name: str):
    """The pass class called `name`. Raises KeyError when there is none."""
    row = _PRIMITIVES.get(name)
    if row is not None:
        from .nest.primitive_passes import pass_of

        return pass_of(row)
    if name in PASSES:
        module, _, attribute = PASSES[name].partition(":")
        return getattr(import_module(f"..{module}", __package__), attribute)
    from xdsl.transforms import get_all_passes

    return get_all_passes()[name]()


def _patterns_of_nt():
    from .tensor.canonicalize import PATTERNS

    return PATTERNS


register_patterns("nt", _patterns_of_nt)
