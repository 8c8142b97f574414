"""`python -m benchmarks.gpu_static`: no kernel has become worse as machine code than the table says."""

from dataclasses import astuple

import pytest
from nestor.runtime.cuda import nvrtc

from benchmarks.gpu_static import __main__ as bench
from benchmarks.gpu_static import sass
from benchmarks.gpu_static.figures import Kernel, cuda_of, for_aligned, kernels_of, parse, table
from benchmarks.gpu_static.rows import ROWS

QUICK = ("f16 1024^3", "bf16 1000 x 777 x 333", "softmax f32 16384 x 1024")
"""Rows of `make test`; the others are slow tests."""
ROUNDING = 1.01
"""Figures have two digits."""

NEEDS_TOOLS = pytest.mark.skipif(
    nvrtc.available() is None or sass.tool() is None,
    reason="no CUDA compiler or no nvdisasm (pip install 'nvidia-cuda-nvrtc==13.0.*' nvidia-cuda-nvdisasm)",
)

STATED = parse(bench.PAGE.read_text())


def test_the_table_has_all_rows():
    assert list(STATED) == list(ROWS)


@NEEDS_TOOLS
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in ROWS]
)
def test_kernels_are_no_worse_than_the_table_says(name):
    found, stated = kernels_of(ROWS[name]), STATED[name]
    assert [kernel.name for kernel in found] == [kernel.name for kernel in stated]
    for own, bound in zip(found, stated, strict=True):
        assert not worse(own, bound), f"{own}\nthe table says {bound}; `make bench-gpu-static` makes it again"


@NEEDS_TOOLS
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", ["maxima f32 16384 x 4096, rows", "maximum f32 16M"])
def test_a_maximum_is_one_instruction(name, architecture):
    """`FMNMX.NAN`, where two comparisons and a selection were; nothing else compares numbers."""
    image = nvrtc.compile_cubin(for_aligned(cuda_of(ROWS[name])), architecture).image
    found = [one.name for code in sass.read(image).values() for one in code.instructions]
    assert sum(one.startswith("FMNMX.NAN") or one.startswith("FMNMX3.NAN") for one in found) >= 16
    assert not [one for one in found if one.startswith("FSETP")]


def worse(own: Kernel, bound: Kernel) -> list[str]:
    """What is above the bound."""
    found = []
    if (own.blocks, own.threads, own.unit) != (bound.blocks, bound.threads, bound.unit):
        found.append("blocks, threads or what its work is")
    if own.wide * ROUNDING < bound.wide - 0.005:
        found.append("fewer accesses are of 16 bytes")
    pairs = {
        "instructions": (own.instructions, bound.instructions),
        "registers": (own.registers, bound.registers),
        "spills": (own.spills, bound.spills),
        "passes": ((own.passes or 0,), (bound.passes or 0,)),
        "shared memory": ((own.shared,), (bound.shared,)),
    }
    for what, (numbers, bounds) in pairs.items():
        if any(number > ROUNDING * most + 0.005 for number, most in zip(numbers, bounds, strict=True)):
            found.append(what)
    return found


def test_a_worse_kernel_is_seen():
    (bound,) = STATED["f16 1024^3"]
    assert not worse(bound, bound)
    places = {
        "blocks": 1,
        "wide": -1,
        "instructions": (99.0,) * 3,
        "registers": (255,) * 3,
        "spills": (8,) * 3,
    }
    for field, value in places.items():
        assert worse(Kernel(**{**vars(bound), field: value}), bound), field


def test_a_table_is_read_back():
    kernels = {
        "a": [Kernel("a_kernel", 4, 32, 0.5, "HMMA", (3.0, 2.5, 2.25), 1.5, (1, 2, 3), (0, 0, 8), 48)],
        "b": [Kernel("b_kernel", 4, 32, 1.0, "access", (3.0, 2.5, 2.25), None, (1, 2, 3), (0, 0, 8), 0)],
    }
    assert parse(table(kernels)) == kernels
    assert astuple(parse(table(kernels))["a"][0]) == astuple(kernels["a"][0])


SASS = """
.text.f_kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0020*/              @!P0 LDSM.16.MT88.4 R8, [R4] ;
        /*0030*/                   LDSM.16.M88.2 R8, [R4] ;
        /*0040*/                   HMMA.16816.F32 R4, R8, R10, R4 ;
.L_x_0:
        /*0050*/                   HMMA.16816.F32 R4, R8, R10, R4 ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
        /*0070*/               @P0 BRA `(.L_x_1) ;
        /*0080*/                   STG.E.U16 [R2.64], R4 ;
        /*0090*/                   EXIT ;
        /*00a0*/                   NOP;
"""


def test_machine_code_is_read():
    code = sass.codes_in(SASS)["f_kernel"]
    assert len(code.instructions) == 10
    outer = code.busiest_loop(["HMMA"])
    assert [one.kind for one in outer] == ["LDG", "LDSM", "LDSM", "HMMA", "HMMA", "BRA", "BRA"]
    assert sass.count(outer, sass.PRODUCTS) == 2
    assert sass.passes_of_fragments(outer) == 6
    assert [one.bytes for one in code.instructions if one.kind in sass.GLOBAL] == [16, 2]
    assert code.busiest_loop(["FFMA"]) == code.instructions


def test_one_way_is_left_where_arrays_are_aligned():
    text = cuda_of(ROWS["f16 1024^3"])
    assert "bool aligned) {" in text
    changed = for_aligned(text)
    assert changed.count("const bool aligned = true;") == 1
    assert changed.count("bool aligned_given) {") == 1


def test_without_the_tool_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(bench, "tool", lambda: None)
    assert bench.main([]) == 1
    assert "pip install nvidia-cuda-nvdisasm" in capsys.readouterr().err


@NEEDS_TOOLS
def test_a_row_that_does_not_exist(capsys):
    with pytest.raises(SystemExit):
        bench.main(["--rows", "f17"])
    assert "no row has f17 in its name" in capsys.readouterr().err
