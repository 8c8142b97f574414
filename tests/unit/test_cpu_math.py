"""The error of every expanded function, in units in the last place, over ordinary and extreme arguments."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cpu_kernels import Kernel
from nestor.dialects import special

ROOT = Path(__file__).parents[2]

FUNCTIONS = {
    "exp": (np.exp, 1.0),
    "exp2": (np.exp2, 1.0),
    "expm1": (np.expm1, 2.0),
    "log": (np.log, 1.0),
    "log2": (np.log2, 1.0),
    "log10": (np.log10, 1.0),
    "log1p": (np.log1p, 2.0),
    "tanh": (np.tanh, 2.5),
    "erf": (special.erf, 1.0),
}

WIDE = {np.float32: np.float64, np.float64: np.longdouble}


def kernel(name: str, element: str, width: int) -> Kernel:
    if width == 1:
        type, load, store = (
            element,
            "memref.load %x[%i] : memref<?x{0}>",
            "memref.store %r, %o[%i] : memref<?x{0}>",
        )
    else:
        type = f"vector<{width}x{element}>"
        load = "vector.load %x[%i] : memref<?x{0}>, vector<{1}x{0}>"
        store = "vector.store %r, %o[%i] : memref<?x{0}>, vector<{1}x{0}>"
    return Kernel(f"""
    func.func @apply(%x: memref<?x{element}> {{nestor.noalias}}, %o: memref<?x{element}> {{nestor.noalias}}) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {width} : index
      %n = memref.dim %x, %c0 : memref<?x{element}>
      scf.for %i = %c0 to %n step %step {{
        %v = {load.format(element, width)}
        %r = math.{name} %v : {type}
        {store.format(element, width)}
      }}
      func.return
    }}
    """)


def arguments(dtype: type) -> np.ndarray:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**64, 4000, dtype=np.uint64).view(dtype)
    ranges = [(-1, 1), (-20, 20), (-110, 95), (-750, 715), (0, 3), (0.5, 1.5), (0.99, 1.01)]
    spread = [rng.uniform(low, high, 2000) for low, high in ranges]
    corners = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1,
        -1,
        88.72284,
        88.73,
        -87.4,
        -103.97,
        -104.1,
        709.78,
        709.79,
    ]
    tiny = [-745.13, -745.2, -708.5, 1e-40, 5e-324, 1e-310, 2e-16, -2e-16, 1e-8, -1e-8]
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.concatenate([bits, *spread, corners, tiny]).astype(dtype)
    return np.concatenate([values, np.zeros(-len(values) % 16, dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_bound(name, dtype):
    function, bound = FUNCTIONS[name]
    x = arguments(dtype)
    vector, scalar = np.empty_like(x), np.empty_like(x)
    element = "f32" if dtype is np.float32 else "f64"
    kernel(name, element, 16)(x, vector)
    kernel(name, element, 1)(x, scalar)
    np.testing.assert_array_equal(vector, scalar)
    with np.errstate(all="ignore"):
        exact = function(x.astype(WIDE[dtype]))
        rounded = exact.astype(dtype)
        finite = np.isfinite(rounded) & np.isfinite(exact)
        error = np.abs(vector.astype(WIDE[dtype]) - exact)[finite] / np.spacing(np.abs(rounded[finite]))
    np.testing.assert_array_equal(vector[~finite], rounded[~finite])
    np.testing.assert_array_equal(np.signbit(vector[finite]), np.signbit(rounded[finite]))
    assert error.max() <= bound


def test_the_constants_are_what_their_script_derives():
    script = ROOT / "tools" / "derive_math_constants.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "lowering" / "math_constants.py").read_text()
