"""Vectorized loops in kernels: what is moved at once, and that edges and misaligned arrays come out the same."""

import numpy as np
import pytest
from nestor.dialects.parse import parse_module
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.cuda_c.emit import emit_cuda, print_cuda
from nestor.lowering.nest_to_gpu.convert import ConvertNestToGpuPass
from nestor.runtime.cuda import nvrtc
from nestor.runtime.cuda_sim.engine import SimEngine

needs_compiler = pytest.mark.skipif(
    nvrtc.available() is None,
    reason="neither NVRTC (pip install 'nvidia-cuda-nvrtc==13.0.*') nor nvcc is installed",
)

FLAT = """
func.func @flat(%x: memref<?x{T}> {{nest.dims = ["n"]}}, %s: memref<{T}>,
                %y: memref<?x{T}> {{nest.role = "out", nest.dims = ["n"]}}) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x{T}>
  nest.for "i.o" %o = 0 to %n ceildiv {block} bind "block.x" {{
    nest.for "i.i.o" %t = 0 to 32 bind "thread.x" {{
      nest.for "i.i.u" %u = 0 to 2 unrolled {{
        nest.for "i.i.i" %v = 0 to {W} vectorized({W}) {{
          %a = nest.load %x[{block} * %o + {half} * %u + {W} * %t + %v] : memref<?x{T}>
          %b = nest.load %s[] : memref<{T}>
          %c = {op} %a, %b : {T}
          nest.store "y" %c, %y[{block} * %o + {half} * %u + {W} * %t + %v]
              where ({block} * %o + {half} * %u + {W} * %t + %v < %n) : memref<?x{T}>
        }}
      }}
    }}
  }}
  func.return
}}
"""
"""y = x * s, two vectors of W elements a thread."""


def lowered(text):
    module = parse_module(text, "vectors.mlir", make_context())
    ConvertNestToGpuPass(index_bits=32).apply(make_context(), module)
    verify(module)
    return module


def flat(element, width):
    op = "arith.muli" if element[0] == "i" else "arith.mulf"
    return lowered(FLAT.format(T=element, W=width, block=64 * width, half=32 * width, op=op))


@pytest.mark.parametrize(
    ("element", "dtype", "width", "loads"),
    [
        ("f32", "f4", 4, "nt_vector<float, 4> x_v = nt_load<4>(&x[index])"),
        ("f64", "f8", 4, "nt_vector<double, 4> x_v = nt_load<4>(&x[index])"),
        ("f16", "f2", 8, "nt_vector<unsigned short, 8> x_v = nt_load<8>(&x[index])"),
        ("i8", "i1", 16, "nt_vector<signed char, 16> x_v = nt_load<16>(&x[index])"),
    ],
)
def test_a_flat_loop_is_right_at_every_edge_and_alignment(element, dtype, width, loads):
    module = flat(element, width)
    source = emit_cuda(module)
    assert loads in source
    assert "const int index = i + u * " in source and "v < min(" in source, "the elements at an edge"
    engine = SimEngine(module, "flat")
    random = np.random.default_rng(width)
    for n in (1, width - 1, width, 64 * width - 1, 64 * width, 200 * width + 3):
        for offset in (0, 1, width):
            x = (random.standard_normal(n + offset) * 9).astype(dtype)[offset:]
            y = np.full(n + offset + 1, 7, dtype)[offset:]
            engine(x, np.array(3, dtype), y[:n])
            np.testing.assert_array_equal(y[:n], x * np.array(3, dtype))
            assert y[n] == 7, "nothing is written beyond the end"


@needs_compiler
@pytest.mark.parametrize(
    ("element", "width", "access"), [("f32", 4, "v4.f32"), ("f64", 2, "v2.f64"), ("f16", 8, "v4")]
)
def test_an_access_is_one_instruction_and_lanes_stay_in_registers(element, width, access):
    ptx = nvrtc.compile_ptx(emit_cuda(flat(element, width)), "compute_80")
    assert f"ld.global.nc.{access}" in ptx
    assert f"st.global.{access}" in ptx
    assert ".local" not in ptx
    assert nvrtc.compile_cubin(emit_cuda(flat(element, width)), "sm_90")


