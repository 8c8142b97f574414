"""Random gradients of functions whose arguments, items, globals and attributes name the same memory, with writes.

A program is a function of x, y, a dict d and a tuple t, or a method of a model, which also reads a global G, and P.w of a
global object. What each of them is, is drawn for every call: an array, all of it, a part, backwards, reshaped. The compiled
derivative is as Python has it (its value, and central differences of the function called with the same sharing), and so is
what the call leaves in memory; or it is refused, and has written nothing.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np
from nestor.dialects.diagnostic import NestorError, PassFailure
from outcomes import module_of

CALLS = 3
PLACES = ("y", "d['k']", "d['l']", "t[0]", "G", "P.w", "self.w")
"""What a function may read and write, beside x."""
VIEWS = ("{}", "{}", "{}[:]", "{}[::-1]", "{}[1:]", "{}[:-2]", "{}[::2]", "{}.reshape(2, 3)", "{}.reshape(2, 3).T",
    "{}.reshape(2, 3)[:, 1:]", "{}.reshape(1, 6)[0]", "{}.copy()")  # fmt: skip
READS = (
    "s = s + (np.sin({0}) * {c}).sum()",
    "s = s + {0}.reshape(-1)[{k}] * {c}",
    "s = s * (1.0 + 0.1 * {0}.sum())",
    "s = s + ({0}.reshape(-1)[:3] * x.reshape(-1)[:3]).sum()",
    "for i in range(len({0})):\n    s = s + ({0}[i] * {c}).sum() * x.reshape(-1)[0]",
    "z = {0} * {c}\ns = s + (z * z).mean()",
    "s = s + np.abs({0}).max()",
)
WRITES = (
    "{0}[{k}] = {c}",
    "{0}[...] = {0} * 0.5 + {c}",
    "{0}[1:] += {c}",
    "{0}[0] = {0}[-1] * s * 0.1",
    "for i in range(len({0})):\n    {0}[i] = {0}[i] * 0.5 + x.reshape(-1)[2 - i] * 0.1",
    "for i in range(1, len({0})):\n    {0}[i] += {0}[i - 1] * {c}",
    "np.multiply({0}, {c}, out={0})",
    "z = {0}[::-1]\nz[0] = {c} * s",
    "z = {0}.reshape(-1)\nz[{k}] += {c}",
    "{0}[[0, 1]] += {c}",
    "{0}[{0} > 0.2] = {c}",
    "{0}.fill({c})",
    "if x.reshape(-1)[0] > {c}:\n    {0}[0] += x.reshape(-1)[1]",
    "if x.reshape(-1)[0] > {c}:\n    pass\nelse:\n    {0}[0] = 0.5",
    "for j in range(2):\n    {0}[j] += {c}\n    s = s + {0}[j].sum() * x.reshape(-1)[j]",
)


MODES = ("value_and_grad", "grad", "compiled", "jacrev", "jacfwd", "jvp", "vjp", "linearize", "hvp")

HEADER = """import nestor as nt
import numpy as np


class Plain:
    pass


P = Plain()
"""


def _indented(lines: str, depth: int) -> str:
    return "".join([f"{'    ' * depth}{line}\n" for line in lines.split("\n")])


class Case:
    """One program: its text, the places it writes, how it is differentiated, and what its calls are given."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.mode = self.rng.choice(MODES)
        self.target = self.rng.choice(["cpu", "cpu", "interp", "interp", "cuda-sim"])
        self.is_method = self.rng.random() < 0.4
        self.places = PLACES if self.is_method else PLACES[:-1]
        self.written: set[str] = set()
        self.text = self._text()
        self.calls = [self._call() for _ in range(CALLS)]
        self.kept: Any = None

    def keep(self, make: Callable[[], Any]) -> Any:
        """What all calls of the case share: one jitted function."""
        self.kept = self.kept or make()
        return self.kept

    def _text(self) -> str:
        first = self._statements(0.2)
        loop = self._statements(0.5) if self.rng.random() < 0.3 else ""
        last = self._statements(0.4)
        body = ["    s = (x * x).sum()\n", _indented(first, 1)]
        if loop:
            body += [f"    for n in range({self.rng.randint(1, 3)}):\n", _indented(loop, 2)]
        body += [_indented(last, 1), "    return s + (x * 0.5).sum()\n"]
        header = "def f(self, x, y, d, t):\n" if self.is_method else "def f(x, y, d, t):\n"
        inside = "\n\ndef inside(x, y, d, t):\n    return nt.value_and_grad(f)(x, y, d, t)\n"
        if not self.is_method:
            return f"{HEADER}\n\n{header}{''.join(body)}{inside}"
        function = _indented((header + "".join(body)).rstrip("\n"), 1)
        return f"{HEADER}\n\nclass Model:\n{function}\n\nmodel = Model()\nf = model.f\n{inside}"

    def _statements(self, writes: float) -> str:
        made = []
        for _ in range(self.rng.randint(1, 3)):
            is_write = self.rng.random() < writes
            place = self.rng.choice((*self.places, "x"))
            if is_write and place == "x" and self.rng.random() < 0.8:
                place = "y"
            form = self.rng.choice(WRITES if is_write else READS)
            if is_write:
                self.written.add(place)
            made.append(form.format(place, c=round(self.rng.uniform(0.2, 1.2), 2), k=self.rng.randint(0, 1)))
        return "\n".join(made)

    def _call(self) -> dict[str, str]:
        """What each place is: a text that names `a`, the memory of x, or others."""
        is_shared = self.rng.random()
        memory = lambda: "a" if self.rng.random() < is_shared * 0.7 else self.rng.choice("bbc")  # noqa: E731
        call = {place: self.rng.choice(VIEWS).format(memory()) for place in PLACES}
        return {"x": self.rng.choice(VIEWS).format("a"), **call}

    def may_share(self, call: dict[str, str]) -> bool:
        """Whether the program writes to memory of x, in this call."""
        return any(call[place][0] == "a" and not call[place].endswith("copy()") for place in self.written)


