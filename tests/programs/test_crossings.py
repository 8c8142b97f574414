"""All that a call can be, crossed, in random order through the same functions: dtypes, ranks, layouts, None, numbers, static
arguments, structures, outside state, gradients. Every result is that of Python, and nothing compiles twice."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import nestor as nt
import numpy as np
import pytest
from sampling import is_sampled

SCALE = 2.0
TABLE = np.arange(1.0, 4.0)


class Settings:
    shift = 1.0


SETTINGS = Settings()


@dataclass
class Pair:
    first: Any
    second: Any


def mixed(x, y=None, mode="sum", *, times=1):
    """An optional argument, a static one, a keyword, a global, an attribute of an object."""
    z = x * SCALE if y is None else x * SCALE + y
    for _ in range(times):
        z = z + SETTINGS.shift
    if mode == "sum":
        return z.sum()
    return z.max(initial=0) if mode == "max" else z


def parted(data, by):
    """A structure in, the same kind of structure out."""
    if isinstance(data, dict):
        return {name: value * by for name, value in data.items()}
    if isinstance(data, Pair):
        return Pair(data.first + by, data.second - data.first)
    first, second = data
    return second, first * by + second


def written(x, k):
    """An argument that is changed, and an array from outside."""
    x[...] = x * 2 + k
    x[..., -1:] += TABLE[0]
    return x.sum(), TABLE * k


def squares(x, mode):
    """Something with a gradient that is written down below."""
    z = x * x * SCALE if mode == "square" else np.sin(x) * SETTINGS.shift
    return z.sum()


def slope(x, mode):
    return 2 * x * SCALE if mode == "square" else np.cos(x) * SETTINGS.shift


DTYPES = ("f8", "f4", "i8", "i4", "u1", "?", "c16")
SHAPES = ((), (1,), (5,), (0,), (3, 4), (1, 4), (4, 1), (2, 0, 3), (2, 3, 2), (7, 3))


def array(rng: np.random.Generator, dtypes=DTYPES, writeable: bool = False) -> Any:
    """An array of any dtype, shape and layout; sometimes a NumPy scalar."""
    dtype, shape = np.dtype(rng.choice(dtypes)), SHAPES[rng.integers(len(SHAPES))]
    values = rng.integers(0, 5, shape).astype(dtype) if dtype.kind in "iub?" else rng.random(shape)
    x = np.asarray(values).astype(dtype)
    if not x.ndim:
        return x[()] if rng.random() < 0.3 and not writeable else x
    layout = rng.integers(6)
    if layout == 1:
        x = np.asfortranarray(x)
    elif layout == 2:
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    elif layout == 3:
        x = np.flip(x, 0)
    elif layout == 4 and not writeable:
        x = np.broadcast_to(x[:1], x.shape)
    elif layout == 5 and not writeable:
        x.flags.writeable = False
    return x


def draw(rng: np.random.Generator) -> tuple[str, list[Any], dict[str, Any]]:
    kind = str(rng.choice(["mixed", "mixed", "parted", "written", "gradient"]))
    if kind == "mixed":
        x = array(rng)
        y = [None, None, 3, -2, 0.5, True, np.float32(1.5), x, x[..., ::-1] if np.ndim(x) else x][
            rng.integers(9)
        ]
        named = {"times": int(rng.integers(3))} if rng.random() < 0.4 else {}
        rest = [y] if rng.random() < 0.3 else [y, str(rng.choice(["sum", "max", "none"]))]
        return kind, [x, *rest], named
    if kind == "parted":
        one, by = array(rng, ("f8", "f4", "i8")), [2, 0.5, np.float32(3)][rng.integers(3)]
        other = one + 1
        data = [(one, other), [one, other], {"a": one, "b": other}, {"b": other}, Pair(one, other)][
            rng.integers(5)
        ]
        return kind, [data, by], {}
    if kind == "written":
        x = array(rng, ("f8", "f4", "i8"), writeable=True)
        while not np.ndim(x):
            x = array(rng, ("f8", "f4", "i8"), writeable=True)
        return kind, [x, int(rng.integers(-3, 3))], {}
    return kind, [array(rng, ("f8", "f4")), str(rng.choice(["square", "sine"]))], {}


def change_what_is_outside(rng: np.random.Generator) -> None:
    global SCALE, TABLE, SETTINGS
    case = rng.integers(6)
    if case == 0:
        SCALE = [2.0, 3.0, -1.5, 4][rng.integers(4)]
    elif case == 1:
        TABLE = np.arange(1.0, 2.0 + rng.integers(1, 4))
    elif case == 2:
        TABLE[0] = rng.random()
    elif case == 3:
        SETTINGS.shift = [1.0, 0.25, 2][rng.integers(3)]
    elif case == 4:
        SETTINGS = Settings()


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [type(value), *value, *[leaf for one in value.values() for leaf in leaves(one)]]
    if isinstance(value, Pair):
        return [Pair, *leaves(value.first), *leaves(value.second)]
    if isinstance(value, tuple | list):
        return [type(value), *[leaf for one in value for leaf in leaves(one)]]
    return [value]


def assert_same(got: Any, wanted: Any, what: str) -> None:
    got, wanted = leaves(got), leaves(wanted)
    assert len(got) == len(wanted), what
    for a, b in zip(got, wanted, strict=True):
        if not isinstance(b, np.ndarray | np.generic):
            assert a is b or a == b, what
            continue
        assert type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape, f"{what}: {a!r}, {b!r}"
        tolerance = 2e-5 if a.dtype.itemsize == 4 and a.dtype.kind == "f" else 1e-12
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=what)


class Compiled:
    """The compiled functions: one of each, for all calls."""

    def __init__(self, target: str = "cpu"):
        self.functions = {
            "mixed": nt.jit(mixed, target=target, static_argnames=("times",)),
            "parted": nt.jit(parted, target=target),
            "written": nt.jit(written, target=target),
            "gradient": nt.jit(nt.grad(squares), target=target),
        }

    def check(self, kind: str, arguments: list[Any], named: dict[str, Any]) -> None:
        plain = {"mixed": mixed, "parted": parted, "written": written, "gradient": slope}[kind]
        what = f"{kind} of {arguments} {named}"[:400]
        ours = copy.deepcopy(arguments) if kind == "written" else arguments
        try:
            wanted = plain(*arguments, **named)
        except (TypeError, ValueError, OverflowError) as error:
            with pytest.raises(type(error)):
                self.functions[kind](*ours, **named)
            return
        got = self.functions[kind](*ours, **named)
        if kind == "gradient":
            wanted = np.asarray(wanted)[()] if isinstance(got, np.generic) else np.asarray(wanted)
            wanted = wanted.astype(got.dtype)
            assert got.dtype == arguments[0].dtype, what
        assert_same(got, wanted, what)
        if kind == "written":
            assert_same(ours[0], arguments[0], what)

    def count(self) -> int:
        return sum(one.cache_info()["compiled"] for one in self.functions.values())


def run(seed: int, count: int, target: str = "cpu") -> None:
    rng = np.random.default_rng(seed)
    compiled = Compiled(target)
    for _ in range(count):
        if rng.random() < 0.2:
            change_what_is_outside(rng)
        with np.errstate(all="ignore"):
            compiled.check(*draw(rng))


@pytest.fixture(autouse=True)
def what_is_outside(monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    monkeypatch.setitem(globals(), "TABLE", np.arange(1.0, 4.0))
    monkeypatch.setitem(globals(), "SETTINGS", Settings())
    monkeypatch.setenv("NESTOR_PROGRAMS", "100000")


def test_calls_in_random_order():
    run(40, 120 if is_sampled() else 1000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(41, 44))
def test_more_calls_in_random_order(seed):
    run(seed, 1000)


@pytest.mark.parametrize("target", ["interp", pytest.param("cuda-sim", marks=pytest.mark.slow)])
def test_on_other_targets(target):
    run(50, 40, target)


def test_what_was_called_before_compiles_nothing():
    rng = np.random.default_rng(60)
    calls = [draw(rng) for _ in range(60 if is_sampled() else 200)]
    calls = [call for call in calls if call[0] != "written"]
    compiled = Compiled()
    with np.errstate(all="ignore"):
        for call in calls:
            compiled.check(*call)
        before = compiled.count()
        for k in rng.permutation(len(calls)):
            compiled.check(*calls[k])
    assert compiled.count() == before
