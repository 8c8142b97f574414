"""Lowered kernels compute what NumPy computes, stop at their checks, and agree at every optimisation level."""

import math

import numpy as np
import pytest
from cpu_kernels import KERNELS, Kernel, lower, sample_arguments
from nestor.dialects.diagnostic import NestorError
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from parsed import parse_module
from places import UNIT

HOME = UNIT / "kernels"


def kernel(name: str, **options) -> Kernel:
    return Kernel((HOME / f"{name}.mlir").read_text(), **options)


def facts(returned: tuple) -> tuple:
    """The code, and of the error record what is not for the numbers of a `raise`."""
    code, record = returned
    return code, record[:4]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_optimisation_levels_agree(path):
    results = []
    for level in (0, None):
        compiled = Kernel(path.read_text(), opt_level=level)
        arguments = sample_arguments(compiled.types)
        results.append((compiled(*arguments), [a.tobytes() for a in arguments if isinstance(a, np.ndarray)]))
    assert results[0] == results[1]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 50_000])
def test_iou_is_numpy_bit_for_bit(n):
    rng = np.random.default_rng(n)
    x1, y1, w1, h1, x2, y2, w2, h2 = boxes = [rng.random(n, dtype=np.float32) for _ in range(8)]
    boxes[0][0] = np.nan
    out = np.empty(n, np.float32)
    assert kernel("iou_vector")(*boxes, out)[0] == 0
    wi = np.maximum(np.minimum(x1 + w1, x2 + w2) - np.maximum(x1, x2), np.float32(0))
    hi = np.maximum(np.minimum(y1 + h1, y2 + h2) - np.maximum(y1, y2), np.float32(0))
    area = wi * hi
    expected = area / (w1 * h1 + w2 * h2 - area + np.float32(1e-5))
    np.testing.assert_array_equal(out, expected)


def test_gauss_seidel_reads_what_it_has_just_written():
    a = np.random.default_rng(0).random((9, 12))
    expected = a.copy()
    for i in range(1, 8):
        for j in range(1, 11):
            expected[i, j] = (
                expected[i - 1, j] + expected[i + 1, j] + expected[i, j - 1] + expected[i, j + 1]
            ) * 0.25
    kernel("gauss_seidel")(a)
    np.testing.assert_array_equal(a, expected)


def test_a_failed_check_stops_and_reports_its_site():
    gather = kernel("checked_gather")
    index = np.array([0, 2, 5, 1])
    x = np.arange(3.0)
    out = np.full(4, -1.0)
    assert facts(gather(index, x, out)) == (1, (1, 7, 5, 3))
    assert (out == -1).all()
    index[2] = 2
    assert facts(gather(index, x, out)) == (0, (0, 0, 0, 0))
    np.testing.assert_array_equal(out, [0, 2, 2, 1])


def test_an_allocation_that_fails_is_a_memory_error():
    text = """
    func.func @huge(%n: index, %out: memref<1xf64>) {
      %c0 = arith.constant 0 : index
      %t = memref.alloc(%n) : memref<?xf64>
      %v = memref.load %t[%c0] : memref<?xf64>
      memref.store %v, %out[%c0] : memref<1xf64>
      func.return
    }
    """
    assert facts(Kernel(text)(1 << 56, np.zeros(1))) == (4, (4, 0, 0, 0))


def test_conversions_round_once():
    x = np.concatenate(
        [np.random.default_rng(0).normal(scale=40, size=400), [0.0, -0.0, 65519.999, 65520.0, 6e-8]]
    )
    n = len(x)
    half, bits = np.empty(n, np.float16), np.empty(n, np.int16)
    single, integer, flag = np.empty(n, np.float32), np.empty(n, np.int64), np.empty(n, np.int8)
    assert kernel("conversions")(x, half, single, integer, flag, bits)[0] == 0
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(half, x.astype(np.float16))
    main = n // 4 * 4
    np.testing.assert_array_equal(single[:main], x[:main].astype(np.float32))
    np.testing.assert_array_equal(integer[:main], np.trunc(x[:main]).astype(np.int64))


def test_integers():
    a, b, q, w = sample_arguments(kernel("integers").types)
    a[:4] = -7, 7, -1, -2_000_000_000
    kernel("integers")(a, b, q, w)
    odd = np.array([int(math.fmod(int(v) | 1, 7)) | 1 for v in b])
    shift = b & 7
    floor = a.astype(np.int64) // odd
    ceil = -(-a.astype(np.int64) // odd)
    left = (floor << shift).astype(np.int32)
    right = (ceil >> shift).astype(np.int32)
    unsigned = a.view(np.uint32) >> shift.view(np.uint32)
    least = np.minimum(np.maximum(left, right).view(np.uint32), unsigned).view(np.int32)
    expected = np.array([abs(int(v)).bit_count() for v in least])
    np.testing.assert_array_equal(q, expected)


def test_strided_views():
    base = np.random.default_rng(0).random((20, 30))
    x = base[::2, ::-3]
    out, column = np.empty(x.shape), np.empty(8)
    assert kernel("views")(x, np.zeros(1, np.int64), out, column)[0] == 0
    np.testing.assert_array_equal(out, -x)
    np.testing.assert_array_equal(column, x.ravel()[1:9])


def test_threads_have_scratch_memory_of_their_own():
    x = np.random.default_rng(0).random((101, 37))
    out = np.zeros_like(x)
    assert facts(kernel("parallel_scratch")(x, 2.0, out)) == (0, (0, 0, 0, 0))
    np.testing.assert_array_equal(out, np.cumsum(x * 2.0, axis=1))


def test_out_of_memory_in_a_parallel_loop_is_reported():
    text = (HOME / "parallel_scratch.mlir").read_text().replace("memref.alloc(%m)", "memref.alloc(%huge)")
    text = text.replace("%zero = ", "%huge = arith.constant 72057594037927936 : index\n  %zero = ")
    x = np.ones((8, 4))
    assert facts(Kernel(text)(x, 2.0, np.zeros_like(x))) == (4, (4, 0, 0, 0))


@pytest.mark.parametrize("start", [0, 1, 16])
def test_streaming_stores_take_any_alignment(start):
    x = np.random.default_rng(0).random(64, dtype=np.float32)
    out = np.zeros(128, np.float32)[start : start + 64]
    assert kernel("streaming")(x, out)[0] == 0
    np.testing.assert_array_equal(out, x + x)


def test_locations_become_comments():
    module = lower(parse_module((HOME / "gauss_seidel.mlir").read_text(), "sweep.mlir"))
    assert "; sweep.mlir:" in emit_llvm_ir(module, locations=True)


def test_reductions():
    x = np.random.default_rng(0).normal(size=(5, 64)).astype(np.float32)
    x[2, 7] = np.nan
    total, top = np.empty(5, np.float32), np.empty(5, np.float32)
    assert kernel("reductions")(x, total, top)[0] == 0
    np.testing.assert_array_equal(top, x.max(axis=1))
    np.testing.assert_allclose(total, x.sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    ("array", "why"),
    [
        (np.zeros(4, np.float32), "element type"),
        (np.zeros((4, 4)), "1 axes"),
        (np.zeros(8)[::2], "not contiguous"),
        ([0.0], "not a NumPy array"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(array, why):
    with pytest.raises(NestorError, match=why):
        kernel("checked_gather")(np.zeros(1, np.int64), array, np.zeros(1))
