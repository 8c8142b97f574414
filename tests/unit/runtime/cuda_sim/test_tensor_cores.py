"""The PTX helpers of the prelude: what the simulator has in their place does what the PTX ISA says, and NVRTC takes them.

The layouts of fragments are written out here once more, as the tables of the PTX ISA have them ("Matrix fragments for
mma.m16n8k16 ...", "ldmatrix"): which row and column of a matrix element e of a lane is.
"""

from __future__ import annotations

import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.lowering.cuda_c.prelude import prelude
from nestor.lowering.cuda_c.tensor_cores import PTX_HELPERS
from nestor.runtime.cuda import nvrtc
from nestor.runtime.cuda_sim.module import SimModule

LANES = np.arange(32)
GROUP, WITHIN = LANES // 4, LANES % 4
"""%laneid >> 2 and %laneid % 4, which the tables call groupID and threadID_in_group."""


def _a_16(i):
    """Row and column of element i (0 .. 7) of A, .f16 and .bf16, m16n8k16."""
    row = GROUP if i in (0, 1, 4, 5) else GROUP + 8
    return row, WITHIN * 2 + (i & 1) + (8 if i >= 4 else 0)


def _b_16(i):
    """Row and column of element i (0 .. 3) of B."""
    return WITHIN * 2 + (i & 1) + (8 if i >= 2 else 0), GROUP


def _a_tf32(i):
    return (GROUP if i in (0, 2) else GROUP + 8), (WITHIN if i in (0, 1) else WITHIN + 4)


def _b_tf32(i):
    return (WITHIN if i == 0 else WITHIN + 4), GROUP


def _a_s8(i):
    row = GROUP if 0 <= i < 4 or 8 <= i < 12 else GROUP + 8
    return row, WITHIN * 4 + (i & 3) + (16 if i >= 8 else 0)


def _b_s8(i):
    return WITHIN * 4 + (i & 3) + (16 if i >= 4 else 0), GROUP


def _sum(i):
    """Row and column of element i (0 .. 3) of C and D, all shapes here."""
    return (GROUP if i < 2 else GROUP + 8), WITHIN * 2 + (i & 1)


MMA = {
    "m16n8k16_f16": (16, np.uint16, _a_16, _b_16),
    "m16n8k16_bf16": (16, np.uint16, _a_16, _b_16),
    "m16n8k8_tf32": (8, np.uint32, _a_tf32, _b_tf32),
    "m16n8k32_s8": (32, np.uint8, _a_s8, _b_s8),
}


def _values(name, bits):
    """What operands mean, exactly."""
    if name.endswith("_f16"):
        return bits.view(np.float16).astype(np.float64)
    if name.endswith("bf16"):
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if name.endswith("tf32"):
        return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    return bits.view(np.int8).astype(np.int64)


