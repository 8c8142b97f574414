"""Products by tensor cores from Python to the simulator: against NumPy, in checked mode, with faults that are found."""

from __future__ import annotations

import re

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.frontend.jit.specialise.options import fastmath_flags
from nestor.frontend.jit.specialise.stages import run_pipeline
from nestor.lowering.cuda_c.emit import emit_cuda
from nestor.runtime.cuda import nvrtc
from nestor.runtime.cuda_sim.module import SimModule
from nestor.transforms.schedulers.cuda.tensor_cores import candidates
from parsed import parse_module

pytestmark = pytest.mark.one_of(3)


def product(a, b):
    return a @ b


def layer(a, b, c):
    return np.maximum(np.matmul(a, b) + c, 0)


def operands(rows, terms, columns):
    rng = np.random.default_rng(5)
    shapes = (rows, terms), (terms, columns), (columns,)
    return [rng.standard_normal(shape).astype(np.float16) for shape in shapes]


def check(result, a, b, wanted, rounded=0.0):
    """Sums of exact products in float32, whatever their order; they and then `rounded` numbers are rounded to float16."""
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    bound = a.shape[1] * 2.0**-24 * size + 2.0**-10 * (np.abs(wanted) + np.abs(rounded)) + 2.0**-24
    assert result.dtype == np.float16
    assert np.all(np.abs(result - wanted) <= bound)


@pytest.fixture(scope="module")
def deep():
    """A product of 32 x 256 by 256 x 64, eight tiles deep: its CUDA C, and its operands."""
    a, b, _ = operands(32, 256, 64)
    text = nt.jit(product, target="cuda-sim", dynamic=False).lower(a, b).as_text("cuda")
    return text, a, b


def run(program, *arguments, target="cuda-sim", **options):
    """What a program computes, and the CUDA C that did."""
    compiled = nt.jit(program, target=target, dynamic=False, **options).lower(*arguments).compile()
    return compiled(*arguments), compiled.engine.module.source


def extents_of_launch(text):
    """Blocks and threads along each axis, as the comment above the only kernel says."""
    found = re.search(r"// \w+.*: (.*?) blocks? of (.*?) threads?$", text, re.MULTILINE)
    return [
        tuple((*(int(n) for n in part.replace("one", "1").split(" x ")), 1, 1)[:3]) for part in found.groups()
    ]


def launch(text, a, b, mode="plain"):
    result = np.full((a.shape[0], b.shape[1]), np.nan, np.float16)
    grid, block = extents_of_launch(text)
    arguments = [a.view(np.uint16), b.view(np.uint16), result.view(np.uint16), True]
    SimModule(text, mode).launch(re.search(r"(\w+_kernel)\(", text)[1], grid, block, arguments)
    return result


def test_products_are_those_of_numpy(deep):
    text, a, b = deep
    assert "nt_mma_m16n8k16_f16" in text
    assert "nt_copy_async16" in text
    assert text.count("nt_wait_copies<2>") == 1
    check(launch(text, a, b), a, b, a.astype(np.float64) @ b.astype(np.float64))


def test_bias_and_activation_are_done_to_the_sums():
    a, b, c = operands(64, 32, 64)
    result, text = run(layer, a, b, c)
    total = a.astype(np.float64) @ b.astype(np.float64)
    check(result, a, b, np.maximum(total + c, 0), total)
    assert text.count("__global__") == 1
    assert "nt_mma" in text


def by_transposed(a, b):
    return np.matmul(a, b.T, dtype=np.int32)


def of_transposed(a, b):
    return np.matmul(a.T, b, dtype=np.float32)


def layer_of_stack(a, b, c):
    return np.maximum(np.matmul(a, b) + c, 0)


def test_edges_of_a_stack_are_copied_as_zeros():
    """No extent is a multiple of a tile; rows of %a begin at multiples of 16 bytes, and those of %b do not."""
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(s).astype(np.float16) for s in ((2, 33, 40), (2, 40, 35), (35,)))
    got, text = run(layer_of_stack, a, b, c, target="cuda-sim:checked")
    total = a.astype(np.float64) @ b.astype(np.float64)
    for k in range(2):
        check(got[k], a[k], b[k], np.maximum(total[k] + c, 0), total[k])
    assert text.count("__global__") == 1
    assert "nt_mma_m16n8k16_f16" in text
    assert re.search(r"nt_copy_async16\([^;]*a\[[^;]*\? 16 : 0", text)


