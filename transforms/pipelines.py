"""The pipelines: which passes run, in which order. `opt-tool -p cpu` stands for the passes listed here.

An entry is a pass, with options as on the command line, or the name of another pipeline; `registry.py` says where
each pass is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..dialects.attributes import OWN_SCHEDULES, STRATEGIES

_OPERATIONS = (
    "nt-batch",
    "nt-fuse-quantised",
    "nt-autocast",
    "nt-decompose",
    "nt-drop-carried",
    "canonicalize",
    "cse",
    "nt-if-to-select",
    "nt-hoist",
)
"""What follows derivatives, on single operations."""

_WRITTEN_OUT = ("nt-quantise", "nt-differentiate", *_OPERATIONS)
_INTO_FUSIONS = (
    "nt-double-buffer",
    "nt-unroll-swaps",
    "nt-split-reductions",
    "nt-fuse",
    "nt-recompute",
    "nt-drop-barriers",
)

PIPELINES: dict[str, tuple[str, ...]] = {
    # nt -> nt: derivatives written out, small products joined, memory orders chosen, and fusions
    "to-fusions": (*_WRITTEN_OUT, "nt-batch-dots", "nt-propagate-layouts", *_INTO_FUSIONS),
    # nt -> nest: one loop nest a fusion, in program order, nothing decided about how it runs
    "fusions-to-loops": (
        "convert-nt-to-nest",
        "nest-expand-complex",
        "nest-prove-bounds",
    ),
    "to-loops": ("to-fusions", "fusions-to-loops"),
    # the same for what is computed in chunks: steps are written out, and reductions are nests of their own
    "to-loops-for-chunks": (
        *_WRITTEN_OUT,
        "nt-unroll",
        "nt-fuse{through-reductions=false}",
        "nt-recompute",
        "nt-drop-barriers",
        "convert-nt-to-nest{scans-as-updates=true}",
        "nest-expand-complex",
        "nest-prove-bounds",
        "nest-if-to-select",
        "nest-raise-updates",
        "nest-sink-checks{in-order=true}",
        "nest-unroll-steps",
        "nest-separate-reductions",
        "nest-loop-borders",
    ),
    # a function that nest-restrict made for a box
    "chunk-to-nest": ("nest-split-buffers", "nest-inline-once", "canonicalize", "cse"),
    "fusions-to-nest": ("fusions-to-loops", "nest-reuse-buffers{order=free}"),
    "to-nest": ("to-fusions", "fusions-to-nest"),
    # the same, with a function for what is repeated
    "to-parts": ("to-loops", "nest-outline-repeated", "nest-reuse-buffers{order=free}"),
    # nest -> upstream loops and vectors
    "cpu-to-scf": (
        "to-parts",
        "nest-schedule-own",
        "nest-apply-strategies",
        "nest-schedule-cpu",
        "nest-freeze",
        "nest-outline-repeated{nests=2 scheduled=true}",
        "nest-share-scratch",
        "nest-fold-combiners",
        "convert-nest-to-scf",
    ),
    # upstream -> llvm; what is left to simplify, LLVM does
    "cpu-to-llvm": (
        "cut-long-loops",
        "expand-division",
        "expand-math",
        "convert-to-llvm",
    ),
    "cpu": ("cpu-to-scf", "cpu-to-llvm"),
    # the same for kernels: products and memory orders are those of the program, and reverses compute again what is short
    "to-kernel-fusions": (
        "nt-drop-native",
        "nt-quantise",
        "nt-differentiate{recompute=true}",
        *_OPERATIONS,
        *_INTO_FUSIONS,
    ),
    # ... which check the indices that they look up, and share running results of columns
    "to-kernel-loops": (
        "to-kernel-fusions",
        "convert-nt-to-nest{scans-as-updates=true}",
        "nest-expand-complex",
        "nest-prove-bounds",
    ),
    "cuda-to-nest": (
        "to-kernel-loops",
        "nest-reuse-buffers{order=free within=nest}",
        "nest-if-to-select",
        "nest-raise-updates",
        "nest-sink-checks",
        "nest-forward-scalars",
    ),
    "cuda-to-parts": (
        "to-kernel-loops",
        "nest-outline-repeated{host=true}",
        "nest-reuse-buffers{order=free within=nest}",
        "nest-if-to-select",
        "nest-raise-updates",
        "nest-sink-checks",
        "nest-forward-scalars",
    ),
    # nest -> gpu: kernels and the host function that launches them; functions that CUDA C lacks are written out
    "cuda": (
        "cuda-to-parts",
        "nest-schedule-own{target=cuda}",
        "nest-apply-strategies",
        "nest-schedule-cuda",
        "nest-freeze",
        "nest-fold-combiners",
        "nest-insert-barriers{known-only=true}",
        "convert-nest-to-gpu{explicit-barriers=true}",
        "gpu-inline-parts",
        "canonicalize",
        "cse",
        "expand-math{kernels=true}",
        "gpu-plan-memory",
    ),
    # the same with 32-bit indices: for buffers of fewer than 2^31 elements, which the caller checks
    "cuda-small": (
        "cuda-to-parts",
        "nest-schedule-own{target=cuda}",
        "nest-apply-strategies",
        "nest-schedule-cuda",
        "nest-freeze",
        "nest-fold-combiners",
        "nest-insert-barriers{known-only=true}",
        "convert-nest-to-gpu{index-bits=32 explicit-barriers=true}",
        "gpu-inline-parts",
        "canonicalize",
        "cse",
        "expand-math{kernels=true}",
        "gpu-plan-memory",
    ),
}
"""Pipeline name -> pass specs, in order."""

OUTLINING = ("nest-outline-repeated", "nest-share-scratch")
"""The passes for what is repeated. A schedule of the user's speaks of the whole program: with it, they do not run."""

OWN = {"nest-schedule-own": OWN_SCHEDULES, "nest-apply-strategies": STRATEGIES}
"""The passes for schedules of operations and for the user's strategies, and what a module has for them. A schedule of the
user's for the whole program takes their place, too."""

AUTOMATIC = ("nest-schedule-cpu", "nest-schedule-cuda")
"""The passes that decide how loops run; a schedule of the user's takes their place."""


def expand(names: Iterable[str]) -> Iterator[str]:
    """Pipelines and passes by name, as the passes they stand for."""
    for name in names:
        if name in PIPELINES:
            yield from expand(PIPELINES[name])
        else:
            yield name


def name_and_options(text: str) -> tuple[str, dict[str, str | int | bool]]:
    """The name of a pass and its options, of an entry of these pipelines: `name{key=word other-key=3}`.

    What users write is read by xDSL, which needs its lexer and the types of all fields of the pass; here options are words.
    """
    name, _, rest = text.removesuffix("}").partition("{")
    options: dict[str, str | int | bool] = {}
    for option in rest.split():
        key, _, word = option.partition("=")
        value = int(word) if word.isdecimal() else word
        options[key.replace("-", "_")] = word == "true" if word in ("true", "false") else value
    return name, options
