"""nt.vmap of random programs with random axes does what a Python loop over slices does."""

import linecache
import random
import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "unit"))
from sampling import seeds
from slices import assert_same, in_loop

SHAPES = {"x": (4,), "y": (3, 4), "w": (4,), "s": (), "k": ()}
LEAST = 3
"""Slices of a stack."""


class Program:
    """A function of arguments of `SHAPES`, written statement by statement; each is run on sample values for the shapes."""

    def __init__(self, seed):
        self.choose = random.Random(seed)
        generator = np.random.default_rng(seed)
        self.values = {name: generator.standard_normal(shape) for name, shape in SHAPES.items()}
        self.values["k"] = np.int64(generator.integers(0, 4))
        self.lines = []
        while len(self.lines) < 6:
            lines = self.choose.choice(STATEMENTS)(self)
            if lines is not None:
                self.take(lines)
        made = [name for name in self.values if name.startswith("v")]
        results = self.choose.sample(made, min(3, len(made)))
        body = [*self.lines, f"return {', '.join(results)}"]
        self.text = f"def program({', '.join(SHAPES)}):\n" + "".join([f"    {line}\n" for line in body])
        file = f"<random program {seed}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        space = {"np": np, "nt": nt}
        exec(compile(self.text, file, "exec"), space)
        self.function = space["program"]

    def take(self, lines):
        """Add lines that make a new value."""
        scope = dict(self.values)
        text = "\n".join(lines)
        try:
            with np.errstate(all="ignore"):
                exec(text, {"np": np, "nt": nt}, scope)
        except (ValueError, IndexError, TypeError):
            return  # shapes do not fit
        value = scope[self.name]
        if (
            np.size(value)
            and np.size(value) < 200
            and np.all(np.isfinite(value))
            and np.max(np.abs(value)) < 1e6
        ):
            self.values[self.name] = value
            self.lines += lines

    @property
    def name(self):
        return f"v{sum(name.startswith('v') for name in self.values)}"

    def any(self, rank=None, low=0, kind="f"):
        """The name of a value."""
        fit = [
            name
            for name, v in self.values.items()
            if (rank is None or np.ndim(v) == rank) and np.ndim(v) >= low and np.asarray(v).dtype.kind in kind
        ]
        return self.choose.choice(fit) if fit else None


def expression(*texts, low=0):
    def statement(p):
        a, b = p.any(low=low), p.any()
        return [f"{p.name} = {p.choose.choice(texts).format(a=a, b=b, k=p.any(rank=0, kind='i'))}"]

    return statement


def branch(p):
    s, a, b = p.any(rank=0), p.any(), p.choose.choice(["np.tanh({a})", "{a} - 1", "np.abs({a}) * 0.5"])
    if s is None:
        return None
    v = p.name
    return [
        f"if {s} > {p.choose.choice(['0', '0.5'])}:",
        f"    {v} = {a} * 2",
        "else:",
        f"    {v} = {b.format(a=a)}",
    ]


def checked_branch(p):
    a, k = p.any(rank=1), p.any(rank=0, kind="i")
    if a is None:
        return None
    v = p.name
    return [f"if 0 <= {k} < len({a}):", f"    {v} = {a}[{k}]", "else:", f"    {v} = {a}[0] * 1.5"]


def loop(p):
    a, b = p.any(low=1), p.any(rank=0)
    turns = p.choose.choice(["3", "k", "abs(k) % 3"])
    v = p.name
    return [f"{v} = {a} * 1.0", f"for i in range({turns}):", f"    {v} = np.tanh({v} + {b} * i)"]


def repeated(p):
    s = p.any(rank=0)
    v = p.name
    return [f"{v} = {s} * 1.0", f"while {v} > 0.1:", f"    {v} = {v} * 0.5 - 0.01"]


def elements(p):
    a, s = p.any(rank=1), p.any(rank=0)
    if a is None:
        return None
    v = p.name
    return [
        f"{v} = np.zeros_like({a})",
        f"for i in range(1, len({a})):",
        f"    {v}[i] = {v}[i - 1] * 0.5 + {a}[i]",
        f"    if {a}[i] > {s}:",
        f"        {v}[i] += 1",
    ]


def update(p):
    a, s, k = p.any(low=1), p.any(rank=0), p.any(rank=0, kind="i")
    v = p.name
    lines = [f"{v}[{k} % len({v})] = {s}", f"{v}[1:] += {s}", f"{v}[...] *= 2", f"{v}[{v} > {s}] = 0.5"]
    return [f"{v} = {a}.copy()", *p.choose.sample(lines, 2)]


STATEMENTS = [
    expression("np.tanh({a})", "np.abs({a})", "-{a}", "np.sin({a}) + 1"),
    expression(
        "{a} + {b}", "{a} * {b}", "np.maximum({a}, {b})", "np.where({a} > {b}, {a}, {b})", "{a} - 2.5"
    ),
    expression("{a}.sum(0)", "{a}.mean()", "{a}.max(-1)", "np.cumsum({a})", "np.cumsum({a}, 0)", low=1),
    expression("{a}[::-1]", "{a}[0]", "{a}[-1]", "{a}[1:]", "{a}[None]", "{a}.T", "{a}.reshape(-1)", low=1),
    expression("{a} @ {b}", "np.outer({a}, {b})", "{a} @ {b}.T", low=1),
    expression(
        "np.sort({a})", "nt.nn.softmax({a})", "np.concatenate([{a}, {a}])", "np.stack([{a}, {a}], -1)", low=1
    ),
    expression("np.argmax({a})", "np.int64({a}.sum() > 0) + {k}", low=1),
    expression("{a}[{k} % len({a})]", "{a}[[0, {k} % len({a})]]", "np.take({a}, {k}, mode='wrap')", low=1),
    *(branch, checked_branch, loop, repeated, elements, update),
]


def stacks(program, seed):
    """Arguments, some of them stacks of others, and their axes."""
    choose, generator = random.Random(seed), np.random.default_rng(seed + 1000)
    axes, given = [], []
    for name, shape in SHAPES.items():
        if choose.random() < 0.4:
            axes.append(None)
            given.append(program.values[name])
            continue
        axis = choose.randint(-1 - len(shape), len(shape))
        axes.append(axis)
        wide = list(shape)
        wide.insert(axis % (len(shape) + 1), LEAST)
        given.append(generator.integers(0, 4, wide) if name == "k" else generator.standard_normal(wide))
    if all(axis is None for axis in axes):
        axes[0], given[0] = 0, generator.standard_normal((LEAST, 4))
    return tuple(axes), given


def check(seed, **options):
    program = Program(seed)
    in_axes, arguments = stacks(program, seed)
    for first in (slice(None), slice(1)):  # again with a single slice
        given = [
            a if axis is None else a[(slice(None),) * (axis % a.ndim) + (first,)]
            for a, axis in zip(arguments, in_axes, strict=True)
        ]
        with np.errstate(all="ignore"):
            want = in_loop(program.function, given, in_axes)
        try:
            got = nt.jit(nt.vmap(program.function, in_axes), **options)(*given)
            assert_same(got, want, 1e-9)
        except BaseException as error:
            error.add_note(f"in_axes={in_axes}\n{program.text}")
            raise


@pytest.mark.parametrize("seed", seeds(24))
def test_random_programs(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_more_random_programs(seed):
    check(seed, **random.Random(seed).choice([{}, {"dynamic": True}, {"target": "interp"}]))
