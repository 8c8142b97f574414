"""Products of bytes by the matrix unit of the CPU: scheduled nests mean the product in the interpreter, and compute it.

The interpreter runs them on any machine, as the loops that they are; machine code runs where there is the unit.
"""

from __future__ import annotations

import os
import subprocess
import sys

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.nest.kernels.amx_tiles import AMX
from nestor.analysis.nest.kernels.vnni_tiles import VNNI
from nestor.dialects.parse import parse_module
from nestor.dialects.registry import make_context
from nestor.dialects.remarks import listening
from nestor.dialects.verifier import verify
from nestor.frontend.jit.specialise.machines import cpu_of
from nestor.runtime.cpu import processor
from nestor.runtime.interp.run import run_nest
from nestor.transforms.schedulers.cpu.schedule_cpu import NestScheduleCpuPass

pytestmark = pytest.mark.one_of(2)

needs_the_unit = pytest.mark.skipif(
    not processor.may_use_tiles() or not cpu_of(None).amx,
    reason="no matrix unit (amx_int8 in /proc/cpuinfo) that this process may use, or NESTOR_MACHINE has none",
)

needs_vectors_of_bytes = pytest.mark.skipif(
    not cpu_of(None).vnni,
    reason="no instructions for products of bytes (avx512_vnni in /proc/cpuinfo), or NESTOR_MACHINE has none",
)

SHAPES = [(64, 64, 64), (33, 65, 70), (16, 20, 64), (5 * 8, 9, 129), (100, 33, 17)]
"""Rows, columns and terms: whole tiles, and edges of each of them."""


def text(m: int, n: int, k: int, casts: tuple[str, str], by_rows: bool) -> str:
    """A product as the tensor level hands it on; the right operand may have its columns as rows."""
    right = f"{n}x{k}" if by_rows else f"{k}x{n}"
    place = "%j, %k" if by_rows else "%k, %j"
    return f"""
func.func @f(%a: memref<{m}x{k}xi8>, %b: memref<{right}xi8>, %c: memref<{m}x{n}xi32> {{nest.role = "out"}}) {{
  %zero = arith.constant 0 : i32
  nest.for "i" %i = 0 to {m} {{
    nest.for "j" %j = 0 to {n} {{
      nest.store "c" %zero, %c[%i, %j] : memref<{m}x{n}xi32>
    }}
  }}
  nest.for "i.1" %i = 0 to {m} {{
    nest.for "j.1" %j = 0 to {n} {{
      nest.for "k" %k = 0 to {k} {{
        %0 = nest.load %a[%i, %k] : memref<{m}x{k}xi8>
        %1 = nest.load %b[{place}] : memref<{right}xi8>
        %2 = arith.{casts[0]} %0 : i8 to i32
        %3 = arith.{casts[1]} %1 : i8 to i32
        %4 = arith.muli %2, %3 : i32
        nest.accumulate "c" add %4, %c[%i, %j] : memref<{m}x{n}xi32>
      }}
    }}
  }}
  func.return
}}
"""


def numbers(seed: int, shape: tuple[int, ...], cast: str = "extsi") -> np.ndarray:
    low, dtype = (-128, np.int8) if cast == "extsi" else (0, np.uint8)
    return np.random.default_rng(seed).integers(low, low + 256, shape).astype(dtype)


CASES = [
    ((32, 32, 64), ("extsi", "extsi"), False),
    ((33, 9, 70), ("extsi", "extsi"), False),
    ((16, 20, 64), ("extui", "extsi"), True),
    ((20, 9, 65), ("extsi", "extui"), False),
    ((20, 33, 17), ("extui", "extui"), True),
]
"""Small ones: the interpreter takes microseconds for each product."""


@pytest.mark.parametrize(("shape", "casts", "by_rows"), CASES, ids=str)
def test_the_interpreter_finds_a_product(shape, casts, by_rows):
    m, n, k = shape
    module = parse_module(text(m, n, k, casts, by_rows))
    NestScheduleCpuPass(amx=True).apply(make_context(), module)
    verify(module)
    assert any(AMX in op.attributes for op in module.walk())
    a, b = numbers(0, (m, k), casts[0]), numbers(1, (n, k) if by_rows else (k, n), casts[1])
    c = np.zeros((m, n), np.int32)
    right = b.astype(np.int32)
    for mode in ("program", "shuffled"):
        c[:] = -1
        run_nest(next(iter(module.ops)), [a, b, c], mode=mode)  # pyright: ignore[reportArgumentType]
        np.testing.assert_array_equal(c, a.astype(np.int32) @ (right.T if by_rows else right))


@pytest.mark.parametrize(("shape", "casts", "by_rows"), CASES, ids=str)
def test_vectors_of_bytes_mean_the_product(shape, casts, by_rows):
    """So do the nests for instructions that add four products to a lane; of two operands without signs there are none."""
    m, n, k = shape
    module = parse_module(text(m, n, k, casts, by_rows))
    NestScheduleCpuPass(vnni=True).apply(make_context(), module)
    verify(module)
    assert any(VNNI in op.attributes for op in module.walk()) == (casts != ("extui", "extui"))
    a, b = numbers(0, (m, k), casts[0]), numbers(1, (n, k) if by_rows else (k, n), casts[1])
    right = b.astype(np.int32)
    for mode in ("program", "shuffled"):
        c = np.full((m, n), -1, np.int32)
        run_nest(next(iter(module.ops)), [a, b, c], mode=mode)  # pyright: ignore[reportArgumentType]
        np.testing.assert_array_equal(c, a.astype(np.int32) @ (right.T if by_rows else right))


