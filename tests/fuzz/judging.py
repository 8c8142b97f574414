"""Running a program by NumPy and compiled, and what differs between the two."""

from __future__ import annotations

import copy
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import ForOp
from nestor.frontend.interface.errors import UnsupportedError
from perturbed import Freedom, perturbed
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block

RUNS = 6
"""Runs of NumPy with other choices."""
FAR_RUNS = 3
"""Runs with errors that are `FAR` times as large: they show where a result jumps."""
FAR = 16

HEADER = "import numpy as np\n\n\n"


@dataclass(frozen=True)
class Program:
    """The text of a function `f`, and of statements that make its arguments."""

    source: str
    setup: str
    names: tuple[str, ...]

    def script(self) -> str:
        """A file that shows what both give."""
        arguments = ", ".join(self.names)
        return (
            f"import nestor as nt\nimport numpy as np\n\n\n{self.source}\n\n\n"
            f"def arguments():\n{_indented(self.setup)}    return [{arguments}]\n\n\n"
            "np.seterr(all='ignore')\n"
            "for g in (f, nt.jit(f)):\n    given = arguments()\n"
            "    try:\n        result = g(*given)\n"
            "        parts = result if isinstance(result, tuple) else [result]\n"
            "        print([(type(p).__name__, getattr(p, 'dtype', ''), getattr(p, 'strides', '')) for p in parts])\n"
            "        print(result, given)\n"
            "    except Exception as error:\n        print(type(error).__mro__[:3], error)\n"
        )

    def arguments(self) -> list[Any]:
        """Fresh arguments."""
        scope: dict[str, Any] = {"np": np}
        exec(self.setup, scope)
        return [scope[name] for name in self.names]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@dataclass
class Outcome:
    """What a run gives: its result and its arguments afterwards, or what it raises."""

    result: Any = None
    arguments: tuple[Any, ...] = ()
    shares: tuple[Any, ...] = ()
    error: Exception | None = None


@dataclass
class Verdict:
    """`wrong` says what differs; `refused` why the program is not compiled."""

    wrong: str | None = None
    refused: str | None = None
    other_error: bool = False
    """It is refused as an error of the program, which NumPy does not find, or finds another one first."""
    raised: bool = False
    undecided: bool = False
    fused: bool = False