def kernels_in(text):
    """The text of the kernels, without what is before them."""
    return text[text.index('extern "C"') :]


SHAPES = {
    "few rows, in parts of the terms": ((8, 512), (512, 256), "16"),
    "few columns": ((96, 64), (64, 8), "16"),
    "rows at multiples of 8 bytes": ((50, 76), (76, 68), "8"),
    "rows at multiples of 4 bytes": ((50, 78), (78, 66), "4"),
    "rows at odd places": ((33, 77), (77, 35), ""),
}


@pytest.mark.parametrize("name", SHAPES)
def test_products_of_other_extents(name):
    """Copies that can be in flight are; what only passes on stays in 16 bits; a decided condition is not asked."""
    left, right, copied = SHAPES[name]
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in (left, right))
    got, text = run(product, a, b, target="cuda-sim:checked")
    check(got, a, b, a.astype(np.float64) @ b.astype(np.float64))
    kernels = kernels_in(text)
    assert "nt_mma_m16n8k16_f16" in kernels
    assert "nt_half_to_float" not in kernels
    assert set(re.findall(r"nt_copy_async(\d+)", kernels)) == set(copied.split())
    assert not re.search(r"< 0\b", kernels)


@pytest.mark.parametrize(("rows", "columns"), [(128, 128), (64, 70)])
def test_results_are_stored_16_bytes_at_a_time_where_rows_begin_so(rows, columns):
    a, b, c = operands(rows, 64, columns)
    compiled = nt.jit(layer, target="cuda-sim:profile", dynamic=False).lower(a, b, c).compile()
    total = a.astype(np.float64) @ b.astype(np.float64)
    check(compiled(a, b, c), a, b, np.maximum(total + c, 0), total)
    report = compiled.profile(a, b, c)
    sizes = {line.size for line in report.lines if (line.array, line.kind) == ("result", "store")}
    assert sizes == ({16} if columns % 8 == 0 else {2, 4})
    assert report.ways == 1.0


def test_few_elements_of_many_terms_are_computed_in_parts():
    a, b, c = operands(48, 8192, 40)
    got, text = run(layer, a, b, c)
    total = a.astype(np.float64) @ b.astype(np.float64)
    check(got, a, b, np.maximum(total + c, 0), total)
    assert re.search(r"float \*__restrict__ t_parts", text)
    assert text.count("__global__") == 2
    assert "nt_mma_m16n8k16_f16" in text


def grouped_queries(q, k):
    return np.einsum("bghsd,bgtd->bghst", q, k)


def of_experts(x, w):
    return np.einsum("mgk,gkn->mgn", x, w)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(
    ("program", "shapes"),
    [
        (grouped_queries, ((2, 2, 3, 33, 32), (2, 2, 40, 32))),
        (of_experts, ((24, 3, 64), (3, 64, 40))),
        (product, ((2, 3, 33, 40), (2, 1, 40, 35))),
    ],
)
def test_stacks_and_groups(program, shapes, is_dynamic):
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in shapes)
    compiled = nt.jit(program, target="cuda-sim:checked", dynamic=is_dynamic).lower(a, b).compile()
    got, wide = compiled(a, b), [x.astype(np.float64) for x in (a, b)]
    wanted, size = program(*wide), program(*map(np.abs, wide))
    assert np.all(np.abs(got - wanted) <= 2.0**-10 * np.abs(wanted) + 64 * 2.0**-24 * size + 2.0**-24)
    assert "nt_mma_m16n8k16_f16" in kernels_in(compiled.engine.module.source)


def test_tiles_are_no_larger_than_what_is_there():
    for extent in (1, 8, 16, 17, 60, 129, 5000):
        most = max(16, 2 * extent)
        for rows, columns in ((extent, 4096), (4096, extent)):
            found = candidates(rows, columns)
            assert found
            assert all(tiles.rows <= most or rows == 4096 for tiles in found)
            assert all(tiles.columns <= most or columns == 4096 for tiles in found)


def test_bytes_are_summed_up_exactly():
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-128, 128, (32, 128)).astype(np.int8) for _ in range(2))
    result, text = run(by_transposed, a, b)
    assert np.array_equal(result, a.astype(np.int32) @ b.astype(np.int32).T)
    assert "nt_mma_m16n8k32_s8" in text
    assert "nt_load_matrix_x4_pair(" in text


