"""`make demo`: compile the IoU function from plain NumPy source, run it on 10 million boxes, show what was made of it."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from ..dialects.diagnostic import NestorError
from ..frontend.functional.derivatives import value_and_grad
from ..frontend.jit.driver.jit import jit
from ..frontend.jit.explain.explanation import nest_accesses
from ..frontend.jit.specialise.stages import lowered_copy
from ..runtime.user_files import run_file

BOXES = 10_000_000
ROUNDS = 5
FEW = 1_000
"""Boxes for the gradient and for the simulator of a GPU, which checks every access."""

FOLDER = Path("demo-output")
PAGE = "index.html"

LEVELS = (
    ("nt", "1-nt.mlir", "tensors: NumPy made explicit"),
    ("nest", "2-nest.mlir", "one scheduled loop nest"),
    ("scf", "3-scf-vector.mlir", "upstream loops and vectors"),
    ("llvm", "4-llvm.mlir", "the llvm dialect"),
    ("llvm-ir", "5-iou.ll", "LLVM IR"),
    ("asm", "6-iou.s", "assembly for this machine"),
    ("gpu", "7-gpu.mlir", "the gpu dialect"),
    ("cuda", "8-iou.cu", "CUDA C"),
)


def load_program() -> Callable:
    """The function of examples/iou.py: plain NumPy, no decorator."""
    return run_file(Path(__file__).resolve().parents[1] / "examples" / "iou.py").ratio_iou


def random_boxes(count: int) -> list[np.ndarray]:
    """x, y, w, h of two sets of `count` boxes, float32."""
    rng = np.random.default_rng(0)
    return [rng.random(count, dtype=np.float32) * np.float32(s) for s in (1, 1, 0.5, 0.5) * 2]


def timed(function: Callable, arguments: Sequence[Any]) -> tuple[float, Any]:
    """Seconds of one call, and its result."""
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def fused(lowered) -> str:
    """The kernels that the program became, and the memory accesses of each, as `explain` counts them."""
    nests = list(nest_accesses(lowered_copy(lowered.program.module, ("to-nest",))))
    number = "one kernel" if len(nests) == 1 else f"{len(nests)} kernels"
    return f"{number}: {'; '.join(accesses for _, accesses in nests)} an element"


# ---- others -------------------------------------------------------------------------------------------


def peers(plain: Callable) -> dict[str, Callable]:
    """The same function compiled by numba and JAX, where they are installed and take it."""
    found: dict[str, Callable] = {}
    if find_spec("numba") is not None:
        found["numba"] = import_module("numba").njit(parallel=True)(plain)
    if find_spec("jax") is not None:
        jax, jnp = import_module("jax"), import_module("jax.numpy")
        assert isinstance(plain, FunctionType)
        code = FunctionType(plain.__code__, {**plain.__globals__, "np": jnp}, argdefs=plain.__defaults__)
        compiled = jax.jit(code)
        found["jax"] = lambda *boxes: compiled(*boxes).block_until_ready()
    return found


def compared(forms: dict[str, Callable], boxes: Sequence[np.ndarray], rounds: int) -> dict[str, float]:
    """Milliseconds of each form, the median of calls in turns; a form that fails is left out."""
    times: dict[str, list[float]] = {}
    for name, form in forms.items():
        try:
            form(*boxes)
            times[name] = []
        except Exception as error:
            print(f"  {name:16} does not take it: {type(error).__name__}")
    for _ in range(rounds):
        for name, taken in times.items():
            taken.append(timed(forms[name], boxes)[0])
    return {name: statistics.median(taken) * 1e3 for name, taken in times.items()}


# ---- checks -------------------------------------------------------------------------------------------


def gradient_error(plain: Callable) -> float:
    """The gradient of the mean IoU for the first width, against a difference of two values in float64."""
    boxes = [one.astype(np.float64) for one in random_boxes(FEW)]

    def loss(x1, y1, w1, h1, x2, y2, w2, h2):
        return plain(x1, y1, w1, h1, x2, y2, w2, h2).mean()

    _, gradient = value_and_grad(loss, argnums=2)(*boxes)
    at, step = int(np.argmax(np.abs(gradient))), 1e-6
    values = []
    for sign in (1, -1):
        moved = boxes[2].copy()
        moved[at] += sign * step
        values.append(loss(*boxes[:2], moved, *boxes[3:]))
    return abs(gradient[at] - (values[0] - values[1]) / (2 * step)) / abs(gradient[at])


def checked_kernels(plain: Callable) -> tuple[bool, str]:
    """Whether the simulator finds no race, no access out of bounds, no read of what was never written; as a text, too."""
    boxes = random_boxes(FEW)
    try:
        faults = jit(plain, target="cuda-sim").lower(*boxes).compile("cuda-sim").check(*boxes)
    except NestorError as error:  # no C++ compiler
        return True, f"not checked: {error.diagnostic.message}"
    return not faults, "no faults in the checked simulator" if not faults else f"{len(faults)} faults"


# ---- what is written ----------------------------------------------------------------------------------


def write_levels(lowered, folder: Path) -> list[tuple[str, str]]:
    """Write the text of every level; returns (path, what it is) pairs."""
    folder.mkdir(exist_ok=True)
    written = []
    for level, name, what in LEVELS:
        (folder / name).write_text(lowered.as_text(level))
        written.append((str(folder / name), what))
    return written


def write_page(
    function: Any, lowered: Any, boxes: Sequence[np.ndarray], times: dict[str, float], folder: Path
) -> Path:
    """One page with the times, what `explain` says with its pictures, the operations, and every level."""
    rows = [f"<tr><td>{escape(name)}</td><td>{taken:.1f} ms</td></tr>" for name, taken in times.items()]
    parts = [f"<h2>{BOXES:,} pairs of boxes</h2><table>{''.join(rows)}</table>"]
    parts.append(f"<h2>Operations</h2><figure>{lowered.graph()}</figure>")
    for level, name, what in LEVELS:
        text = escape((folder / name).read_text())
        parts.append(f"<details><summary>{level}: {what}</summary><pre>{text}</pre></details>")
    page = function.explain(*boxes, format="html")
    path = folder / PAGE
    path.write_text(page.replace("</body>", "\n".join([*parts, "</body>"])), encoding="utf-8")
    return path


def main() -> int:
    """Print one screen; the exit code is 0 where all results are right."""
    plain = load_program()
    fast = jit(plain)
    boxes = random_boxes(BOXES)

    print(f"ratio_iou(x1, y1, w1, h1, x2, y2, w2, h2): plain NumPy source, {BOXES:,} pairs of boxes, float32")
    first, result = timed(fast, boxes)
    error = float(np.max(np.abs(result - plain(*boxes))))
    times = compared({"NumPy": plain, "Nestor": fast, **peers(plain)}, boxes, ROUNDS)
    for name, taken in times.items():
        ratio = "" if name == "NumPy" else f"   ({times['NumPy'] / taken:.1f} times faster)"
        print(f"  {name:16} {taken:8.1f} ms{ratio}")
    lowered = fast.lower(*boxes)
    wrong, (is_right, said) = gradient_error(plain), checked_kernels(plain)
    write_levels(lowered, FOLDER)
    page = write_page(fast, lowered, boxes, times, FOLDER)

    print(f"  first call       {first * 1e3:8.1f} ms   (parse, compile and run)")
    print(f"  largest error    {error:8.1g}      (0: the same bits as NumPy)")
    print(f"  fused            {fused(lowered)}")
    print(f"  gradient         within {wrong:.0e} of a difference quotient (nt.value_and_grad)")
    print(f"  CUDA C           {said}: {FOLDER}/8-iou.cu")
    print()
    print(fast.explain(*boxes).partition("\nhistory:")[0])
    print()
    print(f"Every level of the compiler is in {FOLDER}/, with pictures of the nest and the operations:")
    print(f"  {page.resolve().as_uri()}")
    return 0 if error == 0 and wrong < 1e-4 and is_right else 1


if __name__ == "__main__":
    sys.exit(main())
