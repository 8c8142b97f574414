"""Random expression trees: what the printer folds into one C expression keeps its grouping.

And random stores between loads and what is made of them: an expression stays before a store to what it reads.
"""

import random

import numpy as np
import pytest
from cuda_kernels import parse
from nestor.lowering.cuda_c.emit import print_cuda
from nestor.runtime import scalar_eval
from nestor.runtime.cuda_sim.module import SimModule
from xdsl.dialects import arith, memref

TREES = 60
COUNT = 16
_LEAVES = {"i32": "a", "i64": "b", "f64": "f", "i1": "p"}
_BINARY = {
    "i32": ["addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui"],
    "i64": ["addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxui"],
    "f64": ["addf", "subf", "mulf", "divf", "maximumf", "minimumf"],
    "i1": ["andi", "ori", "xori"],
}
_UNARY = {
    "i32": [("arith.trunci {0} : i64 to i32", "i64"), ("arith.extui {0} : i1 to i32", "i1")],
    "i64": [("arith.extsi {0} : i32 to i64", "i32"), ("arith.extui {0} : i32 to i64", "i32")],
    "f64": [("arith.negf {0} : f64", "f64"), ("arith.sitofp {0} : i32 to f64", "i32")],
    "i1": [("arith.trunci {0} : i32 to i1", "i32")],
}
_COMPARE = [
    ("arith.cmpi slt, {0}, {1} : i32", "i32"),
    ("arith.cmpi ult, {0}, {1} : i64", "i64"),
    ("arith.cmpi eq, {0}, {1} : i32", "i32"),
    ("arith.cmpf olt, {0}, {1} : f64", "f64"),
    ("arith.cmpf ugt, {0}, {1} : f64", "f64"),
    ("arith.cmpi ne, {0}, {1} : i1", "i1"),
]


class _Tree:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def emit(self, text: str) -> str:
        name = f"%{len(self.lines) + 100}"
        self.lines.append(f"{name} = {text}")
        return name

    def build(self, type_: str, depth: int) -> str:
        r = self.random
        if depth == 0 or r.random() < 0.1:
            if type_ != "i1" and r.random() < 0.3:
                value = r.choice([0, 1, -1, 7, -13])
                return self.emit(f"arith.constant {float(value) if type_ == 'f64' else value} : {type_}")
            return f"%{_LEAVES[type_]}"
        kind = r.random()
        if kind < 0.2:
            text, source = r.choice(_UNARY[type_])
            return self.emit(text.format(self.build(source, depth - 1)))
        if kind < 0.35:
            parts = [self.build(t, depth - 1) for t in ("i1", type_, type_)]
            return self.emit(f"arith.select {', '.join(parts)} : {type_}")
        if type_ == "i1" and kind < 0.8:
            text, source = r.choice(_COMPARE)
            return self.emit(text.format(self.build(source, depth - 1), self.build(source, depth - 1)))
        if type_ in ("i32", "i64") and kind < 0.45:
            amount = self.emit(f"arith.constant {r.randrange(20)} : {type_}")
            op = r.choice(["shli", "shrsi", "shrui"])
            return self.emit(f"arith.{op} {self.build(type_, depth - 1)}, {amount} : {type_}")
        left, right = self.build(type_, depth - 1), self.build(type_, depth - 1)
        return self.emit(f"arith.{r.choice(_BINARY[type_])} {left}, {right} : {type_}")


def _kernel(seed: int) -> str:
    type_ = ("i32", "i64", "f64")[seed % 3]
    tree = _Tree(seed)
    root = tree.build(type_, 6)
    body = "\n".join(tree.lines)
    return f"""gpu.func @tree{seed}(%as: memref<{COUNT}xi32>, %bs: memref<{COUNT}xi64>,
        %fs: memref<{COUNT}xf64>, %ps: memref<{COUNT}xi8>, %out: memref<{COUNT}x{type_}>) kernel {{
      %i = gpu.thread_id x
      %a = memref.load %as[%i] : memref<{COUNT}xi32>
      %b = memref.load %bs[%i] : memref<{COUNT}xi64>
      %f = memref.load %fs[%i] : memref<{COUNT}xf64>
      %p8 = memref.load %ps[%i] : memref<{COUNT}xi8>
      %p = arith.trunci %p8 : i8 to i1
      {body}
      memref.store {root}, %out[%i] : memref<{COUNT}x{type_}>
      gpu.return
    }}"""


@pytest.fixture(scope="module")
def compiled():
    kernels = "\n".join(_kernel(seed) for seed in range(TREES))
    module = parse(f"gpu.module @trees attributes {{nestor.index_bits = 32 : i64}} {{\n{kernels}\n}}")
    functions = {f.sym_name.data: f for f in module.body.block.first_op.body.block.ops}
    return functions, SimModule(print_cuda(module).source)


