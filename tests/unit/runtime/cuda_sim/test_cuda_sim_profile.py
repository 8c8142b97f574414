"""The simulator's profile mode counts requests, sectors, passes over banks and bytes as a GPU does."""

from functools import cache

import nestor as nt
import numpy as np
import pytest
from cuda_kernels import load
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.cuda_sim.memory import GuardedMemory
from nestor.runtime.cuda_sim.module import SimModule
from nestor.runtime.cuda_sim.profile import Profiler
from nestor.runtime.cuda_sim.report import format_bytes

KERNELS = """
extern "C" __global__ void strided(const float *x, float *out, int stride) {
  out[threadIdx.x] = x[threadIdx.x * stride];  // vary
}
extern "C" __global__ void vectors(const float4 *x, float4 *out) {
  float4 v = x[threadIdx.x];
  v.x += 1.0f;
  out[threadIdx.x] = v;
}
struct __align__(16) Quad {
  float at[4];
};
extern "C" __global__ void structures(const float *x, float *out) {
  Quad v = *reinterpret_cast<const Quad *>(&x[4 * threadIdx.x]);
  for (int k = 0; k < 4; k++) v.at[k] += 1.0f;
  *reinterpret_cast<Quad *>(&out[4 * threadIdx.x]) = v;
}
extern "C" __global__ void rows(const float *x, float *out, int n, int m) {
  for (int i = 0; i < n; i++)
    for (int j = threadIdx.x; j < m; j += 32)
      out[i * m + j] = x[i * m + j];
}
extern "C" __global__ void triangle(const float *x, float *out) {
  float sum = 0.0f;
  for (int r = 0; r < 3; r++) {
    for (int j = 0; j < threadIdx.x; j++)
      if (j != 3) sum += x[j * 32 + threadIdx.x];
    out[r * 32 + threadIdx.x] = sum;
  }
}
__device__ __noinline__ float far(const float *x, int i) { return i > 3 ? x[i] : x[0]; }
extern "C" __global__ void calls(const float *x, float *out, int n) {
  float sum = 0.0f;
  for (int j = 0; j < n; j++) {
    sum += far(x, j * 32 + threadIdx.x);
    if (sum < 0.0f) sum += 1.0f;
    sum *= far(x, threadIdx.x);
  }
  out[threadIdx.x] = sum;
}
extern "C" __global__ void tiles(const float *x, float *out) {
  __shared__ float plain[32][32];
  __shared__ float padded[32][33];
  const int i = threadIdx.y, j = threadIdx.x;
  plain[i][j] = x[i * 32 + j];
  padded[i][j] = x[i * 32 + j];
  __syncthreads();
  out[i * 32 + j] = plain[j][i] + padded[j][i] + plain[0][0];
}
extern "C" __global__ void wide(float *out) {
  __shared__ __align__(16) float4 quads[64];
  __shared__ double pairs[64];
  quads[threadIdx.x] = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
  pairs[threadIdx.x] = 1.0;
  __syncthreads();
  const float4 v = quads[2 * threadIdx.x];
  out[threadIdx.x] = v.x + (float)pairs[2 * threadIdx.x];
}
extern "C" __global__ void matrices(unsigned *out) {
  __shared__ __align__(16) unsigned short plain[16][32];
  __shared__ __align__(16) unsigned short padded[16][40];
  const int lane = threadIdx.x;
  for (int j = lane; j < 16 * 32; j += 32) plain[j / 32][j % 32] = padded[j / 32][j % 32] = j;
  __syncthreads();
  unsigned first[4], second[4];
  nt_load_matrix_x4(first, &plain[lane % 16][lane / 16 * 8]);
  nt_load_matrix_x4(second, &padded[lane % 16][lane / 16 * 8]);
  out[lane] = first[0] + second[3];
}
extern "C" __global__ void counter(int *total, int *seen) {
  atomicAdd(total, 1);
  seen[threadIdx.x] = *total;
}
"""


@cache
def kernels():
    return SimModule(KERNELS, mode="profile")


def profile(kernel, grid, block, *arguments):
    module, memory = kernels(), GuardedMemory()
    copies = iter(memory.adopt([a for a in arguments if isinstance(a, np.ndarray)]))
    own = [next(copies) if isinstance(a, np.ndarray) else a for a in arguments]
    profiler = Profiler(module, memory)
    module.on_launch = profiler.launched
    module.launch(kernel, grid, block, own, memory=memory)
    return profiler.report(kernel)


def line(report, kind, array):
    """The only line of a report that does this to that array."""
    (found,) = [line for line in report.lines if (line.kind, line.array) == (kind, array)]
    return found


def floats(count):
    return np.zeros(count, np.float32)


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (1, 4), (2, 8), (3, 12), (8, 32), (40, 32)])
def test_sectors_of_a_stride(stride, sectors):
    x = line(profile("strided", (1,), (32,), floats(1300), floats(32), stride), "load", "x")
    assert (x.requests, x.lanes, x.cost) == (1, 32, sectors)
    assert x.ideal == (1 if stride == 0 else 4)
    assert x.text == "out[threadIdx.x] = x[threadIdx.x * stride];  // vary"