def _operand(name, rng, shape):
    """The bits of a matrix of ordinary numbers."""
    if name.endswith("s8"):
        return rng.integers(0, 256, shape).astype(np.uint8)
    numbers = rng.standard_normal(shape).astype(np.float32)
    if name.endswith("tf32"):
        return numbers.view(np.uint32)
    if name.endswith("bf16"):
        return (numbers.view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(np.float16).view(np.uint16)


def _fragment(matrix, place, count):
    """What each lane holds of a matrix: 32 rows of `count` elements."""
    return np.stack([matrix[place(i)] for i in range(count)], axis=1)


KERNELS = """
extern "C" __global__ void mma_{name}({c} *sum, const unsigned *a, const unsigned *b) {{
  {c} own[2][2];
  unsigned x[4], y[2];
  const int lane = threadIdx.x;
  for (int k = 0; k < 4; k++) own[k / 2][k % 2] = sum[lane * 4 + k];
  for (int k = 0; k < 4; k++) x[k] = a[lane * 4 + k];
  for (int k = 0; k < 2; k++) y[k] = b[lane * 2 + k];
  nt_mma_{name}(own, x, y);
  for (int k = 0; k < 4; k++) sum[lane * 4 + k] = own[k / 2][k % 2];
}}
"""

ROUNDING = """
extern "C" __global__ void round_tf32(unsigned *fragments) {
  unsigned own[2];
  for (int k = 0; k < 2; k++) own[k] = fragments[2 * threadIdx.x + k];
  nt_round_tf32(own);
  for (int k = 0; k < 2; k++) fragments[2 * threadIdx.x + k] = own[k];
}
"""

LOADS = """
extern "C" __global__ void load_{name}(unsigned *fragment, const unsigned short *matrices) {{
  __shared__ __align__(16) unsigned short tile[{count}][8][8];
  const int lane = threadIdx.x;
  for (int k = lane; k < {count} * 64; k += 32) (&tile[0][0][0])[k] = matrices[k];
  __syncthreads();
  unsigned own[{count}];
  nt_load_matrix_{name}(own, tile[lane / 8 % {count}][lane % 8]);
  for (int k = 0; k < {count}; k++) fragment[lane * {count} + k] = own[k];
}}
"""

PAIRS = """
extern "C" __global__ void load_{name}(unsigned *fragment, const unsigned short *matrices) {{
  __shared__ __align__(16) unsigned short tile[4][8][8];
  const int lane = threadIdx.x;
  for (int k = lane; k < 256; k += 32) (&tile[0][0][0])[k] = matrices[k];
  __syncthreads();
  unsigned own[2][2];
  nt_load_matrix_{name}(own[0], own[1], tile[lane / 8][lane % 8]);
  for (int k = 0; k < 4; k++) fragment[lane * 4 + k] = own[k / 2][k % 2];
}}
"""

COPIES = """
extern "C" __global__ void copies(float *seen, const float *x) {
  __shared__ __align__(16) float tile[4][32][4];
  const int lane = threadIdx.x;
  for (int k = 0; k < 16; k++) tile[k / 4][lane][k % 4] = -1.0f;
  nt_copy_async16(tile[0][lane], &x[4 * lane]);
  nt_commit_copies();
  nt_copy_async8(&tile[1][lane][0], &x[4 * lane]);
  nt_copy_async4(&tile[1][lane][2], &x[4 * lane + 2]);
  nt_commit_copies();
  nt_copy_async16(tile[2][lane], &x[4 * lane], 8);
  nt_commit_copies();
  nt_copy_async4(tile[3][lane], &x[4 * lane]);
  for (int wait = 0; wait < 4; wait++) {
    if (wait == 1) nt_wait_copies<2>();
    if (wait == 2) nt_wait_copies<1>();
    if (wait == 3) nt_wait_copies<0>();
    for (int k = 0; k < 16; k++) seen[(wait * 16 + k) * 32 + lane] = tile[k / 4][lane][k % 4];
  }
}

extern "C" __global__ void misaligned(const float *x) {
  __shared__ __align__(16) float tile[8];
  nt_copy_async16(tile, &x[1]);
}
"""


@pytest.fixture(scope="module")
def source():
    """All kernels of this file: one build of the simulator."""
    texts = [KERNELS.format(name=name, c="int" if name.endswith("s8") else "float") for name in MMA]
    texts += [LOADS.format(name=name, count=int(name[1])) for name in ("x4", "x2", "x4_trans", "x2_trans")]
    texts += [PAIRS.format(name=name) for name in ("x4_pair", "x4_pair_trans")]
    return "\n".join([*prelude(PTX_HELPERS), *texts, ROUNDING, COPIES])


@pytest.fixture(scope="module")
def kernels(source):
    return SimModule(source)


@pytest.mark.parametrize("name", MMA)
def test_mma_multiplies_matrices(kernels, name):
    depth, bits, place_a, place_b = MMA[name]
    per = 4 // np.dtype(bits).itemsize
    rng = np.random.default_rng(7)
    a, b = _operand(name, rng, (16, depth)), _operand(name, rng, (depth, 8))
    start = rng.integers(-9, 9, (16, 8)).astype(np.int32 if name.endswith("s8") else np.float32)
    own = _fragment(start, _sum, 4)
    arguments = [
        np.ascontiguousarray(_fragment(a, place_a, 4 * per)).view(np.uint32),
        np.ascontiguousarray(_fragment(b, place_b, 2 * per)).view(np.uint32),
    ]
    kernels.launch(f"mma_{name}", (1,), (32,), [own, *arguments])
    wanted = start + _values(name, a) @ _values(name, b)
    if name.endswith("s8"):
        assert np.array_equal(own, _fragment(wanted, _sum, 4))
        return
    # Products are exact; K additions in float32, in an order that the ISA leaves open.
    size = np.abs(start) + np.abs(_values(name, a)) @ np.abs(_values(name, b))
    assert np.all(np.abs(own - _fragment(wanted, _sum, 4)) <= depth * 2.0**-24 * _fragment(size, _sum, 4))


def test_rounding_to_tf32_is_to_nearest_and_ties_go_away_from_zero(kernels):
    """cvt.rna.tf32.f32: ten bits after the point; the largest float becomes an infinity, denormals stay denormal."""
    ties = np.float32([1 + 2.0**-11, -1 - 2.0**-11, 1 + 3 * 2.0**-11, 2.0**-127 + 2.0**-137])
    away = np.float32([1 + 2.0**-10, -1 - 2.0**-10, 1 + 4 * 2.0**-11, 2.0**-127 + 2.0**-136])
    near = np.float32([1 + 2.0**-12, np.pi, 3.4028235e38, -np.inf, 0.0, -0.0])
    nearest = np.float32([1, 3.140625, np.inf, -np.inf, 0.0, -0.0])
    bits = np.concatenate([ties, near]).view(np.uint32).copy()
    kernels.launch("round_tf32", (1,), (bits.size // 2,), [bits])
    assert np.array_equal(bits, np.concatenate([away, nearest]).view(np.uint32))
    nan = np.float32([np.nan, -np.nan]).view(np.uint32) | 1
    kernels.launch("round_tf32", (1,), (1,), [nan])
    assert np.isnan(nan.view(np.float32)).all()


@pytest.mark.parametrize("name", ["x4", "x2", "x4_trans", "x2_trans", "x4_pair", "x4_pair_trans"])
def test_load_matrix_gives_each_lane_two_elements_of_a_row(kernels, name):
    count = int(name[1])
    matrices = np.arange(count * 64, dtype=np.uint16).reshape(count, 8, 8)
    fragment = np.zeros((32, count), np.uint32)
    kernels.launch(f"load_{name}", (1,), (32,), [fragment, matrices])
    for m in range(count):
        matrix = matrices[m].T if name.endswith("trans") else matrices[m]
        row, column = GROUP, WITHIN * 2
        wanted = matrix[row, column].astype(np.uint32) | matrix[row, column + 1].astype(np.uint32) << 16
        assert np.array_equal(fragment[:, m], wanted)


def test_copies_arrive_when_their_group_is_waited_for(kernels):
    x = np.arange(1, 129, dtype=np.float32)
    seen = np.zeros((4, 4, 4, 32), np.float32)
    kernels.launch("copies", (1,), (32,), [seen, x])
    own = x.reshape(32, 4).T
    old = np.full((4, 32), -1, np.float32)
    first = own
    second = np.concatenate([own[:3], old[3:]])
    third = np.concatenate([own[:2], np.zeros((2, 32), np.float32)])
    assert np.array_equal(seen[0], [old, old, old, old])
    assert np.array_equal(seen[1], [first, old, old, old])
    assert np.array_equal(seen[2], [first, second, old, old])
    # A copy that is in no group yet is not waited for.
    assert np.array_equal(seen[3], [first, second, third, old])


def test_a_misaligned_copy_is_a_fault(kernels):
    x = np.zeros(64, np.float32)
    with pytest.raises(NestorError, match="asynchronous copy is not aligned"):
        kernels.launch("misaligned", (1,), (1,), [x])


@pytest.mark.skipif(
    nvrtc.available() is None, reason="no CUDA compiler (pip install 'nvidia-cuda-nvrtc==13.0.*')"
)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_nvrtc_compiles_the_helpers(source, arch):
    assert nvrtc.compile_cubin(source, arch)
    ptx = nvrtc.compile_ptx(source, arch.replace("sm", "compute"))
    for word in (
        "cp.async.cg.shared.global",
        "ldmatrix.sync.aligned.m8n8.x4.trans",
        "mma.sync.aligned.m16n8k16",
    ):
        assert word in ptx
