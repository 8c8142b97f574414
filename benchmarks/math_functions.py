"""`python -m benchmarks.math_functions`: nanoseconds an element of every function of `expand-math`, next to its peers.

Arrays of 32768 ordinary arguments, in the cache, one thread, results written into an array that is there. Runs are
interleaved; the figure is the fastest of them. numba calls the C library for each element (it is asked not to use
Intel's); torch is left out where it is not installed. The table goes to benchmarks/results/math.md; with names of
functions as arguments it is only printed.
"""

from __future__ import annotations

import math
import os
import sys
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
COLUMNS = ("nestor", "fastmath", "numpy", "torch", "numba")
HEAD = ("Nestor", "fastmath", "NumPy", "torch", "numba, libm", "/ best peer")

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
    "sigmoid": ("sigmoid(x)", (-20, 20)),
}
"""The call, and the range of the arguments."""


def nestor_forms(folder: Path, name: str, call: str) -> list[Callable[..., Any]]:
    """With the options' defaults, and with `fastmath`."""
    import nestor as nt

    two = "y" in call
    path = folder / f"of_{name}.py"
    path.write_text(
        "import numpy as np\nfrom nestor.frontend.nn import erf, erfc, lgamma, sigmoid\n\n\n"
        f"def apply(x{', y' if two else ''}):\n    return {call}\n"
    )
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return [nt.jit(module.apply), nt.jit(module.apply, fastmath=True)]


def numba_form(name: str, call: str) -> Callable[..., Any]:
    import numba

    two = "y" in call
    element = call.replace("(x", "(x[i]").replace(" y)", " y[i])").replace("np.power", "pow")
    element = element.replace("sigmoid(x[i])", "1 / (1 + np.exp(-x[i]))")
    text = (
        f"def apply(x{', y' if two else ''}, out):\n    for i in range(x.size):\n        out[i] = {element}\n"
    )
    scope: dict[str, Any] = {"np": np, "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma}
    exec(text, scope)
    return numba.njit(scope["apply"])


def numpy_form(call: str) -> Callable[..., Any] | None:
    return getattr(np, call.split("(")[0].removeprefix("np."), None)


def torch_form(name: str, operands: list[np.ndarray], out: np.ndarray) -> Callable[[], Any] | None:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    function = getattr(torch, name, None)
    if function is None:
        return None
    tensors, into = [torch.from_numpy(x) for x in operands], torch.from_numpy(out)
    return lambda: function(*tensors, out=into)


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
    (ours, fast), theirs, ufunc = nestor_forms(folder, name, call), numba_form(name, call), numpy_form(call)
    cells = [f"`{name}`"]
    for dtype in (np.float32, np.float64):
        x = [v.astype(dtype) for v in wide]
        outs = {column: np.empty_like(x[0]) for column in COLUMNS}
        forms: dict[str, Callable[[], Any] | None] = {
            "nestor": lambda x=x, o=outs["nestor"]: ours(*x, out=o),
            "fastmath": lambda x=x, o=outs["fastmath"]: fast(*x, out=o),
            "numpy": (lambda x=x, o=outs["numpy"]: ufunc(*x, out=o)) if ufunc else None,
            "torch": torch_form(name, x, outs["torch"]),
            "numba": lambda x=x, o=outs["numba"]: theirs(*x, o),
        }
        with np.errstate(all="ignore"):
            times = best({column: form for column, form in forms.items() if form is not None})
        for column in times:
            rtol = 1e-5 if dtype is np.float32 else 1e-12
            np.testing.assert_allclose(outs[column], outs["numba"], rtol=rtol, atol=rtol, err_msg=column)
        cells += [f"{times[column]:.2f}" if column in times else "" for column in COLUMNS]
        cells.append(f"{times['nestor'] / min(times[p] for p in times if p in COLUMNS[2:]):.2f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    os.environ["NUMBA_DISABLE_INTEL_SVML"] = "1"
    from nestor.runtime.cpu.threads import set_num_threads

    set_num_threads(1)
    names = sys.argv[1:] or [*FUNCTIONS]
    columns = [
        f"{element}: {HEAD[0]}" if k == 0 else HEAD[k] for element in ("f32", "f64") for k in range(len(HEAD))
    ]
    lines = [f"| function | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    print("\n".join(lines))
    with tempfile.TemporaryDirectory(prefix="nestor-math-") as folder:
        for name in names:
            lines.append(row(Path(folder), name))
            print(lines[-1], flush=True)
    if names == [*FUNCTIONS]:
        (ROOT / "benchmarks" / "results" / "math.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
