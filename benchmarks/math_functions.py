"""`python -m benchmarks.math_functions`: nanoseconds an element of every function of `expand-math`, next to its peers.

Arrays of 32768 ordinary arguments, in the cache, one thread, results written into an array that is there. Runs are
interleaved; the figure is the fastest of them. numba calls the C library for each element (it is asked not to use
Intel's). The table goes to benchmarks/results/math.md.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
SIZE = 32768
ROUNDS = 60

FUNCTIONS: dict[str, tuple[str, tuple[float, float]]] = {
    "exp": ("np.exp(x)", (-20, 20)),
    "exp2": ("np.exp2(x)", (-20, 20)),
    "expm1": ("np.expm1(x)", (-20, 20)),
    "log": ("np.log(x)", (0, 100)),
    "log2": ("np.log2(x)", (0, 100)),
    "log10": ("np.log10(x)", (0, 100)),
    "log1p": ("np.log1p(x)", (0, 100)),
    "sin": ("np.sin(x)", (-20, 20)),
    "cos": ("np.cos(x)", (-20, 20)),
    "tan": ("np.tan(x)", (-20, 20)),
    "asin": ("np.arcsin(x)", (-1, 1)),
    "acos": ("np.arccos(x)", (-1, 1)),
    "atan": ("np.arctan(x)", (-5, 5)),
    "atan2": ("np.arctan2(x, y)", (-5, 5)),
    "sinh": ("np.sinh(x)", (-20, 20)),
    "cosh": ("np.cosh(x)", (-20, 20)),
    "tanh": ("np.tanh(x)", (-5, 5)),
    "asinh": ("np.arcsinh(x)", (-20, 20)),
    "acosh": ("np.arccosh(x)", (1, 20)),
    "atanh": ("np.arctanh(x)", (-1, 1)),
    "cbrt": ("np.cbrt(x)", (-20, 20)),
    "pow": ("np.power(x, y)", (0, 20)),
    "erf": ("erf(x)", (-3, 3)),
    "erfc": ("erfc(x)", (-3, 3)),
    "lgamma": ("lgamma(x)", (0, 20)),
}
"""The call, and the range of the arguments."""


def nestor_form(folder: Path, name: str, call: str) -> Callable[..., Any]:
    import nestor as nt

    two = "y" in call
    path = folder / f"of_{name}.py"
    path.write_text(
        "import numpy as np\nfrom nestor.frontend.nn import erf, erfc, lgamma\n\n\n"
        f"def apply(x{', y' if two else ''}):\n    return {call}\n"
    )
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return nt.jit(module.apply)


def numba_form(name: str, call: str) -> Callable[..., Any]:
    import numba

    two = "y" in call
    element = call.replace("(x", "(x[i]").replace(" y)", " y[i])").replace("np.power", "pow")
    text = (
        f"def apply(x{', y' if two else ''}, out):\n    for i in range(x.size):\n        out[i] = {element}\n"
    )
    scope: dict[str, Any] = {"np": np, "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma}
    exec(text, scope)
    return numba.njit(scope["apply"])


def numpy_form(call: str) -> Callable[..., Any] | None:
    return getattr(np, call.split("(")[0].removeprefix("np."), None)


def best(forms: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Nanoseconds an element of the fastest run of each form."""
    result = dict.fromkeys(forms, math.inf)
    for form in forms.values():
        form()
    for _ in range(ROUNDS):
        for name, form in forms.items():
            start = time.perf_counter()
            form()
            result[name] = min(result[name], (time.perf_counter() - start) / SIZE * 1e9)
    return result


def row(folder: Path, name: str) -> str:
    call, (low, high) = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    wide = [rng.uniform(low, high, SIZE) for _ in range(2 if "y" in call else 1)]
    ours, theirs, ufunc = nestor_form(folder, name, call), numba_form(name, call), numpy_form(call)
    cells = [f"`{name}`"]
    for dtype in (np.float32, np.float64):
        x = [v.astype(dtype) for v in wide]
        outs = [np.empty_like(x[0]) for _ in range(3)]
        forms: dict[str, Callable[[], Any]] = {
            "nestor": lambda x=x, o=outs[0]: ours(*x, out=o),
            "numba": lambda x=x, o=outs[1]: theirs(*x, o),
        }
        if ufunc is not None:
            forms["numpy"] = lambda x=x, o=outs[2]: ufunc(*x, out=o)
        with np.errstate(all="ignore"):
            times = best(forms)
        np.testing.assert_allclose(outs[0], outs[1], rtol=1e-5 if dtype is np.float32 else 1e-13)
        cells += [f"{times[form]:.2f}" if form in times else "" for form in ("nestor", "numpy", "numba")]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    os.environ["NUMBA_DISABLE_INTEL_SVML"] = "1"
    from nestor.runtime.cpu import set_num_threads

    set_num_threads(1)
    lines = [
        "| function | f32: Nestor | NumPy | numba, libm | f64: Nestor | NumPy | numba, libm |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory(prefix="nestor-math-") as folder:
        for name in FUNCTIONS:
            lines.append(row(Path(folder), name))
            print(lines[-1], flush=True)
    (ROOT / "benchmarks" / "results" / "math.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
