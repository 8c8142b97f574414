"""`f.explain` of a function for a GPU says why kernels are as they are: what the automatic schedule remarks."""

import nestor as nt
import numpy as np


def stored(x, at):
    x[at] = 1


def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ v


def test_checks_before_writes_have_their_reason():
    said = nt.jit(stored, target="cuda-sim").explain(np.ones(9, np.float32), np.zeros(5, np.int64))
    assert "kernel of their own: the function changes an argument, which must stay as it was" in said
    assert "runs as one GPU thread" in said


def test_attention_says_where_the_scores_are():
    q = np.ones((2, 40, 16), np.float32)
    said = nt.jit(attention, target="cuda-sim").explain(q, q, q)
    assert "stay in shared memory" in said
    unknown = nt.jit(attention, target="cuda-sim", dynamic=True).explain(q, q, q)
    assert "go to global memory" in unknown


def test_the_cpu_has_no_kernels():
    assert "kernels" not in nt.jit(stored).explain(np.ones(9, np.float32), np.zeros(5, np.int64))