class World:
    """What a call is given, and where that is in memory."""

    def __init__(self, module: Any, call: dict[str, str], seed: int):
        draw = np.random.default_rng(seed)
        self.memory = {name: draw.uniform(-1.0, 1.0, 6) for name in "abc"}
        made = {place: eval(text, dict(self.memory)) for place, text in call.items()}
        self.x = made["x"]
        self.rest = (made["y"], {"k": made["d['k']"], "l": made["d['l']"]}, (made["t[0]"], 2.0))
        self.along = draw.uniform(-1.0, 1.0, self.x.shape)
        module.G = made["G"]
        module.P.w = made["P.w"]
        if hasattr(module, "model"):
            module.model.w = made["self.w"]

    def contents(self) -> np.ndarray:
        return np.concatenate(list(self.memory.values()))


def expected(module: Any, case: Case, call: dict[str, str], seed: int) -> tuple[Any, Any, np.ndarray]:
    """Python's value, the derivative by differences, and what is in memory after the call."""

    def at(moved: np.ndarray) -> Any:
        """The function of other numbers: of x in memory of its own, where the rest is as it was."""
        world = World(module, call, seed)
        return module.f(world.x + moved, *world.rest)

    def gradient(around: np.ndarray, step: float = 1e-5) -> np.ndarray:
        found = np.zeros(around.shape)
        for place in np.ndindex(around.shape):
            moved = np.zeros(around.shape)
            moved[place] = step
            found[place] = (at(around + moved) - at(around - moved)) / (2 * step)
        return found

    world = World(module, call, seed)
    value = module.f(world.x, *world.rest)
    nowhere, along = np.zeros(world.x.shape), world.along
    if case.mode == "hvp":
        derivative = (gradient(along * 1e-3, 1e-4) - gradient(along * -1e-3, 1e-4)) / 2e-3
    elif case.mode in ("jvp", "linearize"):
        derivative = (gradient(nowhere) * along).sum()
    else:
        derivative = gradient(nowhere)
    return value, derivative, world.contents()


def found(module: Any, case: Case, world: World) -> tuple[Any, Any]:
    """What Nestor gives: the value (None where the mode has none), and the derivative."""
    f, x, rest, along = module.f, world.x, world.rest, world.along
    options = {"target": case.target}
    closed = nt.jit(lambda v: f(v, *rest), **options)
    match case.mode:
        case "value_and_grad":
            return case.keep(lambda: nt.jit(nt.value_and_grad(f), **options))(x, *rest)
        case "grad":
            return None, case.keep(lambda: nt.jit(nt.grad(f), **options))(x, *rest)
        case "compiled":
            return case.keep(lambda: nt.jit(module.inside, **options))(x, *rest)
        case "jacrev":
            return None, case.keep(lambda: nt.jit(nt.jacrev(f), **options))(x, *rest)
        case "jacfwd":
            return None, case.keep(lambda: nt.jit(nt.jacfwd(f), **options))(x, *rest)
        case "jvp":
            return nt.jvp(closed, (x,), (along,))
        case "vjp":
            value, pullback = nt.vjp(closed, x)
            return value, pullback(1.0)[0]
        case "linearize":
            value, derivative = nt.linearize(closed, x)
            return value, derivative(along)
    return None, nt.hvp(closed, (x,), (along,))


def judge(seed: int, folder: Path) -> tuple[list[str], Counter[str]]:
    """What is wrong with the calls of a program, and how many ended in which way."""
    case, name = Case(seed), f"shared_gradient_{seed}"
    module = module_of(case.text, folder, name)
    wrong, ends = [], Counter[str]()
    try:
        for number, call in enumerate(case.calls):
            end, difference = _judged(module, case, call, seed * CALLS + number)
            ends[end] += 1
            if difference:
                what = f"seed {seed}, call {number}, {case.mode}, {case.target}, {call}"
                wrong.append(f"{what}\n{difference}\n{case.text}")
    finally:
        del sys.modules[name]
    return wrong, ends


def _judged(module: Any, case: Case, call: dict[str, str], seed: int) -> tuple[str, str]:
    """How a call ended, and what is wrong with it."""
    want = expected(module, case, call, seed)
    world = World(module, call, seed)
    before = world.contents()
    try:
        got = found(module, case, world)
    except PassFailure as error:
        return "failed", f"no refusal of the frontend: {error}"
    except NestorError as error:
        why = error.diagnostic.message
        if not np.array_equal(world.contents(), before):
            return "refused", f"the refused call has written: {why}"
        if "shares memory with" in why and not case.may_share(call):
            return "refused", f"nothing that is written shares memory with x: {why}"
        return ("shared" if "shares memory with" in why else f"refused: {why[:60]}"), ""
    value, derivative, contents = (*got, world.contents())
    if value is not None and not np.allclose(value, want[0], rtol=1e-9, atol=1e-12):
        return "wrong", f"value {value}, in Python {want[0]}"
    tolerance = 2e-4 if case.mode == "hvp" else 1e-6
    if not np.allclose(derivative, want[1], rtol=tolerance, atol=tolerance):
        return "wrong", f"derivative {derivative}, by differences {want[1]}"
    if not np.allclose(contents, want[2], rtol=1e-9, atol=1e-12):
        return "wrong", f"memory {contents}, in Python {want[2]}"
    return "right", ""