def test_a_view_is_as_misaligned_as_in_its_allocation():
    report = profile("strided", (1,), (32,), floats(64)[1:33], floats(32), 1)
    assert (line(report, "load", "x").cost, line(report, "load", "x").ideal) == (5, 4)


def test_a_result_in_a_pooled_buffer_is_aligned():
    buffer = np.zeros(1024, np.uint8)
    start = -buffer.ctypes.data % 64 or 64
    out = buffer[start : start + 128].view(np.float32)
    assert line(profile("strided", (1,), (32,), floats(32), out, 1), "store", "out").cost == 4


@pytest.mark.parametrize("kernel", ["vectors", "structures"])
def test_a_vector_is_one_access(kernel):
    report = profile(kernel, (1,), (64,), floats(256), floats(256))
    for kind, array in (("load", "x"), ("store", "out")):
        found = line(report, kind, array)
        assert (found.size, found.requests, found.cost, found.ideal) == (16, 2, 32, 32)


def test_lanes_meet_again_behind_loops_that_some_of_them_leave_early():
    rows = profile("rows", (1,), (32,), floats(280), floats(280), 4, 70)
    assert [(x.requests, x.lanes) for x in rows.lines] == [(12, 280), (12, 280)]
    triangle = profile("triangle", (1,), (32,), floats(1024), floats(96))
    assert line(triangle, "load", "x").requests == 3 * 30
    assert (line(triangle, "store", "out").requests, line(triangle, "store", "out").cost) == (3, 12)


def test_calls_of_a_function_are_told_apart():
    x = profile("calls", (1,), (32,), floats(320), floats(32), 10)
    x = line(x, "load", "x")
    assert (x.requests, x.lanes, x.cost) == (11 + 20, 640, 11 + 9 * 4 + 11 * 4)


def test_bank_conflicts():
    report = profile("tiles", (1,), (32, 32), floats(1024), floats(1024))
    loads = {(x.array, x.cost) for x in report.lines if (x.kind, x.space) == ("load", "shared")}
    assert loads == {("plain", 32 * 32 + 32), ("padded", 32)}  # a column, and a word that all lanes read
    assert line(report, "store", "padded").ways == line(report, "store", "plain").ways == 1
    assert report.ways == 16.5


def test_wide_shared_accesses_go_by_parts_of_a_warp():
    report = profile("wide", (1,), (32,), floats(32))
    assert (line(report, "store", "quads").cost, line(report, "store", "quads").ideal) == (4, 4)
    assert (line(report, "load", "quads").cost, line(report, "load", "quads").ideal) == (8, 4)
    assert (line(report, "store", "pairs").cost, line(report, "store", "pairs").ideal) == (2, 2)
    assert (line(report, "load", "pairs").cost, line(report, "load", "pairs").ideal) == (4, 2)


def test_rows_of_matrices_for_tensor_cores():
    report = profile("matrices", (1,), (32,), np.zeros(32, np.uint32))
    loads = {x.array: (x.requests, x.cost, x.ideal) for x in report.lines if (x.kind, x.size) == ("load", 16)}
    assert loads == {"plain": (1, 16, 4), "padded": (1, 4, 4)}


def test_atomics_read_and_write():
    report = profile("counter", (1,), (64,), np.zeros(1, np.int32), np.zeros(64, np.int32))
    assert line(report, "atomic", "total").requests == 2
    total = report.array("total")
    assert total.needed == 4 + 4 and total.requested_read == 4 * 32


def test_bytes_of_a_program():
    """Every element is read once by the kernel that sums, and each sum written once."""
    x, out = np.arange(1024, dtype=np.float32), np.zeros(8, np.float32)
    record, report = SimEngine(load("shared-sum")).profile(x, out)
    assert record.code == 0 and not out.any()
    assert report.compulsory == 4 * 1024 + 4 * 8
    assert report.array("x").requested_read == report.array("x").moved == 4096
    assert report.array("out").requested_written == 8 * 32
    assert report.array("out").moved == 32


def squares(x, y):
    return x * x + y


def test_from_python():
    x = np.arange(300, dtype=np.float32)
    compiled = nt.jit(squares, target="cuda-sim", dynamic=False).lower(x, x).compile()
    report = compiled.profile(x, x.copy())
    assert (report.launches, report.compulsory, report.moved) == (1, 3600, 3 * 38 * 32)
    first = squares.__code__.co_firstlineno
    assert report.lines[0].place == f"test_cuda_sim_profile.py:{first + 1}"
    assert "load x" in str(report) and '"compulsory": 3600' in report.to_json()


def test_only_the_simulator_profiles():
    x = np.arange(3.0)
    compiled = nt.jit(squares, target="interp").lower(x, x).compile()
    with pytest.raises(nt.NestorError, match="only the simulator profiles"):
        compiled.profile(x, x)


def test_bytes_for_people():
    assert [format_bytes(n) for n in (0, 999, 4100, 80_000_000, 123_456)] == [
        "0 B", "999 B", "4.10 kB", "80.0 MB", "123 kB"
    ]  # fmt: skip