@needs_vectors_of_bytes
@pytest.mark.parametrize("shape", [*SHAPES, (1, 40, 50), (13, 16, 20), (256, 96, 300)], ids=str)
@pytest.mark.parametrize("types", ["i1 i1", "u1 i1", "i1 u1", "u1 u1"])
def test_machine_code_of_vectors_of_bytes(shape, types):
    """Extreme bytes among them, and sums that wrap."""
    m, n, k = shape
    left, right = types.split()
    a, b = numbers(3, (m, k), "extui").view(left), numbers(4, (k, n), "extui").view(right)
    a[0], b[:, 0] = np.iinfo(left).min, np.iinfo(right).min
    f = nt.jit(product, dynamic=False)
    for x in (a, a[::-1], np.asfortranarray(a)):
        np.testing.assert_array_equal(f(x, b), product(x, b))
    is_used = VNNI in f.lower(a, b).as_text("nest") or AMX in f.lower(a, b).as_text("nest")
    assert is_used or types == "u1 u1" or m == 1


def test_a_product_that_is_none_for_the_unit_is_said():
    heard: list[str] = []
    few = parse_module(text(64, 64, 12, ("extsi", "extsi"), False))
    with listening(lambda remark: heard.append(remark.message)):
        NestScheduleCpuPass(amx=True).apply(make_context(), few)
    assert heard == ['the product in the nest "i.1" cannot use the matrix unit: it has few terms']


@needs_the_unit
def test_unknown_extents_are_said():
    a, b = numbers(20, (64, 64)), numbers(21, (64, 64))
    compiled = nt.jit(product, dynamic=True)
    np.testing.assert_array_equal(compiled(a, b), product(a, b))
    said = compiled.explain(a, b)
    assert "cannot use the matrix unit: its extents are known at run time only" in said
    assert "dynamic=False" in said


# --- programs ----------------------------------------------------------------------------------------------


def product(a, b):
    return np.matmul(a, b, dtype=np.int32)


def of_casts(a, b):
    return a.astype(np.int32) @ b.astype(np.int32)


def by_rows(a, b):
    return np.matmul(a, b.T, dtype=np.int32)


def by_columns(a, b):
    return np.matmul(a.T, b, dtype=np.int32)


def layer(a, b, scale, bias):
    return np.maximum((a.astype(np.int32) @ b.astype(np.int32) + bias).astype(np.float32) * scale, 0)


def agree(function, *arguments):
    compiled = nt.jit(function)
    assert AMX in compiled.lower(*arguments).as_text("nest")
    found, expected = compiled(*arguments), function(*arguments)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@needs_the_unit
@pytest.mark.parametrize("shape", [*SHAPES, (200, 17, 300), (129, 257, 33)], ids=str)
@pytest.mark.parametrize("function", [product, of_casts])
def test_edges(function, shape):
    m, n, k = shape
    agree(function, numbers(2, (m, k)), numbers(3, (k, n)))


@needs_the_unit
def test_layouts():
    a, b = numbers(4, (100, 70)), numbers(5, (70, 50))
    agree(by_rows, a, numbers(6, (50, 70)))
    agree(by_columns, numbers(7, (70, 100)), b)
    agree(product, numbers(8, (200, 70))[::2], numbers(9, (70, 100))[:, ::2])
    agree(product, numbers(8, (100, 73))[:, 3:], numbers(9, (71, 50))[1:])
    agree(product, a, b.copy(order="F"))
    agree(product, a[::-1], b[:, ::-1])


@needs_the_unit
def test_types_without_a_sign():
    for left, right in (("extui", "extsi"), ("extsi", "extui"), ("extui", "extui")):
        agree(of_casts, numbers(10, (65, 70), left), numbers(11, (70, 50), right))


@needs_the_unit
def test_what_is_computed_around_a_product():
    a, b = numbers(12, (100, 70)), numbers(13, (70, 50))
    agree(layer, a, b, np.float32(0.5), np.arange(50, dtype=np.int32))


@needs_the_unit
def test_stacks():
    agree(product, numbers(15, (3, 100, 70)), numbers(16, (3, 70, 50)))
    agree(product, numbers(15, (3, 100, 70)), numbers(16, (70, 50)))


@needs_the_unit
def test_two_threads_and_the_largest_sums():
    """Blocks of rows for both threads; sums of 2^14 terms of 2^14 each."""
    a, b = np.full((320, 2048), -128, np.int8), np.full((2048, 320), -128, np.int8)
    agree(product, a, b)
    agree(product, numbers(17, (32, 300)), numbers(18, (300, 1000)))


SCRIPT = """
import numpy as np, nestor as nt
from nestor.runtime.cpu import processor

@nt.jit
def f(a, b):
    return np.matmul(a, b, dtype=np.int32)

a = np.full((64, 64), 3, np.int8)
assert (f(a, a) == 9 * 64).all()
print(processor.may_use_tiles(), "nestor.amx" in f.lower(a, a).as_text("nest"))
"""


def run(tmp_path, setting: str) -> str:
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "NESTOR_CACHE_DIR": str(tmp_path / "cache"), "NESTOR_AMX": setting}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("setting", ["0", pytest.param("1", marks=needs_the_unit)])
def test_the_setting_decides_and_a_process_with_the_kernel_from_the_disk_asks_too(tmp_path, setting):
    expected = "False False" if setting == "0" else "True True"
    assert [run(tmp_path, setting) for _ in range(2)] == [expected] * 2


def test_what_linux_refuses_is_not_used(monkeypatch):
    class Refuses:
        def __init__(self, name):
            pass

        def syscall(self, *numbers):
            return -1

    monkeypatch.setattr(processor, "has_tiles", lambda: True)
    monkeypatch.delenv("NESTOR_AMX", raising=False)
    monkeypatch.setattr(processor.ctypes, "CDLL", Refuses)
    assert processor.may_use_tiles.__wrapped__() is False
