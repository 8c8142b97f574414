"""What `low.memory_analysis()` says a call takes is what the allocator is asked for, and is told value by value."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import nestor as nt
import numpy as np
import pytest
from places import ROOT

pytestmark = pytest.mark.one_of(2)

PROGRAMS = """
import ctypes, json, sys
import numpy as np, nestor as nt

def loss(w, x):
    return (np.tanh(x @ w) ** 2).sum()

def simulated(u):
    for _ in range(20):
        u = np.sin(u[::-1]) * u
    return (u * u).sum()

def sorted_out(x):
    y = np.cumsum(x[::-1])
    z = y[::2] * 2 + y[1::2]
    return np.sin(z[::-1]) @ z, z.max() * y

def kept_apart(x):
    a = np.cumsum(x)
    b = np.cumsum(a)
    for _ in range(3):
        b = b[::-1] + a
    return b

def stepped(u, n):
    for _ in range(n):
        v = u.copy()
        v[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] - u[1:-1, 1:-1]
        u = v
    return u

N = 400_000
CASES = {
    "loss": (nt.grad(loss), [np.ones((300, 200)), np.ones((4000, 300))], {}, None),
    "simulated": (nt.grad(simulated), [np.ones(N)], {"dynamic": True}, {"u": (N,)}),
    "sorted_out": (sorted_out, [np.ones(N)], {}, None),
    "kept_apart": (kept_apart, [np.ones(N)], {}, None),
    "stepped": (stepped, [np.ones((700, 800)), 4], {"dynamic": True}, {"u": (700, 800), "n": 4}),
}

if __name__ == "__main__":
    counter = ctypes.CDLL(None)
    counter.allocations_peak.restype = ctypes.c_long
    found = {}
    for threads in (1, 2):
        nt.set_num_threads(threads)
        for name, (f, arguments, options, extents) in CASES.items():
            low = nt.jit(f, **options).lower(*arguments)
            compiled = low.compile()
            peaks = []
            run = compiled._kernel

            def kernel(passed):
                counter.allocations_start()
                run(passed)
                peaks.append(counter.allocations_peak())

            compiled._kernel = kernel
            compiled(*arguments)
            compiled(*arguments)
            plans = [low.memory_analysis(extents, threads=n) for n in (1, threads)]
            assert all(one.is_exact for one in plans)
            found[f"{name}-{threads}"] = [*(one.peak for one in plans), peaks[-1]]
    print(json.dumps(found))
"""
NAMES = ("loss", "simulated", "sorted_out", "kept_apart", "stepped")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """By program and number of threads: the plans for one thread and for all, and what malloc handed out at its peak."""
    if not sys.platform.startswith("linux") or shutil.which("gcc") is None:
        pytest.skip("counts by LD_PRELOAD, with gcc")
    folder = tmp_path_factory.mktemp("allocations")
    library = folder / "allocations.so"
    source = ROOT / "benchmarks" / "allocations.c"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    script = folder / "program.py"
    script.write_text(PROGRAMS)
    environment = os.environ | {"LD_PRELOAD": str(library), "NESTOR_CACHE": "0"}
    ran = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_the_peak_is_what_the_allocator_hands_out(measured, name, threads):
    plan, most, peak = measured[f"{name}-{threads}"]
    assert plan > 1_000_000
    # malloc has a few bytes for itself; threads hold buffers of parallel loops where they run at the same time
    assert plan <= peak <= most + 16 * 1024


# ---- what it says ---------------------------------------------------------------------------------------------


def reversed_twice(x):
    y = np.cumsum(x[::-1])
    z = np.cumsum(y[::-1])
    return z + x


def test_values_have_their_lines():
    found = nt.jit(reversed_twice).lower(nt.spec((10_000,), "f8")).memory_analysis()
    assert (found.arguments, found.results) == (80_000, 80_000)
    first = reversed_twice.__code__.co_firstlineno
    kinds = {one.kind: one for one in found.values}
    assert kinds["result"].line == first + 3 and kinds["result"].type == "float64[10000]"
    held = [one for one in found.values if one.kind == "temporary"]
    assert held and {one.line for one in held} <= {first + 1, first + 2, first + 3}
    assert found.peak == sum(one.bytes for one in held if one.at_peak)
    assert found.total == found.arguments + found.results + found.peak


def test_a_gradient_says_what_it_keeps():
    def simulated(u):
        for _ in range(20):
            u = np.sin(u[::-1]) * u
        return (u * u).sum()

    low = nt.jit(nt.grad(simulated), dynamic=True).lower(np.ones(1000))
    found = low.memory_analysis({"u": (5000,)})
    # u of each round, and the last one
    assert found.tape == 8 * 5000 * 21
    assert {one.name for one in found.values if one.kind == "tape"} == {"u", "us"}
    assert "kept for the backward half" in repr(found)


def test_a_device_holds_temporaries_too():
    low = nt.jit(reversed_twice, target="cuda-sim").lower(nt.spec((10_000,), "f8"))
    found = low.memory_analysis()
    assert found.threads == 1 and found.stack == 0 and found.peak >= 80_000


def test_a_result_of_unknown_size_is_named():
    def positive(x):
        return x[x > 0]

    found = nt.jit(positive).lower(nt.spec((100,), "f8")).memory_analysis()
    assert not found.is_exact and any("result" in reason for reason in found.reasons)
    assert "at least" in repr(found)


def test_order_and_parts_of_complex_numbers_count():
    def conjugated(z):
        return np.conj(z) * 2

    z = np.asfortranarray(np.ones((30, 50), np.complex128))
    found = nt.jit(conjugated, dynamic=True).lower(z).memory_analysis({"z": (40, 60)})
    assert (found.arguments, found.results) == (16 * 2400, 16 * 2400) and found.is_exact


def test_extents_are_asked_for():
    with pytest.raises(nt.NestorError, match="give shapes"):
        nt.jit(reversed_twice, dynamic=True).lower(np.ones(9)).memory_analysis()


def test_it_is_plain_data_too():
    found = nt.jit(reversed_twice).lower(nt.spec((10_000,), "f8")).memory_analysis()
    again = json.loads(json.dumps(found.as_dict()))
    assert again["peak"] == found.peak and len(again["values"]) == len(found.values)
