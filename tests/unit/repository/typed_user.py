"""A file as a user with type checkers writes it: what `test_types.py` checks, and runs."""
# pyright: strict

from __future__ import annotations

from typing import assert_type

import nestor as nt
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@nt.jit
def scaled(x: Array, by: float = 2.0) -> Array:
    return x * by


@nt.jit(dynamic=True, fastmath=("reassoc",))
def total(x: Array) -> float:
    return float(x.sum())


@nt.jit(dynamic={"x": {0: nt.dim("batch", max=64, multiple_of=3)}}, profile=True, hot_sizes=True)
def halved(x: Array, by: int) -> Array:
    return x / by


KERNEL = """
__global__ void shifted(const double *x, int n, double by, double *y, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + by;
}
"""


@nt.custom_op(shape="(n),()->(n)", dtype="f8", cuda=KERNEL, grid="n // 128 + 1", block=128)
def shifted(x: Array, by: float) -> Array:
    return x + by


def loss(w: Array, x: Array) -> float:
    return float(((x @ w) ** 2).sum())


class Model:
    @nt.jit
    def step(self, x: Array) -> Array:
        return x + 1.0


x = np.ones(3)
assert_type(halved(x, 2), Array)
assert_type(scaled(x, by=3.0), Array)
assert_type(total(x), float)
value, gradient = nt.value_and_grad(loss)(x, np.ones((2, 3)))
assert_type(value, float)
nt.jit(nt.grad(loss))(x, np.ones((2, 3)))
low = scaled.lower(x)
text: str = low.as_text("nest")
compiled = low.compile()
compiled(x)
s = low.schedule()
own = nt.schedule(scaled.lower(np.ones(64)))
blocks, lanes, *_ = own.split("i", 16, tail="perfect")
own.vectorize(lanes)
own.annotate(blocks, "unrolled", force=True)
assert_type(own.loop_names, list[str])
scaled.lower(np.ones(64)).compile(schedule=own)(np.ones(64))
cost = low.cost_analysis({"x": (3,)})
assert_type(cost.flops, int)
assert_type(low.memory_analysis(threads=1).peak, int)
picture: str = low.graph("html")
print(scaled.explain(x), scaled.cache_info()["compiled"], text, s)
assert_type(shifted(x, 3.0), Array)
assert_type(nt.testing.check_op(shifted, x, 3.0), list[str])
call = nt.fork(scaled, x, 3.0)
assert_type(nt.wait(call), Array)
rows = nt.vmap(scaled)(np.ones((2, 3)))
assert_type(rows, Array)
nt.set_num_threads(2)
with nt.disable_jit(), nt.debug_nans():
    scaled(x)
spec = nt.spec((3, 4), "f4")
noise = nt.random.uniform(0, (3,))
soft = nt.nn.softmax(x)
