"""The simulator's CUDA C: votes, shuffles, reductions of a warp, vectors and atomics do what CUDA's documentation says."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.runtime.cuda_sim.module import SimModule

SOURCE = """
#define ALL 0xffffffffu
extern "C" __global__ void shuffles(double *out, const double *x, const long long *y, long long *wide) {
  const int t = threadIdx.x;
  out[t] = __shfl_sync(ALL, x[t], t * 5 + 3);
  out[32 + t] = __shfl_sync(ALL, x[t], 3, 8);
  out[64 + t] = __shfl_up_sync(ALL, x[t], 5);
  out[96 + t] = __shfl_up_sync(ALL, x[t], 3, 8);
  out[128 + t] = __shfl_down_sync(ALL, x[t], 5);
  out[160 + t] = __shfl_down_sync(ALL, x[t], 3, 16);
  out[192 + t] = __shfl_xor_sync(ALL, x[t], 9);
  out[224 + t] = __shfl_xor_sync(ALL, x[t], 17, 16);
  wide[t] = __shfl_sync(ALL, y[t], 31 - t);
}
extern "C" __global__ void votes(unsigned *out, int *flags) {
  const int t = threadIdx.x;
  out[t] = __ballot_sync(ALL, t % 3 == 0);
  if (t < 12) out[32 + t] = __ballot_sync(0xfffu, t & 1);
  flags[t] = __any_sync(ALL, t == 40) * 1 + __all_sync(ALL, t < 64) * 2 + __any_sync(ALL, t == 7) * 4
           + __all_sync(ALL, t != 7) * 8 + __uni_sync(ALL, t < 64) * 16 + __uni_sync(ALL, t < 3) * 32;
}
extern "C" __global__ void some_left(unsigned *out) {
  if (threadIdx.x % 4 == 3) return;
  out[threadIdx.x] = __activemask();
  out[32 + threadIdx.x] = __ballot_sync(0x77777777u, 1);
}
extern "C" __global__ void reductions(int *out, unsigned *bits, const int *x) {
  const int t = threadIdx.x, v = x[t];
  out[t] = __reduce_add_sync(ALL, v);
  out[32 + t] = __reduce_min_sync(ALL, v);
  out[64 + t] = __reduce_max_sync(ALL, v);
  bits[t] = __reduce_and_sync(ALL, (unsigned)v);
  bits[32 + t] = __reduce_or_sync(ALL, (unsigned)v);
  bits[64 + t] = __reduce_xor_sync(ALL, (unsigned)v);
  bits[96 + t] = __reduce_max_sync(ALL, (unsigned)v);
  if (t >= 20) out[96 + t] = __reduce_add_sync(0xfff00000u, v);
}
extern "C" __global__ void matches(unsigned *out, int *all, const float *x, const long long *y) {
  const int t = threadIdx.x;
  out[t] = __match_any_sync(ALL, x[t]);
  out[32 + t] = __match_any_sync(ALL, y[t]);
  out[64 + t] = __match_all_sync(ALL, 5, &all[t]);
  out[96 + t] = __match_all_sync(ALL, t / 31, &all[32 + t]);
}
extern "C" __global__ void counted(int *out) {
  const int t = threadIdx.x;
  out[t] = __syncthreads_count(t % 5 == 0) + 1000 * __syncthreads_or(t == 99) + 2000 * __syncthreads_and(t < 100)
         + 4000 * __syncthreads_or(t > 99) + 8000 * __syncthreads_and(t != 50);
}
extern "C" __global__ void vectors(const float *x, float *out, double *wide, int *ints, short *shorts) {
  const float4 v = *reinterpret_cast<const float4 *>(x);
  float4 w = make_float4(v.w, v.z, v.y, v.x);
  w.x += 1.0f;
  *reinterpret_cast<float4 *>(out) = w;
  const float2 p = reinterpret_cast<const float2 *>(x)[2];
  reinterpret_cast<float2 *>(out)[2] = make_float2(p.y, p.x);
  const float3 q = make_float3(1.0f, 2.0f, 3.0f);
  out[6] = q.x + q.y + q.z;
  out[7] = (float)(sizeof(float3) + 100 * sizeof(float4) + 10000 * sizeof(double4));
  double2 d = __ldg(reinterpret_cast<const double2 *>(wide));
  __stcs(reinterpret_cast<double2 *>(wide), make_double2(d.y, d.x));
  int4 i = __ldcs(reinterpret_cast<const int4 *>(ints));
  const uint4 u = make_uint4(i.w, i.z, i.y, i.x);
  __stcg(reinterpret_cast<uint4 *>(ints), u);
  ushort4 s = *reinterpret_cast<ushort4 *>(shorts);
  s.y = (unsigned short)(s.y + 1);
  *reinterpret_cast<ushort4 *>(shorts) = s;
  shorts[4] = __ldg(&shorts[1]);
}
extern "C" __global__ void atomics(unsigned *u, int *i, float *f, unsigned long long *w, unsigned *old) {
  atomicAdd(&u[0], 3u); atomicSub(&u[1], 1u); atomicInc(&u[2], 4u); atomicDec(&u[3], 4u);
  atomicAnd(&u[4], ~threadIdx.x); atomicOr(&u[5], threadIdx.x); atomicXor(&u[6], threadIdx.x);
  atomicMax(&i[0], (int)threadIdx.x - 5); atomicMin(&i[1], 5 - (int)threadIdx.x);
  atomicAdd(f, 0.5f); atomicAdd(w, 1ull << 33);
  old[threadIdx.x] = atomicExch(&u[7], threadIdx.x);
  old[10 + threadIdx.x] = atomicCAS(&u[8], threadIdx.x, threadIdx.x + 1);
}
extern "C" __global__ void late(int *out, int n) {
  extern __shared__ int memory[];
  __shared__ int own[32];
  for (int k = threadIdx.x; k < n; k += 32) memory[k] = k;
  own[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int k = threadIdx.x; k < n; k += 32) out[k] = memory[n - 1 - k] + own[k % 32];
}
extern "C" __global__ void turns(int *threads, int *blocks, int *next) {
  const int k = atomicAdd(next, 1);
  threads[k] = threadIdx.x;
  blocks[k] = blockIdx.x;
  __syncthreads();
}
"""
LANE = np.arange(32)


@pytest.fixture(scope="module", params=["plain", "checked"])
def module(request):
    return SimModule(SOURCE, request.param)


def test_shuffles_of_eight_bytes(module):
    x, y = LANE * 1.25, (LANE.astype(np.int64) << 33) + 7
    out, wide = np.zeros((8, 32)), np.zeros(32, np.int64)
    module.launch("shuffles", (1,), (32,), [out, x, y, wide])
    sources = [
        (LANE * 5 + 3) % 32,
        LANE // 8 * 8 + 3,
        np.where(LANE < 5, LANE, LANE - 5),
        np.where(LANE % 8 < 3, LANE, LANE - 3),
        np.where(LANE + 5 > 31, LANE, LANE + 5),
        np.where(LANE % 16 + 3 > 15, LANE, LANE + 3),
        LANE ^ 9,
        np.where(LANE >= 16, LANE ^ 17, LANE),  # a later segment is out of reach, an earlier one is not
    ]
    np.testing.assert_array_equal(out, x[np.array(sources)])
    np.testing.assert_array_equal(wide, y[::-1])


def test_votes(module):
    out, flags = np.zeros(64, np.uint32), np.zeros(32, np.int32)
    module.launch("votes", (1,), (32,), [out, flags])
    assert (out[:32] == sum(1 << k for k in range(0, 32, 3))).all()
    assert (out[32:44] == 0b101010101010).all() and not out[44:].any()
    assert (flags == 2 + 4 + 16).all()


def test_lanes_that_have_ended_take_no_part(module):
    out = np.zeros(64, np.uint32)
    module.launch("some_left", (1,), (32,), [out])
    running = LANE % 4 != 3
    # The simulator runs lanes one after the other: those that will end are active until they do.
    assert ((out[:32][running] & 0x77777777) == 0x77777777).all()
    assert (out[32:][running] == 0x77777777).all() and not out[32:][~running].any()


def test_reductions_of_a_warp(module):
    x = np.random.default_rng(0).integers(-1000, 1000, 32).astype(np.int32)
    out, bits = np.zeros(128, np.int32), np.zeros((4, 32), np.uint32)
    module.launch("reductions", (1,), (32,), [out, bits, x])
    u = x.view(np.uint32)
    assert (out[:32] == x.sum()).all() and (out[32:64] == x.min()).all() and (out[64:96] == x.max()).all()
    assert (out[116:] == x[20:].sum()).all() and not out[96:116].any()
    expected = [np.bitwise_and.reduce(u), np.bitwise_or.reduce(u), np.bitwise_xor.reduce(u), u.max()]
    np.testing.assert_array_equal(bits, np.repeat(np.array(expected)[:, None], 32, 1))


def test_matches_compare_bits(module):
    x = np.array([0.0, -0.0, np.nan, 1.0] * 8, np.float32)
    y = (LANE % 5).astype(np.int64) << 40
    out, all_equal = np.zeros((4, 32), np.uint32), np.zeros(64, np.int32)
    module.launch("matches", (1,), (32,), [out, all_equal, x, y])
    same = x.view(np.uint32)[:, None] == x.view(np.uint32)
    np.testing.assert_array_equal(out[0], (same << LANE).sum(1))
    np.testing.assert_array_equal(out[1], ((y[:, None] == y) << LANE).sum(1))
    assert (out[2] == 0xFFFFFFFF).all() and all_equal[:32].all()
    assert not out[3].any() and not all_equal[32:].any()


def test_barriers_that_count(module):
    out = np.zeros(100, np.int32)
    module.launch("counted", (1,), (100,), [out])
    assert (out == 20 + 1000 + 2000).all()


def test_vectors(module):
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    wide, ints, shorts = np.array([1.0, 2.0]), np.arange(4, dtype=np.int32), np.arange(5, dtype=np.int16)
    memory = [_aligned(a) for a in (x, out, wide, ints, shorts)]
    module.launch("vectors", (1,), (1,), memory)
    _, out, wide, ints, shorts = memory
    assert out.tolist() == [4, 2, 1, 0, 5, 4, 6, 12 + 1600 + 320000]
    assert wide.tolist() == [2, 1] and ints.tolist() == [3, 2, 1, 0] and shorts.tolist() == [0, 2, 2, 3, 2]


def _aligned(array: np.ndarray) -> np.ndarray:
    """A copy at a multiple of 64 bytes."""
    memory = np.zeros(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype)
    copy[:] = array
    return copy


def test_atomics(module):
    u = np.array([0, 100, 0, 2, 0xFFFFFFFF, 0, 0, 77, 0], np.uint32)
    i, f = np.array([-100, 100], np.int32), np.zeros(1, np.float32)
    w, old = np.zeros(1, np.uint64), np.zeros(20, np.uint32)
    module.launch("atomics", (1,), (10,), [u, i, f, w, old])
    # Inc wraps to 0 beyond 4, Dec to 4 below 0.
    assert u.tolist() == [30, 90, 0, 2, 0xFFFFFFF0, 15, 1, 9, 10]
    assert i.tolist() == [4, -4] and f[0] == 5 and w[0] == 10 << 33
    assert old.tolist() == [77, *range(9), *range(10)]


def test_dynamic_shared_memory(module):
    out = np.zeros(1000, np.int32)
    module.launch("late", (1,), (32,), [out, 1000], shared_bytes=4000)
    np.testing.assert_array_equal(out, 999 - np.arange(1000) + np.arange(1000) % 32)
    with pytest.raises(NestorError, match="CUDA has 227 KiB"):
        module.launch("late", (1,), (32,), [out, 1000], shared_bytes=(227 << 10) + 1)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_orders_of_threads_and_blocks(order):
    threads, blocks, count = np.zeros(160, np.int32), np.zeros(160, np.int32), np.zeros(1, np.int32)
    SimModule(SOURCE, order=order, seed=3).launch("turns", (4,), (40,), [threads, blocks, count])
    expected = {"forward": np.arange(40), "reverse": np.arange(40)[::-1]}
    for row in threads.reshape(4, 40):
        assert sorted(row) == list(range(40))
        if order in expected:
            np.testing.assert_array_equal(row, expected[order])
    order_of_blocks = blocks.reshape(4, 40)[:, 0].tolist()
    assert sorted(order_of_blocks) == [0, 1, 2, 3]
    assert order == "random" or order_of_blocks == ([0, 1, 2, 3] if order == "forward" else [3, 2, 1, 0])
    again = np.zeros(160, np.int32)
    SimModule(SOURCE, order=order, seed=3).launch(
        "turns", (4,), (40,), [again, blocks, np.zeros(1, np.int32)]
    )
    np.testing.assert_array_equal(again, threads)


def test_a_random_order_is_none_of_the_others():
    threads = np.zeros(160, np.int32)
    module = SimModule(SOURCE, order="random", seed=3)
    module.launch("turns", (4,), (40,), [threads, np.zeros(160, np.int32), np.zeros(1, np.int32)])
    rows = threads.reshape(4, 40)
    assert not (np.sort(rows) == rows).all(1).any() and not (np.diff(rows, axis=0) == 0).all(1).any()
