"""Every pass by its name on the command line: one line each, loaded on first use.

`opt-tool`, the Python API, and the `xdsl.universe` entry point read this table. xDSL's own passes that
the pipelines use (`canonicalize`, `cse`, `dce`) are found through `xdsl.transforms`.
"""

from __future__ import annotations

from importlib import import_module

PASSES: dict[str, str] = {
    # nt -> nt
    "nt-if-to-select": "transforms.tensor.nt_if_to_select:NtIfToSelectPass",
    "nt-hoist": "transforms.tensor.nt_hoist:NtHoistPass",
    "nt-unroll": "transforms.tensor.nt_unroll:NtUnrollPass",
    "nt-unroll-swaps": "transforms.tensor.nt_unroll_swaps:NtUnrollSwapsPass",
    "nt-decompose": "transforms.tensor.nt_decompose:NtDecomposePass",
    "nt-fuse": "transforms.tensor.nt_fuse:NtFusePass",
    # nt -> nest
    "convert-nt-to-nest": "lowering.nt_to_nest.convert:ConvertNtToNestPass",
    # nest -> nest
    "nest-prove-bounds": "transforms.nest.cleanup.prove_bounds:NestProveBoundsPass",
    "nest-reuse-buffers": "transforms.nest.memory.reuse_buffers:NestReuseBuffersPass",
    "nest-flatten": "transforms.nest.loops.flatten:NestFlattenPass",
    "nest-split": "transforms.nest.loops.split:NestSplitPass",
    "nest-decompose-reduction": "transforms.nest.reductions.decompose_reduction:NestDecomposeReductionPass",
    "nest-hoist": "transforms.nest.loops.hoist:NestHoistPass",
    "nest-absorb": "transforms.nest.loops.absorb:NestAbsorbPass",
    "nest-sink": "transforms.nest.loops.sink:NestSinkPass",
    "nest-eliminate-dead": "transforms.nest.cleanup.eliminate_dead:NestEliminateDeadPass",
    "nest-specialise": "transforms.nest.loops.specialise:NestSpecialisePass",
    "nest-simplify": "transforms.nest.cleanup.simplify:NestSimplifyPass",
    "nest-annotate": "transforms.nest.mapping.annotate:NestAnnotatePass",
    "nest-rename": "transforms.nest.loops.rename:NestRenamePass",
    "nest-reorder": "transforms.nest.loops.reorder:NestReorderPass",
    "nest-tile": "transforms.nest.loops.tile:NestTilePass",
    "nest-peel": "transforms.nest.loops.peel:NestPeelPass",
    "nest-cut": "transforms.nest.loops.cut:NestCutPass",
    "nest-shift": "transforms.nest.loops.shift:NestShiftPass",
    "nest-reverse": "transforms.nest.loops.reverse:NestReversePass",
    "nest-skew": "transforms.nest.loops.skew:NestSkewPass",
    "nest-normalise": "transforms.nest.loops.normalise:NestNormalisePass",
    "nest-remove-unit-loop": "transforms.nest.loops.normalise:NestRemoveUnitLoopPass",
    "nest-add-unit-loop": "transforms.nest.loops.normalise:NestAddUnitLoopPass",
    "nest-fuse": "transforms.nest.loops.fuse:NestFusePass",
    "nest-beside": "transforms.nest.loops.beside:NestBesidePass",
    "nest-distribute": "transforms.nest.loops.distribute:NestDistributePass",
    "nest-unroll": "transforms.nest.loops.unroll:NestUnrollPass",
    "nest-unroll-and-jam": "transforms.nest.loops.unroll_and_jam:NestUnrollAndJamPass",
    "nest-rfactor": "transforms.nest.reductions.rfactor:NestRfactorPass",
    "nest-privatise": "transforms.nest.reductions.privatise:NestPrivatisePass",
    "nest-block-exponentials": "transforms.nest.reductions.block_exponentials:NestBlockExponentialsPass",
    "nest-block-moments": "transforms.nest.reductions.block_moments:NestBlockMomentsPass",
    "nest-block-scan": "transforms.nest.reductions.block_scan:NestBlockScanPass",
    "nest-tree-reduce": "transforms.nest.reductions.tree_reduce:NestTreeReducePass",
    "nest-online-softmax": "transforms.nest.reductions.online_softmax:NestOnlineSoftmaxPass",
    "nest-search-parts": "transforms.nest.reductions.search_parts:NestSearchPartsPass",
    "nest-freeze": "transforms.nest.cleanup.freeze:NestFreezePass",
    "nest-cache-read": "transforms.nest.memory.cache_read:NestCacheReadPass",
    "nest-cache-write": "transforms.nest.memory.cache_write:NestCacheWritePass",
    "nest-stage-mem": "transforms.nest.memory.stage_mem:NestStageMemPass",
    "nest-stage-factors": "transforms.nest.memory.stage_factors:NestStageFactorsPass",
    "nest-unmask": "transforms.nest.loops.unmask:NestUnmaskPass",
    "nest-registerise": "transforms.nest.memory.registerise:NestRegisterisePass",
    "nest-transform-layout": "transforms.nest.memory.transform_layout:NestTransformLayoutPass",
    "nest-set-memory": "transforms.nest.memory.set_memory:NestSetMemoryPass",
    "nest-double-buffer": "transforms.nest.memory.double_buffer:NestDoubleBufferPass",
    "nest-pipeline": "transforms.nest.memory.pipeline:NestPipelinePass",
    "nest-hoist-alloc": "transforms.nest.memory.hoist_alloc:NestHoistAllocPass",
    "nest-sink-alloc": "transforms.nest.memory.sink_alloc:NestSinkAllocPass",
    "nest-expand-buffer": "transforms.nest.memory.expand_buffer:NestExpandBufferPass",
    "nest-resize-buffer": "transforms.nest.memory.resize_buffer:NestResizeBufferPass",
    "nest-fold-buffer": "transforms.nest.memory.fold_buffer:NestFoldBufferPass",
    "nest-compute-inline": "transforms.nest.producers.compute_inline:NestComputeInlinePass",
    "nest-compute-at": "transforms.nest.producers.compute_at:NestComputeAtPass",
    "nest-rolling-buffer": "transforms.nest.producers.rolling_buffer:NestRollingBufferPass",
    "nest-compute-root": "transforms.nest.producers.compute_root:NestComputeRootPass",
    "nest-fuse-epilogue": "transforms.nest.producers.fuse_epilogue:NestFuseEpiloguePass",
    "nest-reverse-compute-inline": "transforms.nest.producers.reverse_compute_inline:NestReverseComputeInlinePass",
    "nest-reverse-compute-at": "transforms.nest.producers.reverse_compute_at:NestReverseComputeAtPass",
    "nest-vectorize": "transforms.nest.mapping.vectorize:NestVectorizePass",
    "nest-parallel": "transforms.nest.mapping.parallel:NestParallelPass",
    "nest-prefetch": "transforms.nest.memory.prefetch:NestPrefetchPass",
    "nest-stream": "transforms.nest.memory.stream:NestStreamPass",
    "nest-bind": "transforms.nest.mapping.bind:NestBindPass",
    "nest-insert-barriers": "transforms.nest.mapping.insert_barriers:NestInsertBarriersPass",
    "nest-tensorize": "transforms.nest.mapping.tensorize:NestTensorizePass",
    "nest-sink-checks": "transforms.nest.cleanup.sink_checks:NestSinkChecksPass",
    "nest-schedule-cpu": "transforms.schedulers.cpu.schedule_cpu:NestScheduleCpuPass",
    "nest-schedule-cuda": "transforms.schedulers.cuda.schedule_cuda:NestScheduleCudaPass",
    "apply-schedule": "transforms.schedule.apply_schedule:ApplySchedulePass",
    "nest-print-dependences": "transforms.nest.cleanup.print_dependences:NestPrintDependencesPass",
    # nest -> upstream dialects
    "convert-nest-to-scf": "lowering.nest_to_scf.convert:ConvertNestToScfPass",
    "convert-nest-to-gpu": "lowering.nest_to_gpu.convert:ConvertNestToGpuPass",
    "gpu-plan-memory": "lowering.nest_to_gpu.plan_memory:GpuPlanMemoryPass",
    # upstream -> llvm
    "expand-division": "lowering.to_llvm.expand_division:ExpandDivisionPass",
    "expand-math": "lowering.math.expand_math:ExpandMathPass",
    "convert-to-llvm": "lowering.to_llvm.convert:ConvertToLlvmPass",
}


IDLE_WITHOUT: dict[str, tuple[str, ...]] = {
    "nt-decompose": ("nt.composite",),
    "nt-if-to-select": ("scf.if",),
    "nt-hoist": ("scf.for", "scf.while"),
    "nt-unroll-swaps": ("scf.for",),
}
"""Passes that look at these operations only. A compilation of a program that has none does not import them."""


def load_pass(name: str):
    """The pass class called `name`. Raises KeyError when there is none."""
    if name in PASSES:
        module, _, attribute = PASSES[name].partition(":")
        return getattr(import_module(f"..{module}", __package__), attribute)
    from xdsl.transforms import get_all_passes

    return get_all_passes()[name]()
