"""The same call gives the same bits: many times over, and in processes of their own, for a number of threads."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest
from nestor import nn
from nestor.runtime.cpu.threads import set_num_threads

PROCESSES = 2


def total(x):
    return np.sum(x), np.mean(x * x), np.max(x)


def rows(x):
    return np.sum(x, axis=1), np.sum(x, axis=0), np.var(x, axis=1)


def product(x, y):
    return x @ y


def product_with_epilogue(x, y):
    return np.maximum(x @ y + x[0, 0], 0).sum(axis=0)


def softmax(x):
    return nn.softmax(x), nn.log_softmax(x)


def normalised(x):
    return nn.layer_norm(x)


def running(x):
    return np.cumsum(x), np.cumsum(x, axis=1)


def attention(x, y):
    return nn.attention(x, x, y.T)


def numbers(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


PROGRAMS = {
    "total": (total, (numbers(1_000_003),)),
    "rows": (rows, (numbers(257, 1029),)),
    "product": (product, (numbers(193, 301), numbers(301, 187))),
    "product with epilogue": (product_with_epilogue, (numbers(193, 301), numbers(301, 187))),
    "softmax": (softmax, (numbers(257, 1029),)),
    "normalised": (normalised, (numbers(257, 1029),)),
    "running": (running, (numbers(257, 1029),)),
    "attention": (attention, (numbers(65, 48), numbers(48, 65))),
}
"""Large enough for two threads."""
COVERED = ("product", "softmax")
"""What the product with an epilogue and attention compute too: only among slow tests."""


def digest(result) -> str:
    parts = result if isinstance(result, tuple) else (result,)
    return hashlib.sha256(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()


def programs(calls: int) -> list[str]:
    return [name for name in PROGRAMS if calls == 100 or name not in COVERED]


def digests(threads: int, calls: int) -> dict[str, str]:
    """Of every program; so many calls of each agree."""
    set_num_threads(threads)
    result = {}
    for name in programs(calls):
        function, arguments = PROGRAMS[name]
        compiled = nt.jit(function)
        seen = {digest(compiled(*arguments)) for _ in range(calls)}
        assert len(seen) == 1, f"{name} gives {len(seen)} results with {threads} threads"
        result[name] = seen.pop()
    return result


@pytest.mark.parametrize(
    ("threads", "calls"), [(2, 10), *(pytest.param(n, 100, marks=pytest.mark.slow) for n in (1, 2))]
)
def test_calls_and_processes_agree(threads, calls):
    """Ten calls of most programs; the slow tests have a hundred of all, and one thread."""
    code = f"import json, test_determinism as t; print(json.dumps(t.digests({threads}, {calls})))"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(PROCESSES)
    ]
    outputs = [process.communicate(timeout=600) for process in processes]
    assert [p.returncode for p in processes] == [0] * PROCESSES, outputs[0][1]
    answers = {out for out, _ in outputs}
    assert len(answers) == 1
    assert set(programs(calls)) == set(json.loads(answers.pop()))


def test_a_difference_of_one_bit_is_seen():
    x = np.ones(3, np.float32)
    assert digest(x) != digest(np.nextafter(x, np.float32(2)))
