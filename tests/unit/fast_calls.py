"""Calls that the native wrapper and the Python path must answer alike; run as a script, it tries very many of them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import nestor as nt
import numpy as np
from nestor.runtime.cpu import fast_call


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


def add(x, y):
    return x + y


def shifted(x, y=2.0, axis=None):
    return np.sum(x, axis=axis) + y


def grow(x, y):
    x += y


def both(p, k):
    return Pair(p[1] * k, p[0]), (p[0] + p[1]).sum(), k, None


def picked(x, i):
    return x[i] * 2


def turned(x, n):
    return np.full((n, 2), x.max()), x.T, float(n)


SCALE = 3.0


def scaled(x):
    return x * SCALE


def either(x, y):
    return x | y


def numbers(x):
    return x.sum(), float(x.sum()), int(x.sum()), bool(x.any()), len(x), x


def paired(x, y):
    return np.stack([x, y], axis=1) * 2


def first_two(xs):
    return xs[0] + xs[1]


@nt.jit
def doubled(x):
    return x * 2


def arrays() -> list[np.ndarray]:
    """Arrays of every kind that a call may get wrong."""
    base = np.arange(24.0).reshape(4, 6)
    locked = np.arange(6.0)
    locked.flags.writeable = False
    unaligned = np.frombuffer(bytearray(49), np.float64, 6, 1)
    return [
        np.arange(6.0),
        np.arange(6.0) + 1,
        np.arange(1, 13.0),
        np.arange(6, dtype=np.float32),
        np.arange(6),
        np.arange(6, dtype=np.int8),
        np.arange(6) > 2,
        base,
        np.asfortranarray(base),
        base[::2],
        base[:, ::-1],
        base[1],
        base[1, 1:],
        base.T,
        locked,
        unaligned,
        np.arange(6.0).astype(">f8"),
        np.array(2.5),
        np.zeros(0),
        np.zeros((0, 6)),
        np.ones(1),
        np.ones((1, 6)),
        np.broadcast_to(np.float64(1.5), (6,)),
        np.ma.masked_array(np.arange(6.0), [0, 1, 0, 0, 0, 0]),
        np.array([1 + 2j] * 6),
        np.array(["a"] * 6),
        np.array([None] * 6),
    ]


def scalars() -> list:
    """Arguments that are no arrays."""
    python = [0, 1, 7, -1, 1 << 62, 1 << 63, -(1 << 70), True, False, 2.0, -0.0, float("nan"), None, "x", 1j]
    numpy = [
        np.float32(1.5),
        np.float64(2.5),
        np.int8(-3),
        np.uint64(1 << 63),
        np.bool_(True),
        np.float16(0.5),
    ]
    return [*python, *numpy, (), [], {}, object]


def outcome(function, args, kwargs):
    """What a call does, in words that can be compared."""
    args, kwargs = _copied(args), {k: _copied(v) for k, v in kwargs.items()}
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        # The way out is not the same in every program, and the place is that of the call.
        message = error.diagnostic.message if isinstance(error, nt.NestorError) else str(error)
        return type(error), message, [described(a) for a in args]
    same = [position for position, a in enumerate(args) if a is result]
    return described(result), same, [described(a) for a in args], [described(a) for a in kwargs.values()]


def _copied(value):
    """The same layout in other memory; arrays that were the same array stay so."""
    import copy

    if isinstance(value, tuple | list) and any(isinstance(v, np.ndarray) for v in value):
        memo = {}
        items = [memo.setdefault(id(v), _copied(v)) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if type(value) is not np.ndarray:
        return copy.copy(value) if isinstance(value, np.ndarray) else value
    if value.flags.c_contiguous or not value.size or 0 in value.strides:
        fresh = value.copy() if value.flags.aligned else value
        fresh.flags.writeable = value.flags.writeable
        return fresh
    low = min(0, sum(min(0, s * (n - 1)) for s, n in zip(value.strides, value.shape, strict=True)))
    memory = np.zeros(4096 + 2 * value.nbytes, np.uint8)
    fresh = np.ndarray(value.shape, value.dtype, memory.data, -low, value.strides)
    fresh[...] = value
    return fresh


def described(value):
    """Everything about a value that a caller can see."""
    if isinstance(value, np.ndarray):
        where = (value.dtype.str, value.shape, value.strides, value.flags.c_contiguous, value.flags.writeable)
        return type(value), *where, value.tolist() if value.dtype.kind == "O" else value.tobytes()
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if isinstance(value, tuple | list):
        return type(value), [described(item) for item in value]
    return type(value), repr(value)


def in_python(function):
    """The same function, never called natively."""
    return lambda *args, **kwargs: type(function).__call__(function, *args, **kwargs)


def warmed(function, *args, **kwargs):
    """A jitted function that has seen these arguments often enough to answer them natively."""
    jitted = function if isinstance(function, nt.jit(add).__class__) else nt.jit(function)
    for _ in range(3):
        jitted(*_copied(args), **{k: _copied(v) for k, v in kwargs.items()})
    return jitted


def native(function, *args, **kwargs) -> bool:
    """Whether a call is answered by an entry."""
    before = fast_call.hits(function)
    function(*args, **kwargs)
    return fast_call.hits(function) == before + 1


def run_script(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own, which finds this module: a crash must not hide."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *options, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
        timeout=600,
    )


def stress(seed: int, count: int) -> None:
    """Random calls of functions that have native entries, compared with what Python answers."""
    generator = random.Random(seed)
    assert fast_call.available()
    x = np.arange(6.0)
    base = np.arange(24.0).reshape(4, 6)
    calls = [
        (warmed(add, x, x + 1), (x, x + 1), {}),
        (warmed(shifted, base, 2.0, axis=0), (base, 2.0), {"axis": 0}),
        (warmed(grow, x.copy(), x), (x, x + 1), {}),
        (warmed(both, (x, x + 1), 3), ((x, x + 1), 3), {}),
        (warmed(picked, base, 2), (base, 2), {}),
        (warmed(turned, base, 3), (base, 3), {}),
        (warmed(scaled, x), (x,), {}),
    ]
    calls.append((calls[0][0], (x, x + 1), {"out": np.empty(6)}))
    calls.append((warmed(calls[0][0], x, 2.0), (x, 2.0), {}))
    pool = [*arrays(), *scalars()]
    pool += [Pair(x, x + 2), (x, x), [x, x]]
    for _ in range(count):
        function, given, named = generator.choice(calls)
        args, kwargs = list(given), dict(named)
        for _ in range(generator.choice((0, 0, 1, 1, 2))):
            how = generator.randrange(6)
            if how < 4 and args:
                args[generator.randrange(len(args))] = generator.choice(pool)
            elif how == 4:
                args.append(generator.choice(pool)) if generator.random() < 0.5 or not args else args.pop()
            else:
                kwargs[generator.choice(("x", "y", "k", "axis", "out", "nonsense"))] = generator.choice(pool)
        left, right = outcome(function, args, kwargs), outcome(in_python(function), args, kwargs)
        assert left == right, (function, args, kwargs, left, right)
    jitted = {id(function): function for function, *_ in calls}.values()
    print("hits", sum(fast_call.hits(f) for f in jitted))


if __name__ == "__main__":
    import faulthandler

    faulthandler.enable()
    stress(int(sys.argv[1]), int(sys.argv[2]))
    print("done")