ROWS = """
func.func @rows(%x: memref<8x?xf32, strided<[?, 1]>> {nest.dims = [8, "m"]},
                %bias: memref<?xf32> {nest.dims = ["m"]}, %scale: memref<8xf32>,
                %y: memref<8x?xf32> {nest.role = "out", nest.dims = [8, "m"]}) {
  %c1 = arith.constant 1 : index
  %m = memref.dim %y, %c1 : memref<8x?xf32>
  nest.for "i" %i = 0 to 8 bind "block.x" {
    nest.for "t" %t = 0 to 32 bind "thread.x" {
      nest.for "j" %j = 0 to %m step 128 {
        nest.for "j.i" %v = 0 to 4 vectorized(4) {
          %a = nest.load %x[%i, %j + 4 * %t + %v] : memref<8x?xf32, strided<[?, 1]>>
          %b = nest.load %bias[%j + 4 * %t + %v] : memref<?xf32>
          %before = nest.load %bias[%j + 4 * %t + %v - 1] : memref<?xf32>
          %s = nest.load %scale[%i] : memref<8xf32>
          %c = arith.mulf %a, %s : f32
          %d = arith.addf %c, %b : f32
          %e = arith.subf %d, %before : f32
          nest.store "y" %e, %y[%i, %j + 4 * %t + %v]
              where (%j + 4 * %t + %v < %m, %j + 4 * %t + %v >= 1) : memref<8x?xf32>
        }
      }
    }
  }
  func.return
}
"""


def test_rows_of_a_strided_array_with_shifted_and_shared_elements():
    module = lowered(ROWS)
    source = emit_cuda(module)
    assert source.count("= nt_load<4>(") == 2, "x and bias; what is shifted by one is read by elements"
    engine = SimEngine(module, "rows")
    for m, pitch, offset in [
        (1, 1, 0),
        (256, 256, 0),
        (255, 256, 0),
        (256, 260, 4),
        (256, 257, 0),
        (130, 132, 1),
    ]:
        x = np.arange(8 * pitch + offset, dtype=np.float32)[offset:].reshape(8, pitch)[:, :m]
        bias = np.cos(np.arange(m, dtype=np.float32))
        scale = np.arange(8, dtype=np.float32)
        y = np.zeros((8, m), np.float32)
        engine(x, bias, scale, y)
        expected = np.zeros_like(y)
        expected[:, 1:] = (x[:, 1:] * scale[:, None] + bias[1:]) - bias[:-1]
        np.testing.assert_array_equal(y, expected)


KEPT = """
func.func @kept(%x: memref<128xf32>, %y: memref<128xf32>) {
  nest.for "t" %t = 0 to 32 bind "thread.x" {
    nest.for "v" %v = 0 to 4 vectorized(4) {
      nest.store "x" %zero, %x[4 * %t + %v] : memref<128xf32>
      %a = nest.load %x[4 * %t + %v] : memref<128xf32>
      nest.store "y" %a, %y[4 * %t + %v] : memref<128xf32>
    }
  }
  func.return
}
"""


def test_an_element_that_the_loop_writes_before_is_not_read_ahead():
    text = KEPT.replace("{\n  nest.for", "{\n  %zero = arith.constant 0.0 : f32\n  nest.for", 1)
    module = lowered(text)
    assert "nt_load" not in emit_cuda(module)
    x, y = np.ones(128, np.float32), np.ones(128, np.float32)
    SimEngine(module, "kept")(x, y)
    assert not x.any()
    assert not y.any()


SHARED = """
func.func @swap(%x: memref<128x128xf32>, %y: memref<128x128xf32> {nest.role = "out"}) {
  nest.for "b" %b = 0 to 1 bind "block.x" {
    %tile = nest.alloc "tile" : memref<128x128xf32, 3>
    %last = nest.alloc "last" : memref<f32, 3>
    nest.for "t" %t = 0 to 128 bind "thread.x" {
      nest.for "k" %k = 0 to 128 {
        %a = nest.load %x[%k, %t] : memref<128x128xf32>
        nest.store "tile" %a, %tile[%k, %t] : memref<128x128xf32, 3>
        nest.store "last" %a, %last[] where (%t + %k - 254 >= 0) : memref<f32, 3>
      }
    }
    nest.for "t.1" %t = 0 to 128 bind "thread.x" {
      nest.for "k.1" %k = 0 to 128 {
        %a = nest.load %tile[%t, %k] : memref<128x128xf32, 3>
        %b1 = nest.load %last[] : memref<f32, 3>
        %c = arith.subf %a, %b1 : f32
        nest.store "y" %c, %y[%k, %t] : memref<128x128xf32>
      }
    }
  }
  func.return
}
"""


def test_more_shared_memory_than_a_kernel_may_declare_comes_with_the_launch():
    module = lowered(SHARED)
    kernels = print_cuda(module)
    assert "extern __shared__ __align__(16) unsigned char shared[];" in kernels.source
    assert "float (*tile)[128] = reinterpret_cast<float (*)[128]>(shared);" in kernels.source
    assert kernels.signatures["swap_kernel"].shared_bytes == 128 * 128 * 4 + 16
    x = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
    y = np.zeros_like(x)
    SimEngine(module, "swap")(x, y)
    np.testing.assert_array_equal(y, x.T - x[127, 127])


@needs_compiler
def test_shared_memory_of_the_launch_compiles():
    assert nvrtc.compile_cubin(emit_cuda(lowered(SHARED)), "sm_80")
