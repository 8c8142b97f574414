"""The kernels of tests/filecheck/lowering/cuda_c run in the CUDA simulator and agree with NumPy."""

import numpy as np
import pytest
from cuda_kernels import KERNELS, load, parse
from nestor.dialects.diagnostic import NestorError
from nestor.lowering.cuda_c.emit import emit_cuda
from nestor.runtime.cuda.host_program import ErrorRecord
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.cuda_sim.module import SimModule

OK = ErrorRecord()


@pytest.fixture(params=["plain", "checked,random=4"])
def mode(request, monkeypatch):
    """How the engines of a test run kernels: where it is checked, these have no fault."""
    monkeypatch.setenv("NESTOR_CUDA_SIM", request.param)


def iou(x1, y1, w1, h1, x2, y2, w2, h2):
    xi = np.maximum(x1, x2)
    yi = np.maximum(y1, y2)
    wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - xi, 0)
    hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - yi, 0)
    area = wi * hi
    return area / (w1 * h1 + w2 * h2 - area + np.float32(1e-5))


@pytest.mark.usefixtures("mode")
def test_iou_takes_any_strides():
    rng = np.random.default_rng(0)
    arrays = [rng.random((50, 77), dtype=np.float32) for _ in range(8)]
    arrays[2] = np.asfortranarray(arrays[2])
    arrays[3] = rng.random((50, 154), dtype=np.float32)[::-1, ::2]
    arrays[4][7, 7] = np.nan
    out = np.zeros((50, 77), np.float32)
    assert SimEngine(load("iou-strided"))(*arrays, out) == OK
    np.testing.assert_array_equal(out, iou(*arrays))


@pytest.mark.usefixtures("mode")
def test_softmax():
    x = np.random.default_rng(1).normal(size=(70, 33)).astype(np.float32)
    out = np.zeros_like(x)
    assert SimEngine(load("softmax"))(x, out) == OK
    shifted = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, shifted / shifted.sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.usefixtures("mode")
def test_an_empty_grid_launches_nothing():
    out = np.zeros((0, 5), np.float32)
    assert SimEngine(load("softmax"))(out, out) == OK


