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
    "convert-nt-to-nest": "lowering.nt_to_nest:ConvertNtToNestPass",
    # nest -> nest
    "nest-prove-bounds": "transforms.nest.nest_prove_bounds:NestProveBoundsPass",
    "nest-reuse-buffers": "transforms.nest.nest_reuse_buffers:NestReuseBuffersPass",
    "nest-flatten": "transforms.nest.nest_flatten:NestFlattenPass",
    "nest-split": "transforms.nest.nest_split:NestSplitPass",
    "nest-decompose-reduction": "transforms.nest.nest_decompose_reduction:NestDecomposeReductionPass",
    "nest-hoist": "transforms.nest.nest_hoist:NestHoistPass",
    "nest-absorb": "transforms.nest.nest_absorb:NestAbsorbPass",
    "nest-sink": "transforms.nest.nest_sink:NestSinkPass",
    "nest-eliminate-dead": "transforms.nest.nest_eliminate_dead:NestEliminateDeadPass",
    "nest-specialise": "transforms.nest.nest_specialise:NestSpecialisePass",
    "nest-simplify": "transforms.nest.nest_simplify:NestSimplifyPass",
    "nest-annotate": "transforms.nest.nest_annotate:NestAnnotatePass",
    "nest-rename": "transforms.nest.nest_rename:NestRenamePass",
    "nest-reorder": "transforms.nest.nest_reorder:NestReorderPass",
    "nest-tile": "transforms.nest.nest_tile:NestTilePass",
    "nest-peel": "transforms.nest.nest_peel:NestPeelPass",
    "nest-cut": "transforms.nest.nest_cut:NestCutPass",
    "nest-shift": "transforms.nest.nest_shift:NestShiftPass",
    "nest-reverse": "transforms.nest.nest_reverse:NestReversePass",
    "nest-skew": "transforms.nest.nest_skew:NestSkewPass",
    "nest-normalise": "transforms.nest.nest_normalise:NestNormalisePass",
    "nest-remove-unit-loop": "transforms.nest.nest_normalise:NestRemoveUnitLoopPass",
    "nest-add-unit-loop": "transforms.nest.nest_normalise:NestAddUnitLoopPass",
    "nest-fuse": "transforms.nest.nest_fuse:NestFusePass",
    "nest-beside": "transforms.nest.nest_beside:NestBesidePass",
    "nest-distribute": "transforms.nest.nest_distribute:NestDistributePass",
    "nest-unroll": "transforms.nest.nest_unroll:NestUnrollPass",
    "nest-unroll-and-jam": "transforms.nest.nest_unroll_and_jam:NestUnrollAndJamPass",
    "nest-rfactor": "transforms.nest.nest_rfactor:NestRfactorPass",
    "nest-privatise": "transforms.nest.nest_privatise:NestPrivatisePass",
    "nest-block-exponentials": "transforms.nest.nest_block_exponentials:NestBlockExponentialsPass",
    "nest-block-moments": "transforms.nest.nest_block_moments:NestBlockMomentsPass",
    "nest-block-scan": "transforms.nest.nest_block_scan:NestBlockScanPass",
    "nest-tree-reduce": "transforms.nest.nest_tree_reduce:NestTreeReducePass",
    "nest-online-softmax": "transforms.nest.nest_online_softmax:NestOnlineSoftmaxPass",
    "nest-search-parts": "transforms.nest.nest_search_parts:NestSearchPartsPass",
    "nest-freeze": "transforms.nest.nest_freeze:NestFreezePass",
    "nest-cache-read": "transforms.nest.nest_cache_read:NestCacheReadPass",
    "nest-cache-write": "transforms.nest.nest_cache_write:NestCacheWritePass",
    "nest-stage-mem": "transforms.nest.nest_stage_mem:NestStageMemPass",
    "nest-stage-factors": "transforms.nest.nest_stage_factors:NestStageFactorsPass",
    "nest-unmask": "transforms.nest.nest_unmask:NestUnmaskPass",
    "nest-registerise": "transforms.nest.nest_registerise:NestRegisterisePass",
    "nest-transform-layout": "transforms.nest.nest_transform_layout:NestTransformLayoutPass",
    "nest-set-memory": "transforms.nest.nest_set_memory:NestSetMemoryPass",
    "nest-double-buffer": "transforms.nest.nest_double_buffer:NestDoubleBufferPass",
    "nest-pipeline": "transforms.nest.nest_pipeline:NestPipelinePass",
    "nest-hoist-alloc": "transforms.nest.nest_hoist_alloc:NestHoistAllocPass",
    "nest-sink-alloc": "transforms.nest.nest_sink_alloc:NestSinkAllocPass",
    "nest-expand-buffer": "transforms.nest.nest_expand_buffer:NestExpandBufferPass",
    "nest-resize-buffer": "transforms.nest.nest_resize_buffer:NestResizeBufferPass",
    "nest-fold-buffer": "transforms.nest.nest_fold_buffer:NestFoldBufferPass",
    "nest-compute-inline": "transforms.nest.nest_compute_inline:NestComputeInlinePass",
    "nest-compute-at": "transforms.nest.nest_compute_at:NestComputeAtPass",
    "nest-rolling-buffer": "transforms.nest.nest_rolling_buffer:NestRollingBufferPass",
    "nest-compute-root": "transforms.nest.nest_compute_root:NestComputeRootPass",
    "nest-fuse-epilogue": "transforms.nest.nest_fuse_epilogue:NestFuseEpiloguePass",
    "nest-reverse-compute-inline": "transforms.nest.nest_reverse_compute_inline:NestReverseComputeInlinePass",
    "nest-reverse-compute-at": "transforms.nest.nest_reverse_compute_at:NestReverseComputeAtPass",
    "nest-vectorize": "transforms.nest.nest_vectorize:NestVectorizePass",
    "nest-parallel": "transforms.nest.nest_parallel:NestParallelPass",
    "nest-prefetch": "transforms.nest.nest_prefetch:NestPrefetchPass",
    "nest-stream": "transforms.nest.nest_stream:NestStreamPass",
    "nest-bind": "transforms.nest.nest_bind:NestBindPass",
    "nest-insert-barriers": "transforms.nest.nest_insert_barriers:NestInsertBarriersPass",
    "nest-tensorize": "transforms.nest.nest_tensorize:NestTensorizePass",
    "nest-sink-checks": "transforms.nest.nest_sink_checks:NestSinkChecksPass",
    "nest-schedule-cpu": "transforms.nest.nest_schedule_cpu:NestScheduleCpuPass",
    "nest-schedule-cuda": "transforms.nest.nest_schedule_cuda:NestScheduleCudaPass",
    "apply-schedule": "transforms.schedule.apply_schedule:ApplySchedulePass",
    "nest-print-dependences": "transforms.nest.nest_print_dependences:NestPrintDependencesPass",
    # nest -> upstream dialects
    "convert-nest-to-scf": "lowering.nest_to_scf:ConvertNestToScfPass",
    "convert-nest-to-gpu": "lowering.nest_to_gpu:ConvertNestToGpuPass",
    "gpu-plan-memory": "lowering.gpu_plan_memory:GpuPlanMemoryPass",
    # upstream -> llvm
    "expand-division": "lowering.expand_division:ExpandDivisionPass",
    "expand-math": "lowering.expand_math:ExpandMathPass",
    "convert-to-llvm": "lowering.to_llvm:ConvertToLlvmPass",
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