def load(source: str, folder: Path) -> Any:
    """The function `f` of a module file."""
    global _modules
    _modules += 1
    name = f"random_program_{_modules}"
    path = folder / f"{name}.py"
    path.write_text(HEADER + source + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__file__"] = str(path)
    spec.loader.exec_module(module)
    return module.f


_modules = 0


@contextmanager
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def run(function: Any, program: Program) -> Outcome:
    """Call a function with fresh arguments."""
    arguments = program.arguments()
    with quiet():
        try:
            result = function(*arguments)
        except Exception as error:
            return Outcome(error=error)
    shares = [
        [isinstance(a, np.ndarray) and np.shares_memory(a, part) for a in arguments]
        if isinstance(part, np.ndarray)
        else None
        for part in leaves(result)
    ]
    kept = tuple([copy.copy(a) for a in arguments])
    return Outcome(result, kept, tuple(shares))


def executed(function: Any, program: Program) -> set[int]:
    """The lines that Python runs."""
    lines: set[int] = set()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code is function.__code__:
            lines.add(frame.f_lineno)
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run(function, program)
    finally:
        sys.settrace(before)
    return lines


def leaves(value: Any) -> list[Any]:
    """The parts of a result."""
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def judge(program: Program, folder: Path, target: str = "cpu", look_at_nests: bool = True) -> Verdict:
    """Compare a compiled program with NumPy."""
    function = load(program.source, folder)
    want = run(function, program)
    jitted = nt.jit(function, target=target)
    got = run(jitted, program)
    error = got.error
    if isinstance(error, UnsupportedError):
        return Verdict(refused=error.diagnostic.message)
    if isinstance(error, NestorError):
        place = error.diagnostic.location
        if place is not None and place.line not in executed(function, program):
            return Verdict(refused="an error in code that is not reached")
        if want.error is None:
            return Verdict(refused="an error that NumPy does not raise", other_error=True)
        if difference(got, want, []) is not None:
            return Verdict(refused="another error than NumPy raises", other_error=True)
    others = []
    marked = perturbed(program.source)
    if marked is not None:
        scope: dict[str, Any] = {"np": np}
        exec(marked, scope)
        for seed in range(RUNS + FAR_RUNS):
            scope["free"] = Freedom(seed, 1 if seed < RUNS else FAR)
            others.append(run(scope["f"], program))
    verdict = Verdict(raised=want.error is not None)
    if any(type(o.error) is not type(want.error) or form(o.result) != form(want.result) for o in others):
        verdict.undecided = True
        return verdict
    # How axes along which elements repeat are laid out in results differs from one NumPy function to the next.
    # After a loop or a branch on whole arrays, whether a result is an argument's memory, and its order, may depend on
    # the path: what is compiled gives a copy.
    is_straight = not any(f" {word} " in program.source for word in ("if", "for", "while"))
    with_orders = is_straight and "broadcast_to" not in program.source + program.setup
    verdict.wrong = difference(got, want, others, is_straight, with_orders)
    if look_at_nests and verdict.wrong is None and got.error is None:
        verdict.fused = fuses(jitted, program)
    return verdict


def form(value: Any) -> Any:
    """Kinds, dtypes and shapes."""
    if isinstance(value, tuple | list):
        return type(value), [form(item) for item in value]
    return type(value), getattr(value, "dtype", None), getattr(value, "shape", None)


def difference(
    got: Outcome,
    want: Outcome,
    others: list[Outcome],
    with_sharing: bool = True,
    with_orders: bool = True,
) -> str | None:
    """What differs, in words."""
    if want.error is not None:
        if got.error is None:
            return f"NumPy raises {want.error!r}, the compiled program gives {got.result!r}"
        expected = type(want.error)
        while expected.__module__.startswith("numpy") and not isinstance(got.error, expected):
            expected = expected.__bases__[0]  # NumPy's own kinds of TypeError
        is_numpys = type(got.error) is type(want.error) and str(got.error) == str(want.error)
        if not is_numpys and (not isinstance(got.error, expected) or not isinstance(got.error, NestorError)):
            return f"NumPy raises {want.error!r}, the compiled program {got.error!r}"
        return None
    if got.error is not None:
        return f"the compiled program raises {type(got.error).__name__}: {got.error}\nNumPy gives {want.result!r}"
    if not (_same_form if with_sharing else _alike)(got.result, want.result):
        return f"kinds: {form(got.result)}\nNumPy's: {form(want.result)}"
    if with_sharing and got.shares != want.shares:
        return f"results share memory with arguments: {got.shares}, NumPy's: {want.shares}"
    for k, (a, b) in enumerate(zip(leaves(got.result), leaves(want.result), strict=True)):
        if with_orders and isinstance(b, np.ndarray) and order(a) != order(b):
            return f"memory order of result {k}: {a.strides}, NumPy's {b.strides}"
        found = unequal(a, b, [leaves(o.result)[k] for o in others])
        if found:
            return f"result {k}: {found}"
    for k, (a, b) in enumerate(zip(got.arguments, want.arguments, strict=True)):
        found = unequal(a, b, [o.arguments[k] for o in others])
        if found:
            return f"argument {k} afterwards: {found}"
    return None


def _same_form(got: Any, want: Any) -> bool:
    """The same kinds, but for a number that is Python's own on one path and NumPy's on another: compiled, it is NumPy's."""
    if isinstance(want, tuple) and isinstance(got, tuple) and len(got) == len(want):
        return all(map(_same_form, got, want))
    return form(got) == form(want) or (
        type(want) in (bool, int, float) and isinstance(got, np.number) and type(got)(want) == want
    )


def _alike(got: Any, want: Any) -> bool:
    """The same kinds, but for a Python number that is an integer on one path and a float on another: compiled, a float."""
    if isinstance(want, tuple) and isinstance(got, tuple) and len(got) == len(want):
        return all(map(_alike, got, want))
    kinds = [bool, int, float]
    if type(got) in kinds and type(want) in kinds:
        return kinds.index(type(got)) >= kinds.index(type(want))
    return _same_form(got, want)


def order(a: np.ndarray) -> tuple:
    """The memory order: axes longer than 1, outermost first, and which run backwards."""
    if a.size == 0:
        return ()
    axes = [k for k in range(a.ndim) if a.shape[k] > 1]
    return tuple(sorted(axes, key=lambda k: -abs(a.strides[k])))


def unequal(got: Any, want: Any, others: list[Any]) -> str | None:
    """Where elements differ by more than the runs of NumPy do."""
    if not isinstance(want, np.ndarray | np.generic | float | int | complex):
        return None if got == want else f"{got!r}, NumPy's {want!r}"
    with quiet():
        return _unequal(got, want, others)


def _unequal(got: Any, want: Any, others: list[Any]) -> str | None:
    g, w = np.asarray(got), np.asarray(want)
    stack = [np.asarray(o) for o in others]
    same = np.ones(w.shape, bool)
    for one in stack:
        same &= _equal(one, w)
    good = _equal(g, w)
    if w.dtype.kind == "f" and stack:
        every = np.stack([w, *stack]).astype("f8")
        finite = np.isfinite(every).all(axis=0)
        low, high = every[: 1 + RUNS].min(axis=0), every[: 1 + RUNS].max(axis=0)
        spread = (high - low) + 2 * np.spacing(np.abs(w)).astype("f8")
        # A few runs do not show all that many small errors together can do.
        slack = np.where(spread > 256 * np.spacing(np.abs(w)), 4, 0.5) * spread
        near = (g >= low - slack) & (g <= high + slack)
        jumps = every.max(axis=0) - every.min(axis=0) > 6 * FAR * spread
        good |= ~same & (~finite | near | jumps)
    else:
        good |= ~same
    if good.all():
        return None
    first = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(~good)))
    a, b = np.atleast_1d(g)[first], np.atleast_1d(w)[first]
    return f"element {first}: {a!r}, NumPy's {b!r}\n{got!r}\nNumPy's:\n{want!r}"


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same bits; NaNs are equal."""
    if b.dtype.kind != "f":
        return a == b
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


def fuses(jitted: Any, program: Program) -> bool:
    """Whether all is compiled, and some nest computes two operations or more without going to memory between them."""
    from nestor.frontend.jit.specialise.stages import lowered_copy

    with quiet():
        try:
            written = jitted.lower(*program.arguments()).program.module
        except NestorError:
            return False  # an exception on a path that is not taken: Python runs the call
        if any(op.name == "nt.custom_call" for op in written.walk()):
            return False  # a call back to NumPy
        module = lowered_copy(written, ("to-nest",))
    return any(
        _operations(block) >= 2
        for op in module.walk()
        if isinstance(op, ForOp) or op.name == "func.func"
        for block in op.regions[0].blocks
    )


def _operations(block: Block) -> int:
    """Arithmetic on elements in a block."""
    return sum(
        1
        for op in block.ops
        if op.name == "nest.accumulate"
        or (
            op.name.split(".")[0] in ("arith", "math")
            and op.name != "arith.constant"
            and not isinstance(op.results[0].type, IndexType)
        )
    )


def forget(folder: Path) -> None:
    """Drop what earlier programs left behind."""
    for path in folder.glob("random_program_*.py"):
        path.unlink()
    for name in [n for n in sys.modules if n.startswith("random_program_")]:
        del sys.modules[name]