def _interpret(function, arrays, lane: int):
    values = dict(zip(function.body.block.args, arrays, strict=False))
    for op in function.body.block.ops:
        if isinstance(op, memref.StoreOp):
            return values[op.value]
        if isinstance(op, memref.LoadOp):
            values[op.res] = values[op.memref][lane]
        elif isinstance(op, arith.ConstantOp):
            values[op.result] = scalar_eval.constant(op)
        elif op.operands:
            values[op.results[0]] = scalar_eval.function(op)(*(values[v] for v in op.operands))
    raise AssertionError("the kernel stores nothing")


@pytest.mark.parametrize("seed", range(TREES))
def test_tree(compiled, seed):
    functions, sim = compiled
    rng = np.random.default_rng(seed)
    arrays = [
        rng.integers(-(2**31), 2**31, COUNT, dtype=np.int32),
        rng.integers(-(2**63), 2**63, COUNT, dtype=np.int64),
        rng.normal(size=COUNT),
        rng.integers(0, 2, COUNT, dtype=np.int8),
    ]
    arrays[0][:6] = [0, 1, -1, 2, -(2**31), 2**31 - 1]
    out = np.zeros(COUNT, (np.int32, np.int64, np.float64)[seed % 3])
    sim.launch(f"tree{seed}", (1,), (COUNT,), [*arrays, out])
    with np.errstate(all="ignore"):
        expected = [_interpret(functions[f"tree{seed}"], arrays, lane) for lane in range(COUNT)]
    np.testing.assert_array_equal(out, np.array(expected, out.dtype))


ELEMENTS = 4
"""Elements of each buffer that a thread has in the kernels with stores."""
STEPS = 24


def _steps(seed: int) -> list[tuple]:
    """Loads, arithmetic and stores in some order, each value used about once: `("load", buffer, element)`, ..."""
    r = random.Random(f"stores {seed}")
    steps: list[tuple] = [("load", "x", 0), ("load", "y", 0)]
    unused = [0, 1]
    while len(steps) < STEPS:
        kind = r.random()
        if kind < 0.4 or len(unused) < 2:
            steps.append(("load", r.choice("xy"), r.randrange(ELEMENTS)))
        elif kind < 0.75:
            left, right = (unused.pop(r.randrange(len(unused))) for _ in range(2))
            steps.append((r.choice(["addi", "subi", "xori", "maxsi"]), left, right))
        else:
            value = unused.pop(r.randrange(len(unused))) if r.random() < 0.7 else r.choice(unused)
            steps.append(("store", value, r.choice("xy"), r.randrange(ELEMENTS)))
            continue
        unused.append(len(steps) - 1)
    return [*steps, *(("store", value, "x", k % ELEMENTS) for k, value in enumerate(unused))]


def _kernel_with_stores(seed: int) -> str:
    kind, lines = f"memref<{COUNT}x{ELEMENTS}xi32>", []
    for k, (step, *rest) in enumerate(_steps(seed)):
        if step == "load":
            lines.append(f"%{k} = memref.load %{rest[0]}[%i, %c{rest[1]}] : {kind}")
        elif step == "store":
            lines.append(f"memref.store %{rest[0]}, %{rest[1]}[%i, %c{rest[2]}] : {kind}")
        else:
            lines.append(f"%{k} = arith.{step} %{rest[0]}, %{rest[1]} : i32")
    constants = "\n".join(f"%c{k} = arith.constant {k} : index" for k in range(ELEMENTS))
    body = "\n".join(lines)
    return f"""gpu.func @stores{seed}(%x: {kind}, %y: {kind}) kernel {{
      %i = gpu.thread_id x
      {constants}
      {body}
      gpu.return
    }}"""


def _run_steps(seed: int, buffers: dict[str, np.ndarray]) -> None:
    values: list = []
    for step, *rest in _steps(seed):
        if step == "load":
            values.append(buffers[rest[0]][:, rest[1]].copy())
        elif step == "store":
            buffers[rest[1]][:, rest[2]] = values[rest[0]]
            values.append(None)
        else:
            function = {"addi": np.add, "subi": np.subtract, "xori": np.bitwise_xor, "maxsi": np.maximum}[
                step
            ]
            values.append(function(values[rest[0]], values[rest[1]]))


def test_expressions_stay_before_stores_to_what_they_read():
    kernels = "\n".join(_kernel_with_stores(seed) for seed in range(TREES))
    module = parse(f"gpu.module @stores attributes {{nestor.index_bits = 32 : i64}} {{\n{kernels}\n}}")
    sim = SimModule(print_cuda(module).source)
    for seed in range(TREES):
        rng = np.random.default_rng(seed)
        got = {name: rng.integers(-99, 99, (COUNT, ELEMENTS), dtype=np.int32) for name in "xy"}
        wanted = {name: array.copy() for name, array in got.items()}
        sim.launch(f"stores{seed}", (1,), (COUNT,), list(got.values()))
        _run_steps(seed, wanted)
        for name in "xy":
            np.testing.assert_array_equal(got[name], wanted[name], err_msg=f"{seed}: {_steps(seed)}")
