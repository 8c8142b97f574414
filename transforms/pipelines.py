"""Named pipelines: `opt-tool -p cpu` stands for the passes listed here. An entry may name a pipeline."""

from __future__ import annotations

PIPELINES: dict[str, tuple[str, ...]] = {
    "cpu-to-nest": (
        "canonicalize",
        "cse",
        "nt-fuse",
        "convert-nt-to-nest",
        "nest-prove-bounds",
        "nest-reuse-buffers",
    ),
    "cpu-to-scf": ("cpu-to-nest", "nest-schedule-cpu", "convert-nest-to-scf", "canonicalize", "cse"),
    "cpu-to-llvm": ("expand-math", "convert-to-llvm", "canonicalize", "cse"),
    "cpu": ("cpu-to-scf", "cpu-to-llvm"),
    "cuda": ("cpu-to-nest", "nest-schedule-cuda", "convert-nest-to-gpu", "canonicalize", "cse"),
}
"""Pipeline name -> pass specs, in order."""