def test_wide_sums_of_a_transposed_matrix():
    a, b, _ = operands(64, 64, 32)
    result, text = run(of_transposed, a, b)
    wanted = a.astype(np.float64).T @ b.astype(np.float64)
    size = np.abs(a.astype(np.float64)).T @ np.abs(b.astype(np.float64))
    assert result.dtype == np.float32
    assert np.all(np.abs(result - wanted) <= 64 * 2.0**-24 * size)
    assert "nt_load_matrix_x4_trans(" in text
    assert text.count("__global__") == 1


def test_floats_are_rounded_to_tf32_where_that_was_granted():
    """Neither extent is a multiple of a tile, and rows of %b lie across the sum: copied by elements of 4 bytes."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((40, 72)).astype("f4"), rng.standard_normal((72, 33)).astype("f4")
    a[3, 5], b[7, 9] = np.inf, np.nan
    got, text = run(product, a, b, target="cuda-sim:checked", fastmath=("tf32",))
    assert "nt_mma_m16n8k8_tf32" in text and "nt_round_tf32" in text
    wanted = a.astype("f8") @ b.astype("f8")
    finite = np.isfinite(wanted)
    assert np.array_equal(np.isnan(got), np.isnan(wanted)) and np.array_equal(
        got[~finite], wanted[~finite], True
    )
    a[3, 5], b[7, 9] = 0, 0
    size = np.abs(a.astype("f8")) @ np.abs(b.astype("f8"))
    assert np.all(np.abs(got[finite] - wanted[finite]) <= (2.0**-10 + 2.0**-20) * size[finite])


def test_granting_all_of_fastmath_grants_no_rounding_to_tf32():
    assert "tf32" not in fastmath_flags(True)
    assert fastmath_flags(["tf32", "contract"]) == ("contract", "tf32")


BFLOAT16 = """
func.func @f(%a: tensor<32x64xbf16> {nt.layout = "c"}, %b: tensor<64x32xbf16> {nt.layout = "c"}) -> (tensor<32x32xf32>) {
  %s = nt.dot %a, %b contract [1] x [0] : tensor<32x64xbf16>, tensor<64x32xbf16> -> tensor<32x32xf32>
  func.return %s : tensor<32x32xf32>
}
"""


def test_bfloat16_is_summed_up_in_float32():
    text = emit_cuda(run_pipeline(parse_module(BFLOAT16, "bf16.mlir"), ["cuda-small"]))
    assert "nt_mma_m16n8k16_bf16" in text
    rng = np.random.default_rng(3)
    a, b = (
        rng.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16 for shape in ((32, 64), (64, 32))
    )
    result = np.full((32, 32), np.nan, np.float32)
    arguments = [a.astype(np.uint16), b.astype(np.uint16), result, True]
    SimModule(text).launch("f_kernel", *extents_of_launch(text), arguments)
    x, y = ((bits << 16).view(np.float32).astype(np.float64) for bits in (a, b))
    assert np.all(np.abs(result - x @ y) <= 64 * 2.0**-24 * (np.abs(x) @ np.abs(y)))


def test_no_race_is_found(deep):
    text, a, b = deep
    launch(text, a, b, "checked")


FAULTS = {
    "waits for too few copies": ("nt_wait_copies<2>();", "nt_wait_copies<3>();"),
    "waits for none": ("nt_wait_copies<0>();", ""),
    "no barrier behind the wait": ("nt_wait_copies<2>();\n    __syncthreads();", "nt_wait_copies<2>();"),
    "copies are in no group": ("nt_commit_copies();", ""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(deep, name):
    text, a, b = deep
    head, _, kernel = text.rpartition('extern "C"')
    old, new = FAULTS[name]
    assert old in kernel
    with pytest.raises(NestorError):
        launch(f'{head}extern "C"{kernel.replace(old, new)}', a, b, "checked")


@pytest.mark.skipif(
    nvrtc.available() is None, reason="no CUDA compiler (pip install 'nvidia-cuda-nvrtc==13.0.*')"
)
def test_large_tiles_stay_in_registers():
    a = np.zeros((4096, 4096), np.float16)
    text = nt.jit(product, target="cuda-sim", dynamic=False).lower(a, a).as_text("cuda")
    assert "float t[4][8][2][2];" in text
    for arch in ("sm_80", "sm_90"):
        (kernel,) = nvrtc.compile_cubin(text, arch).kernels
        assert kernel.spill_stores == kernel.spill_loads == kernel.stack == 0
        assert kernel.registers <= 212
