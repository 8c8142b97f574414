"""Random functions of whole arrays on random chunks of Dask: as the whole, or refused with a reason, never another value."""

from __future__ import annotations

import linecache
import random
from collections import Counter
from itertools import pairwise
from typing import Any

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import NestorError, ShapeError

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")


class Writer:
    """One random function of a matrix `x` and a vector `w` as long as its rows. All matrices keep the shape of `x`. With
    `calls`, functions of NumPy that are not compiled are among what it calls, and rows that are looked up."""

    def __init__(self, seed: int, calls: bool = False):
        self.rng = random.Random(seed)
        self.calls = calls
        self.names = ["x"]
        self.lines: list[str] = []

    def text(self) -> str:
        for k in range(self.rng.randint(1, 4)):
            self.statement(f"t{k}")
        results = ", ".join(dict.fromkeys([self.names[-1], self.rng.choice([*self.names, self.reduced()])]))
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def f(x, w):\n{body}    return {results}\n"

    def statement(self, name: str) -> None:
        how = self.rng.choice(("value", "value", "stencil", "steps", "border", "counts"))
        if how == "value":
            self.lines.append(f"{name} = {self.value()}")
        elif how == "stencil":
            before, after, axis = self.rng.randint(0, 2), self.rng.randint(0, 3), self.rng.randint(0, 1)
            source, window = self.pick(), ("", ":, ")[axis]
            inner = f"{window}{before}:{source}.shape[{axis}] - {after}"
            self.lines.append(f"{name} = {self.pick()}.copy()")
            self.lines.append(
                f"{name}[{inner}] = ({source}[{window}:{source}.shape[{axis}] - {before + after}] "
                f"+ {source}[{window}{before + after}:]) * 0.5"
            )
        elif how == "steps":
            self.lines += [
                f"{name} = {self.pick()}.copy()",
                f"for _ in range({self.rng.randint(1, 3)}):",
                f"    {name}[1:-1] = {name}[1:-1] + 0.25 * ({name}[2:] - {name}[:-2])",
            ]
        elif how == "counts":
            self.lines += [
                f"c{name} = np.zeros(5, dtype=np.int64)",
                f"np.add.at(c{name}, np.clip({self.pick()} * 2, 0, 4).astype(np.int64), 1)",
                f"{name} = {self.pick()} * (1.0 + c{name}.max())",
            ]
        else:
            edge = self.rng.choice(("0", "-1", ":2", ":, 0", ":, -1", "::2"))
            self.lines += [
                f"{name} = {self.pick()} * 1.0",
                f"{name}[{edge}] = {self.rng.choice(('0.5', 'x.mean()'))}",
            ]
        self.names.append(name)

    def pick(self) -> str:
        return self.rng.choice(self.names)

    def value(self, depth: int = 2) -> str:
        if depth == 0:
            return self.pick()
        one, other = self.value(depth - 1), self.rng.choice((self.pick(), self.reduced(), "w", "0.5"))
        return self.rng.choice(
            (
                f"({one} + {other})",
                f"({one} * {other})",
                f"np.maximum({one}, {other})",
                f"np.sin({one})",
                f"np.where({one} > 0.1, {one}, {other})",
                f"({one} + np.arange(x.shape[0])[:, None] * 0.25)",
                f"({one} - np.arange(x.shape[1]) * 0.25)",
                f"{one}[::-1]",
                f"{one}.T.T",
                f"np.cumsum({one}, axis={self.rng.randint(0, 1)})",
                f"np.concatenate([{one}[2:], {one}[:2]])",
                self.moved(one),
                *([self.called(one), self.called(one)] if self.calls else []),
            )
        )

    def moved(self, one: str) -> str:
        """A matrix whose elements come from elsewhere: rolled, turned round, or from a result of several before them."""
        axis, shift = self.rng.randint(0, 1), self.rng.choice((-3, -1, 1, 2))
        return self.rng.choice(
            (
                f"np.roll({one}, {shift}, {axis})",
                f"np.flip({one}, {axis})",
                f"{one}[::-1, ::-1]",
                f"np.maximum.accumulate({one}, axis={axis})",
                f"np.minimum.accumulate({one}[::-1], axis={axis})[::-1]",
                f"np.cumprod(np.sin({one}), axis={axis})",
                f"({one} + {one}[{self.rng.randint(0, 1)}])",
                f"({one} * {one}[:, {self.rng.randint(-1, 0)}:][:, :1])",
            )
        )

    def called(self, one: str) -> str:
        """A matrix that a function of NumPy computes, or that is looked up by row or column."""
        axis = self.rng.randint(0, 1)
        return self.rng.choice(
            (
                f"np.sort({one}, axis={axis})",
                f"(np.argsort(x, axis={axis}, kind='stable') * 0.125)",
                f"({one} - np.median({one}, axis={axis}, keepdims=True))",
                f"np.fft.fft({one}, axis={axis}).imag",
                f"np.interp({one}, np.array([-1.0, 0.0, 2.0]), np.array([0.0, 3.0, 1.0]))",
                f"{one}[np.arange(x.shape[0]) * 2 % 3]",
                f"({one} + {one}[:, [0, 2, 1]].sum(1, keepdims=True))",
            )
        )

    def reduced(self) -> str:
        """What broadcasts to a matrix."""
        name, axis = self.pick(), self.rng.randint(0, 1)
        how = self.rng.choice(("sum", "mean", "max", "min", "var", "argmax", "argmin", "logsumexp", "all"))
        if how == "all":
            return f"{name}.{self.rng.choice(('sum', 'max', 'mean'))}()"
        if how in ("argmax", "argmin"):
            return f"({name}.{how}({axis}) * 0.125){('', '[:, None]')[axis]}"
        if how == "logsumexp":
            return f"nt.nn.logsumexp({name}, {axis}){('', '[:, None]')[axis]}"
        return f"{name}.{how}({axis}, keepdims=True)"