@pytest.mark.usefixtures("mode")
def test_integers_wrap_around():
    rng = np.random.default_rng(2)
    a = rng.integers(-(2**31), 2**31, 100, dtype=np.int32)
    a[:8] = np.arange(8)
    flag = rng.integers(0, 2, 100, dtype=np.int8)
    wide = rng.integers(-(2**63), 2**63, 100, dtype=np.int64)
    out, mask = np.zeros(100, np.int32), np.zeros(100, np.int8)
    assert SimEngine(load("integers"))(a, flag, wide, out, mask) == OK
    picked = flag.astype(bool) & ((a > 3) | ~(a.view(np.uint32) < 9))
    other = np.minimum(a, 5) // 3 + (wide << 3).astype(np.int32)
    expected = np.where(picked, a * np.int32(31) + np.int32(7), other)
    np.testing.assert_array_equal(out, expected ^ (a.view(np.uint32) // 10).view(np.int32))
    np.testing.assert_array_equal(mask.astype(bool), picked)


@pytest.mark.usefixtures("mode")
def test_gauss_seidel_is_sequential():
    a = np.random.default_rng(3).random((12, 9))
    expected = a.copy()
    for i in range(1, 11):
        for j in range(1, 8):
            expected[i, j] = (expected[i - 1, j] + expected[i + 1, j]) * 0.5
    assert SimEngine(load("gauss-seidel"))(a) == OK
    np.testing.assert_array_equal(a, expected)


@pytest.mark.usefixtures("mode")
def test_a_failed_check_is_recorded_and_the_first_one_wins():
    table = np.arange(16, dtype=np.float32)
    index = np.arange(40) % 16
    out = np.zeros(40, np.float32)
    engine = SimEngine(load("checks"))
    assert engine(table, index, out) == OK
    np.testing.assert_array_equal(out, table[index])
    index[[11, 37]] = [-3, 16]
    assert engine(table, index, out) == ErrorRecord(code=1, site=3, value=-3, extent=16)


@pytest.mark.usefixtures("mode")
def test_barriers_and_shared_memory():
    x = np.arange(1024, dtype=np.float32)
    out = np.zeros(8, np.float32)
    assert SimEngine(load("shared-sum"))(x, out) == OK
    np.testing.assert_array_equal(out, x.reshape(8, 128).sum(1))


def test_shared_memory_is_poisoned_for_every_block():
    source = """extern "C" __global__ void late(float *out) {
      __shared__ float cell;
      if (blockIdx.x == 0) cell = 1.0f;
      __syncthreads();
      out[blockIdx.x] = cell;
    }"""
    out = np.zeros(2, np.float32)
    SimModule(source).launch("late", (2,), (32,), [out])
    assert out[0] == 1 and np.isnan(out[1])


def test_warp_operations():
    source = """extern "C" __global__ void warp(int *sum, unsigned *odd, int *lane3) {
      int v = threadIdx.x;
      for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
      sum[threadIdx.x] = v;
      odd[threadIdx.x] = __ballot_sync(0xffffffffu, threadIdx.x & 1);
      lane3[threadIdx.x] = __shfl_sync(0xffffffffu, (int)threadIdx.x, 3);
    }"""
    total, odd, lane3 = np.zeros(64, np.int32), np.zeros(64, np.uint32), np.zeros(64, np.int32)
    SimModule(source).launch("warp", (1,), (64,), [total, odd, lane3])
    assert total[0] == sum(range(32)) and total[63] == sum(range(32, 64))
    assert (odd == 0xAAAAAAAA).all()
    assert lane3[5] == 3 and lane3[40] == 35


def test_a_deadlock_is_an_error_not_a_hang():
    source = """extern "C" __global__ void stuck(int *x) {
      if (threadIdx.x < 7) __syncwarp();
      else __syncthreads();
    }"""
    with pytest.raises(NestorError, match="deadlock"):
        SimModule(source).launch("stuck", (1,), (32,), [np.zeros(1, np.int32)])


def test_a_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(NestorError, match="no 'no-such-compiler' on PATH"):
        SimModule('extern "C" __global__ void k(int *x) {}')


def test_an_unknown_kernel_is_named():
    module = SimModule('extern "C" __global__ void only(int *x) {}')
    with pytest.raises(NestorError, match="no kernel 'other'"):
        module.launch("other", (1,), (1,), [np.zeros(1, np.int32)])


@pytest.mark.usefixtures("mode")
def test_host_control_flow_and_temporaries():
    engine = SimEngine(
        parse("""
    func.func @host(%x: memref<8xf32>, %times: i64) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %t = memref.alloc() : memref<8xf32>
      %n = arith.index_cast %times : i64 to index
      scf.for %k = %c0 to %n step %c1 {
        gpu.launch_func @k::@twice blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
            args(%x : memref<8xf32>, %t : memref<8xf32>)
        "memref.copy"(%t, %x) : (memref<8xf32>, memref<8xf32>) -> ()
      }
      memref.dealloc %t : memref<8xf32>
      func.return
    }
    gpu.module @k attributes {nestor.index_bits = 32 : i64} {
      gpu.func @twice(%x: memref<8xf32>, %y: memref<8xf32>) kernel {
        %i = gpu.thread_id x
        %0 = memref.load %x[%i] : memref<8xf32>
        %1 = arith.addf %0, %0 : f32
        memref.store %1, %y[%i] : memref<8xf32>
        gpu.return
      }
    }
    """)
    )
    x = np.ones(8, np.float32)
    assert engine(x, 5) == OK
    assert (x == 32).all()


def test_every_kernel_of_the_textual_tests_builds():
    for name in KERNELS:
        SimModule(emit_cuda(load(name)))
