"""Kernels with one planted fault each: a right one, and what is edited to make it wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from right_kernels import BINS, COPIES, COUNTERS, DYNAMIC, FLAGS, LOOK_BACK, SUM, TRANSPOSE, VECTORS, WARP


def _f(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def _shifted(count: int) -> np.ndarray:
    return _f(count + 1)[1:]


@dataclass(frozen=True)
class Case:
    """A launch of a kernel: `edits` make it wrong, `kind` is the fault (None: there is none)."""

    name: str
    text: str
    edits: tuple[tuple[str, str], ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple
    kind: str | None
    place: str = ""
    """How the element of the fault is called, as a regular expression."""
    line: str = ""
    """What stands in one of the two lines of the report."""
    python: str = ""
    shared_bytes: int = 0

    @property
    def kernel(self) -> str:
        return "k_" + re.sub(r"\W+", "_", self.name)

    @property
    def source(self) -> str:
        text = self.text
        for old, new in self.edits:
            assert old in text, f"{self.name}: {old!r} is not in the kernel"
            text = text.replace(old, new, 1)
        return re.sub(
            r"(__global__ void __launch_bounds__\(\d+\) )\w+", rf"\g<1>{self.kernel}", text, count=1
        )


def _sum(name, edits, kind, **more):
    return Case(name, SUM, edits, (3,), (128,), (_f(300), np.zeros(3, "f4"), np.int32(300)), kind, **more)


def _transpose(name, edits, kind, **more):
    arguments = (_f(40, 50), np.zeros((50, 40), "f4"), np.int32(40), np.int32(50))
    return Case(name, TRANSPOSE, edits, (2, 2), (32, 8), arguments, kind, **more)


def _warp(name, edits, kind, **more):
    return Case(name, WARP, edits, (1,), (64,), (_f(64), np.zeros(2, "f4")), kind, **more)


def _vectors(name, edits, kind, x=None, n=128, first=0, **more):
    x = _f(136) if x is None else x
    return Case(
        name,
        VECTORS,
        edits,
        (1,),
        (32,),
        (x, np.zeros(128, "f4"), np.int32(n), np.int32(first)),
        kind,
        **more,
    )


def _last(name, edits, kind, **more):
    arguments = (_f(5), np.zeros(5, "f4"), np.zeros(1, "f4"), np.zeros(1, "u4"))
    return Case(name, COUNTERS, edits, (5,), (32,), arguments, kind, **more)


def _bins(name, edits, kind, **more):
    x = (np.arange(100) % 7).astype(np.int32)
    return Case(name, BINS, edits, (4,), (32,), (x, np.zeros(7, "i4"), np.int32(100)), kind, **more)


def _copies(name, edits, kind, **more):
    return Case(name, COPIES, edits, (1,), (32,), (_f(256), np.zeros(32, "f4")), kind, **more)


def _flags(name, edits, kind, **more):
    arguments = (_f(64), np.zeros(64, "f4"), np.zeros(1, "i4"))
    return Case(name, FLAGS, edits, (1,), (64,), arguments, kind, **more)


def _look_back(name, edits, kind, **more):
    arguments = (_f(6), np.zeros(6, "f4"), np.zeros(6, "i4"), np.zeros(1, "i4"))
    return Case(name, LOOK_BACK, edits, (6,), (32,), arguments, kind, **more)


BARRIER = ("__syncthreads();", "")
LATER = "__syncthreads();\n  }\n  // prog"

CASES = (
    # the kernels as they are
    _sum("sum", (), None),
    _transpose("transpose", (), None),
    _warp("warp rows", (), None),
    _vectors("vectors", (), None),
    _last("last block", (), None),
    _bins("bins", (), None),
    _copies("copies", (), None),
    Case("dynamic", DYNAMIC, (), (1,), (32,), (_f(32), np.zeros(32, "f4")), None, shared_bytes=128),
    _flags("flags", (), None),
    _look_back("look back", (), None),
    # races
    _sum(
        "no first barrier",
        (BARRIER,),
        "race",
        place=r"tile\[\d+\]",
        line="tile[t + step]",
        python="prog.py:3",
    ),
    _sum(
        "no later barrier",
        ((LATER, "}\n  // prog"),),
        "race",
        place=r"tile\[\d+\]",
        line="tile[t] + tile[t + step]",
    ),
    _transpose("no barrier", (BARRIER,), "race", place=r"tile\[\d+\]\[\d+\]", line="tile[k][threadIdx.x]"),
    _transpose(
        "same rows", (("tile[k][", "tile[k / 2]["),), "race", place=r"tile\[\d+\]\[\d+\]", line="tile[k / 2]"
    ),
    _warp("no syncwarp", (("__syncwarp();", ""),), "race", place=r"rows\[\d\]\[\d+\]", line="31 - lane"),
    _warp(
        "no syncwarp before a write",
        (("other = rows[warp][31 - lane];\n  __syncwarp();", "other = rows[warp][31 - lane];"),),
        "race",
        place=r"rows\[\d\]\[\d+\]",
        line="= other",
    ),
    _warp(
        "shuffle for a barrier",
        (("__syncwarp();", "__shfl_xor_sync(0xffffffffu, lane, 1);"),),
        "race",
        place=r"rows\[\d\]\[\d+\]",
        line="31 - lane",
    ),
    _warp(
        "vote for a barrier",
        (("__syncwarp();", "__any_sync(0xffffffffu, lane == 3);"),),
        "race",
        place=r"rows\[\d\]\[\d+\]",
        line="31 - lane",
    ),
    _warp(
        "other warp",
        (("rows[warp][31 - lane]", "rows[1 - warp][lane]"),),
        "race",
        place=r"rows\[\d\]\[\d+\]",
        line="1 - warp",
    ),
    _bins(
        "no atomic",
        (("atomicAdd(&counts[x[i]], 1)", "counts[x[i]] += 1"),),
        "race",
        place=r"counts\[\d\]",
        line="counts[x[i]] += 1",
    ),
    _sum(
        "blocks share an element",
        (("out[blockIdx.x] =", "out[blockIdx.x / 2] ="),),
        "race",
        place=r"out\[0\]",
        line="out[blockIdx.x / 2]",
        python="prog.py:4",
    ),
    _last("no fence", (("__threadfence();", ""),), "race", place=r"partial\[\d\]", line="partial[k]"),
    _last(
        "not the last block",
        (("== gridDim.x - 1", ">= 0"),),
        "race",
        place=r"out\[0\]|partial\[\d\]",
        line="sum",
    ),
    _last("read by all", (("is_last && ", ""),), "race", place=r"out\[0\]|partial\[\d\]", line="sum"),
    # bounds, alignment, const
    _sum(
        "off by one mask",
        (("i < n ?", "i <= n ?"),),
        "out-of-bounds",
        place=r"x\[300\]",
        line="x[i]",
        python="prog.py:3",
    ),
    _transpose(
        "no mask",
        (("row < n && column < m", "row < n"),),
        "out-of-bounds",
        place=r"out\[2\d\d\d\]",
        line="out[column",
    ),
    _transpose(
        "transposed index",
        (("tile[k][threadIdx.x]", "tile[threadIdx.x][k + 2]"), ("tile[32][33]", "tile[32][32]")),
        "out-of-bounds",
        place=r"index 3[23] of 'float \[32\]'",
        line="k + 2",
    ),
    _sum(
        "shared index",
        (("tile[t] = i", "tile[t + 1] = i"),),
        "out-of-bounds",
        place=r"index 128 of 'float \[128\]'",
        line="tile[t + 1]",
    ),
    Case(
        "register index",
        """extern "C" __global__ void __launch_bounds__(4) f(const float *__restrict__ x, float *__restrict__ out, int n) {
  float own[8];
  for (int k = 0; k < 8; ++k) own[k] = x[8 * threadIdx.x + k];
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += own[k];
  out[threadIdx.x] = sum;
}
""",
        (),
        (1,),
        (4,),
        (_f(32), np.zeros(4, "f4"), np.int32(9)),
        "out-of-bounds",
        place=r"index 8 of 'float \[8\]'",
        line="sum += own[k]",
    ),
    _sum(
        "more threads than bounds", (("__launch_bounds__(128)", "__launch_bounds__(64)"),), "too-many-threads"
    ),
    _vectors(
        "vector beyond the end",
        (("i + 3 < n", "i < n"),),
        "out-of-bounds",
        x=_f(127),
        n=127,
        place=r"x\[127\]|x\[124\]",
        line="float4",
    ),
    _vectors(
        "misaligned", (), "misaligned", first=1, place=r"x\[\d+\]", line="reinterpret_cast<const float4"
    ),
    _vectors(
        "misaligned array",
        (),
        "misaligned",
        x=_shifted(128),
        place=r"x\[\d+\]",
        line="reinterpret_cast<const float4",
    ),
    _sum(
        "write to const",
        (("out[blockIdx.x] =", "((float *)x)[blockIdx.x] ="),),
        "read-only",
        place=r"x\[[012]\]",
        line="((float *)x)",
    ),
    Case(
        "dynamic too short",
        DYNAMIC,
        (),
        (1,),
        (32,),
        (_f(32), np.zeros(32, "f4")),
        "out-of-bounds",
        shared_bytes=124,
        place=r"memory\[31\]",
        line="memory[threadIdx.x] =",
    ),
    # never written
    _sum(
        "half a tile",
        (("tile[t] = i < n ? x[i] : 0.0f;", "if (i < n) tile[t] = x[i];"),),
        "uninitialised",
        place=r"tile\[\d+\]",
        line="tile[t + step]",
    ),
    _transpose(
        "transposed read",
        (("out[column * n + row] = tile[threadIdx.x][k]", "out[column * n + row] = tile[k][threadIdx.x]"),),
        "uninitialised",
        place=r"tile\[\d+\]\[\d+\]",
        line="tile[k][threadIdx.x]",
    ),
    # barriers and warp operations
    _sum(
        "divergent barrier",
        (("__syncthreads();", "if (t < 64) __syncthreads();\n  else\n    __syncthreads();"),),
        "divergent-barrier",
        line="if (t < 64) __syncthreads();",
    ),
    _sum(
        "barrier in a branch",
        (("    }\n    __syncthreads();", "      __syncthreads();\n    }"),),
        "missed-barrier",
        line="__syncthreads();",
    ),
    _warp(
        "lanes that left",
        (("  __syncwarp();", "  if (lane == 5) return;\n  __syncwarp();"),),
        "absent-lane",
        line="__shfl_xor_sync",
    ),
    _warp(
        "wrong lane",
        (("__shfl_xor_sync(0xffffffffu, sum, step)", "__shfl_xor_sync(0xffffu, sum, step)"),),
        "not-in-mask",
        line="0xffffu",
    ),
    _warp(
        "two masks",
        (("__shfl_xor_sync(0xffffffffu, sum", "__shfl_xor_sync(lane < 16 ? 0xffffffffu : 0xffff0000u, sum"),),
        "masks-differ",
        line="0xffff0000u",
    ),
    _warp(
        "half a warp",
        (
            (
                "    sum = sum + __shfl_xor_sync(0xffffffffu, sum, step);",
                "    if (lane < 16) sum = sum + __shfl_xor_sync(0xffffu, sum, step);",
            ),
        ),
        "absent-lane",
        line="0xffffu",
    ),
    _warp(
        "divergent warp",
        (("  __syncwarp();", "  if (lane < 7) __syncwarp();\n  else\n    __syncwarp();"),),
        "divergent-warp",
        line="__syncwarp();",
    ),
    _warp(
        "deadlock",
        (("  __syncwarp();", "  if (lane < 7) __syncwarp();\n  else __syncthreads();"),),
        "deadlock",
        line="__sync",
    ),
    _flags("a flag that nobody sets", (("*flag = 1", "*flag = 0"),), "deadlock", line="while ("),
    _look_back(
        "no fence before the flag",
        (("__threadfence();", ""),),
        "race",
        line="before = sums",
        place=r"sums\[\d\]",
    ),
    _look_back(
        "waits for a later block",
        (("done[block - 1] == 0", "done[block + 1 - block / 5] == 0"),),
        "deadlock",
        line="while (",
    ),
    # asynchronous copies
    _copies(
        "wait for too few",
        (("nt_wait_copies<1>", "nt_wait_copies<2>"),),
        "pending-copy",
        place=r"tile\[0\]\[\d+\]",
        line="tile[0][127 - t]",
    ),
    _copies(
        "no wait",
        (("  nt_wait_copies<0>();\n", ""),),
        "pending-copy",
        place=r"tile\[1\]\[\d+\]",
        line="tile[1][127 - t]",
    ),
    _copies(
        "no barrier after the wait",
        (("  nt_wait_copies<0>();\n  __syncthreads();", "  nt_wait_copies<0>();"),),
        "race",
        place=r"tile\[1\]\[\d+\]",
        line="nt_copy_async16(&tile[1]",
    ),
)