def chunks_of(extent: int, rng: random.Random) -> tuple[int, ...]:
    ends = sorted({0, extent, *(rng.randint(0, extent) for _ in range(rng.choice((0, 1, 2, 4, extent))))})
    return tuple(high - low for low, high in pairwise(ends)) or (0,)


def judge(seed: int, calls: bool = False) -> str:
    """What becomes of the function of a seed: `right`, or why it is refused. Raises where chunks give another value.

    What NumPy refuses for these extents (windows wider than the matrix) is refused for the whole and for chunks."""
    text, rng = Writer(seed, calls).text(), random.Random(seed)
    name = f"<chunks {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "nt": nt}
    exec(compile(text, name, "exec"), space)
    x = np.random.default_rng(seed).standard_normal((rng.randint(4, 13), rng.randint(4, 9)))
    w = np.random.default_rng(seed).standard_normal(x.shape[1])
    f = nt.jit(space["f"])
    rows, columns = (chunks_of(extent, rng) for extent in x.shape)
    given = da.from_array(x, chunks=(rows, columns)), rng.choice((w, da.from_array(w, chunks=(columns,))))
    try:
        space["f"](x, w)
    except ValueError:
        for arguments in ((x, w), given):
            with pytest.raises(ShapeError):
                f(*arguments)
        return "NumPy refuses it"
    wanted = f(x, w)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    try:
        got = f(*given)
    except NestorError as error:
        assert "internal error" not in str(error), f"seed {seed}: {error}\n{text}"
        return error.diagnostic.message.partition(":")[2].strip()
    got = got if isinstance(got, tuple) else (got,)
    with dask.config.set(scheduler="synchronous"):
        for lazy, whole in zip(got, wanted, strict=True):
            message = f"seed {seed}, chunks {rows} x {columns}\n{text}"
            assert lazy.shape == np.shape(whole), message
            np.testing.assert_allclose(np.asarray(lazy), whole, rtol=1e-10, atol=1e-10, err_msg=message)
    return "right"


def test_random_functions_on_random_chunks():
    assert [judge(seed) for seed in (1, 2)] == ["right"] * 2
    assert judge(3, calls=True) == "right"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_functions_on_random_chunks(part):
    found = Counter(judge(seed) for seed in range(20 * part, 20 * part + 20))
    assert found["right"] >= 16, found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_many_random_functions_that_call_numpy(part):
    found = Counter(judge(seed, calls=True) for seed in range(20 * part, 20 * part + 20))
    assert found["right"] >= 16, found
