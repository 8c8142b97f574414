"""Dependence vectors against an enumeration of all pairs of instances, on random affine nests."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from cpu_nests import NESTS
from nestor.analysis.nest.loop_structure import enclosing_loops, functions, loops_in
from nestor.analysis.nest.sets.accesses import accesses_of
from nestor.analysis.nest.sets.dependence import analyse
from nestor.analysis.nest.sets.distances import SIGNS
from nestor.dialects.affine import constant_of
from nestor.dialects.nest import ForOp, IfOp, LoadOp
from nestor.dialects.parse import parse_module
from nestor.tools.opt_tool.context import make_tool_context
from xdsl.dialects import arith

HEAD = """
func.func @f(%a: memref<?x?xf32> {nest.role = "inout"}, %b: memref<?xf32> {nest.role = "inout"}) {
"""


def function_of(text: str):
    return functions(parse_module(text, "nest.mlir"))[0]


class RandomNest:
    """A nest of constant bounds: its text, and how each access finds its element."""

    def __init__(self, seed: int, branches: bool = False):
        self.rng = random.Random(seed)
        self.branches = branches
        self.lines: list[str] = []
        self.values = 0
        for _ in range(self.rng.choice([1, 1, 2])):
            self.loop([], 1)
        self.text = HEAD + "\n".join(self.lines) + "\nfunc.return\n}"

    def loop(self, around: list[str], depth: int) -> None:
        name = f"l{self.values}"
        self.values += 1
        lower = self.rng.choice(["0", "0", "1", "-2", *(f"%{v}" for v in around)])
        upper = self.rng.choice(["3", "4", "5", *(f"%{v} + 2" for v in around)])
        step = self.rng.choice(["", "", "step 2"])
        self.lines.append(f'nest.for "{name}" %{name} = {lower} to {upper} {step} {{')
        inside = [*around, name]
        for _ in range(self.rng.randint(1, 2)):
            self.branch(inside) if self.branches and self.rng.random() < 0.6 else self.access(inside)
        if depth < 3 and self.rng.random() < 0.7:
            self.loop(inside, depth + 1)
            if self.rng.random() < 0.4:
                self.access(inside)
        if depth == 2 and self.rng.random() < 0.2:
            self.loop(inside, depth + 1)
        self.lines.append("}")

    def branch(self, around: list[str]) -> None:
        """An access where a loop's variable compares to a number, perhaps another one where it does not."""
        number, self.values = self.values, self.values + 1
        predicate = self.rng.choice(["slt", "sge", "eq", "ne"])
        self.lines.append(f"%k{number} = arith.constant {self.rng.randint(-2, 4)} : index")
        self.lines.append(
            f"%c{number} = arith.cmpi {predicate}, %{self.rng.choice(around)}, %k{number} : index"
        )
        self.lines.append(f"nest.if %c{number} {{")
        self.access(around)
        if self.rng.random() < 0.5:
            self.lines.append("} else {")
            self.access(around)
        self.lines.append("}")

    def access(self, around: list[str]) -> None:
        buffer, rank, shape = self.rng.choice([("a", 2, "?x?xf32"), ("b", 1, "?xf32")])
        indices = ", ".join(self.index(around) for _ in range(rank))
        value = f"%x{self.values}"
        self.values += 1
        self.lines.append(f"{value} = nest.load %{buffer}[{indices}] : memref<{shape}>")
        if self.rng.random() < 0.6:
            buffer, rank, shape = self.rng.choice([("a", 2, "?x?xf32"), ("b", 1, "?xf32")])
            indices = ", ".join(self.index(around) for _ in range(rank))
            where = (
                f" where ({self.index(around)} < {self.rng.randint(0, 3)})" if self.rng.random() < 0.3 else ""
            )
            form = self.rng.choice(['nest.store "s" {},', 'nest.accumulate "s" add {},']).format(value)
            self.lines.append(f"{form} %{buffer}[{indices}]{where} : memref<{shape}>")

    def index(self, around: list[str]) -> str:
        first, second = self.rng.choice(around), self.rng.choice(around)
        k = self.rng.randint(-1, 2)
        simple = [f"%{first}", f"%{first} + {k}", f"%{first} + %{second}", str(k)]
        mixed = [f"2 * %{first} - %{second} + {k}", f"%{first} ceildiv 2"]
        divided = [f"(%{first} + {k}) floordiv 2", f"(%{first} - %{second}) mod 3"]
        return self.rng.choice([*simple, *mixed, *divided])


def evaluate(expressions, values) -> list[int]:
    numbers = [values[v] for v in expressions.operands]
    return [e.eval(numbers, []) for e in expressions.exprs]


def instances(function):
    """Every access in the order in which it happens: (access, values of the loops around it, element)."""
    accesses = analyse(function).accesses
    by_op = defaultdict(list)
    for access in accesses:
        by_op[access.op].append(access)

    def run(block, values):
        for op in block.ops:
            if isinstance(op, ForOp):
                lower, upper = max(evaluate(op.lower, values)), min(evaluate(op.upper, values))
                for i in range(lower, upper, op.step_value):
                    yield from run(op.body.block, {**values, op.iv: i})
            if isinstance(op, IfOp):
                taken = op.then_region if holds(op.condition, values) else op.else_region
                if taken is not None:
                    yield from run(taken.block, values)
            for access in by_op.get(op, ()):
                if happens(access.op, values):
                    yield access, values, tuple(evaluate(access.indices, values))

    return list(run(function.body.block, {}))


def happens(op, values) -> bool:
    """Whether a statement runs, and of a load whether one that uses it does: these stand in one body."""
    if isinstance(op, LoadOp):
        users = [use.operation for use in op.result.uses]
        return not users or any(happens(user, values) for user in users)
    return op.where is None or min(evaluate(op.where, values)) >= 0


def holds(condition, values) -> bool:
    compare = condition.owner
    assert isinstance(compare, arith.CmpiOp)
    left, right = values[compare.lhs], constant_of(compare.rhs)
    assert right is not None
    return {0: left == right, 1: left != right, 2: left < right, 5: left >= right}[
        compare.predicate.value.data
    ]


def enumerate_vectors(function) -> set:
    """(source, sink, carrier, entries) as an enumeration of instances finds them."""
    spans = defaultdict(set)
    events = instances(function)
    by_element = defaultdict(list)
    for event in events:
        by_element[event[0].buffer, event[2]].append(event)
    for group in by_element.values():
        for k, (source, before, _) in enumerate(group):
            for sink, after, _ in group[k + 1 :]:
                if not (source.writes or sink.writes):
                    continue
                around = set(enclosing_loops(sink.op))
                loops = [loop for loop in enclosing_loops(source.op) if loop in around]
                span = tuple(after[loop.iv] - before[loop.iv] for loop in loops)
                carrier = next((loop.label for loop, d in zip(loops, span, strict=True) if d), None)
                spans[source.op, sink.op, carrier].add(span)
    return {
        (*key, tuple(entry(column) for column in zip(*found, strict=True))) for key, found in spans.items()
    }


def entry(column):
    if len(set(column)) == 1:
        return column[0]
    signs = {(d > 0) - (d < 0) for d in column}
    return next(direction for direction, meaning in SIGNS.items() if meaning == signs)


@pytest.mark.parametrize("seed", range(60))
def test_vectors_are_those_of_an_enumeration(seed):
    nest = RandomNest(seed)
    function = function_of(nest.text)
    found = analyse(function).all()
    as_set = {(v.source, v.sink, v.carrier.label if v.carrier else None, v.distance) for v in found}
    assert len(as_set) == len(found)
    assert as_set == enumerate_vectors(function), nest.text


@pytest.mark.parametrize("seed", range(40))
def test_branches_on_loops_are_seen(seed):
    nest = RandomNest(seed, branches=True)
    function = function_of(nest.text)
    as_set = {
        (v.source, v.sink, v.carrier.label if v.carrier else None, v.distance)
        for v in analyse(function).all()
    }
    assert as_set == enumerate_vectors(function), nest.text


@pytest.mark.parametrize("seed", range(60))
def test_what_a_loop_carries_is_that_of_an_enumeration(seed):
    function = function_of(RandomNest(seed, branches=seed % 2 == 1).text)
    dependences = analyse(function)
    found = {
        (d.source, d.sink, d.loop.label) for loop in loops_in(function) for d in dependences.carried_by(loop)
    }
    vectors = enumerate_vectors(function)
    assert found == {(source, sink, carrier) for source, sink, carrier, _ in vectors if carrier is not None}


@pytest.mark.parametrize("name", NESTS)
def test_all_agrees_with_carried_by(name):
    function = function_of(NESTS[name].text)
    dependences = analyse(function)
    by_loop = {(v.source, v.sink, v.kind, v.carrier) for v in dependences.all() if v.carrier is not None}
    expected = {
        (d.source, d.sink, d.kind, d.loop)
        for loop in loops_in(function)
        for d in dependences.carried_by(loop)
    }
    assert by_loop == expected


def test_distance_of_a_pair():
    function = function_of(NESTS["gauss-seidel"].text)
    dependences = analyse(function)
    *loads, store = [access.op for access in dependences.accesses]
    above, left, _, right = loads
    assert set(dependences.distance(store, left)) == {(0, 0, 1), ("<", 0, 1)}
    assert (0, 1, 0) in dependences.distance(store, above)
    assert (0, 0, 1) in dependences.distance(right, store)
    assert dependences.distance(above, left) == []


PRIVATE = """
func.func @f(%x: memref<?xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %t = nest.alloc "t" : memref<4xf32>
    nest.for "j" %j = 0 to 4 {
      %v = nest.load %x[%i] : memref<?xf32>
      nest.store "t" %v, %t[%j] : memref<4xf32>
    }
    nest.for "k" %k = 0 to 4 {
      %w = nest.load %t[%k] : memref<4xf32>
    }
    nest.if %c {
      nest.for "l" %l = 0 to 4 {
        %zero = arith.constant 0.0 : f32
        nest.store "t" %zero, %t[%l] : memref<4xf32>
      }
    } else {
      nest.for "m" %m = 0 to 4 {
        %u = nest.load %t[%m] : memref<4xf32>
      }
    }
  }
  func.return
}"""


def test_private_buffers_and_branches():
    """A buffer made in an iteration carries nothing to the next one; the sides of a branch do not meet."""
    found = analyse(function_of(PRIVATE)).all()
    loops = [[loop.label for loop in enclosing_loops(v.source)] for v in found]
    sinks = [[loop.label for loop in enclosing_loops(v.sink)] for v in found]
    assert all(v.carrier is None and v.distance == (0,) for v in found)
    names = [(v.kind, a[-1], b[-1]) for v, a, b in zip(found, loops, sinks, strict=True)]
    assert names == [("flow", "j", "k"), ("output", "j", "l"), ("flow", "j", "m"), ("anti", "k", "l")]


UNKNOWN = """
func.func @f(%a: memref<?xf32> {nest.role = "inout"}, %p: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %k64 = nest.load %p[%i] : memref<?xi64>
    %k = arith.index_cast %k64 : i64 to index
    %v = nest.load %a[%k] : memref<?xf32>
    nest.store "a" %v, %a[%i] : memref<?xf32>
  }
  func.return
}"""


def test_an_index_read_from_memory_may_be_any():
    found = analyse(function_of(UNKNOWN)).all()
    assert [(v.kind, v.distance) for v in found] == [("anti", (0,)), ("anti", ("<",)), ("flow", ("<",))]


def test_accesses_of_an_unknown_operation_touch_everything():
    text = UNKNOWN.replace("%v = nest.load %a[%k] : memref<?xf32>", '%v = "test.what"(%k) : (index) -> f32')
    module = parse_module(text, "nest.mlir", make_tool_context(allow_unregistered=True))
    function = functions(module)[0]
    found = analyse(function).all()
    unknown = next(op for op in function.walk() if accesses_of(op) and accesses_of(op)[0].buffer is None)
    assert {v.distance for v in found if v.source is unknown and v.sink is unknown} == {("<",)}


FIXED_INSIDE = """
func.func @f(%a: memref<?xf32> {nest.role = "inout"}, %p: memref<?xi64>, %n: index) {
  nest.for "i" %i = 0 to %n {
    %k64 = nest.load %p[%i] : memref<?xi64>
    %k = arith.index_cast %k64 : i64 to index
    nest.for "j" %j = 0 to %n {
      %v = nest.load %a[%k + %j] : memref<?xf32>
      nest.store "a" %v, %a[%k + %j + 2] : memref<?xf32>
    }
  }
  func.return
}"""


def test_a_value_of_an_outer_loop_is_one_in_an_inner_loop():
    """`%k` may be any number in another iteration of `i`, but is the same one in one iteration."""
    function = function_of(FIXED_INSIDE)
    dependences = analyse(function)
    _, load, store = [access.op for access in dependences.accesses]
    assert set(dependences.distance(store, load)) == {("<", "*"), (0, 2)}
    assert dependences.distance(load, store) == [("<", "*")]
    inner = loops_in(function)[1]
    assert [(d.source, d.sink) for d in dependences.carried_by(inner)] == [(store, load)]
    assert [v.distance for v in dependences.all(inner)] == [(2,)]
