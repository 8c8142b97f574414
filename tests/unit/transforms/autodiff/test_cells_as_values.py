"""Cells of islands that become values, or one with another cell: random ones, run before and after.

60 seeds; slow tests draw 180.
"""

from __future__ import annotations

import random

import numpy as np
from nestor.dialects.nest import AllocOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.autodiff.islands.cells import join_copies, values_of_cells
from parsed import parse_module
from sampling import seeds

SIZE = 6
CELL = "memref<f64>"


class _Writer:
    """The text of a nest whose iterations fill cells, update them, copy them and read them, in loops as well."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.cells: list[str] = []

    def text(self) -> str:
        for _ in range(self.rng.randint(1, 3)):
            self.make_cell()
            for _ in range(self.rng.randint(1, 5)):
                self.statement(["%i"])
        for k, cell in enumerate(self.cells):  # what each holds at last
            loaded = self.result(f"nest.load {cell}[] : {CELL}")
            last = self.result(f"arith.mulf {loaded}, %tenth : f64") if k % 2 else loaded
            self.add(f"nest.accumulate add {last}, %y[%i] : memref<{SIZE}xf64>")
        body = "\n".join(self.lines)
        return f"""
func.func @f(%x: memref<{SIZE}xf64>, %y: memref<{SIZE}xf64>) {{
  %zero = arith.constant 0.0 : f64
  %two = arith.constant 2.0 : f64
  %tenth = arith.constant 0.1 : f64
  nest.for "i" %i = 0 to {SIZE} {{
{body}
  }}
  func.return
}}"""

    def add(self, line: str) -> None:
        self.lines.append(line)

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def result(self, text: str) -> str:
        name = self.fresh()
        self.add(f"{name} = {text}")
        return name

    def value(self) -> str:
        form = self.rng.randrange(5)
        if form == 0:
            return self.rng.choice(["%zero", "%two"])
        if form == 1 and self.cells:
            return self.result(f"nest.load {self.rng.choice(self.cells)}[] : {CELL}")
        loaded = self.result(
            f"nest.load %x[{self.rng.choice(['%i', f'{SIZE - 1} - %i'])}] : memref<{SIZE}xf64>"
        )
        return loaded if form < 4 else self.result(f"arith.mulf {loaded}, %two : f64")

    def make_cell(self) -> None:
        cell, value = self.fresh(), self.value()
        self.add(f'{cell} = nest.alloc "cell{self.count}" : {CELL}')
        self.add(f"nest.store {value}, {cell}[] : {CELL}")
        self.cells.append(cell)

    def domain(self, variables: list[str]) -> str:
        text = ""
        if self.rng.random() < 0.35:
            text += f" where ({self.rng.choice(variables)} >= {self.rng.randint(1, 3)})"
        if self.rng.random() < 0.15:
            text += f" mask {self.result(f'arith.cmpf ogt, {self.value()}, %two : f64')}"
        return text

    def statement(self, variables: list[str]) -> None:
        cell, form = self.rng.choice(self.cells), self.rng.randrange(6)
        if form < 2:
            how = self.rng.choice(["add", "add", "add", "mul", "maximum"])
            value = self.value()
            self.add(f"nest.accumulate {how} {value}, {cell}[]{self.domain(variables)} : {CELL}")
        elif form == 2:
            value = self.value()
            self.add(f"nest.store {value}, {cell}[]{self.domain(variables)} : {CELL}")
        elif form == 3 and len(variables) < 3:
            variable = self.fresh()
            self.add(f'nest.for "k{self.count}" {variable} = 0 to 3 {{')
            cells = list(self.cells)
            for _ in range(self.rng.randint(1, 2)):
                self.statement([*variables, variable])
            self.cells = cells
            self.add("}")
        elif form == 4:
            self.copy_and_back(cell, variables)
        else:
            loaded = self.result(f"nest.load {cell}[] : {CELL}")
            self.add(
                f"nest.accumulate add {loaded}, %y[{variables[0]}]{self.domain(variables)} : memref<{SIZE}xf64>"
            )

    def copy_and_back(self, cell: str, variables: list[str]) -> None:
        """A cell that is another one for a while, of which something may change meanwhile."""
        loaded, copy = self.result(f"nest.load {cell}[] : {CELL}"), self.fresh()
        self.add(f'{copy} = nest.alloc "copy{self.count}" : {CELL}')
        self.add(f"nest.store {loaded}, {copy}[] : {CELL}")
        value = self.value()
        self.add(f"nest.accumulate add {value}, {copy}[]{self.domain(variables)} : {CELL}")
        if self.rng.random() < 0.4:
            self.statement(variables)  # which may read or change the first one
        back = self.result(f"nest.load {copy}[] : {CELL}")
        self.add(f"nest.store {back}, {cell}[] : {CELL}")


def _run(module) -> np.ndarray:
    result = np.zeros(SIZE)
    run_nest(next(iter(module.ops)), [np.linspace(-3.0, 5.0, SIZE), result])
    return result


def _cells(module) -> int:
    return sum(isinstance(op, AllocOp) for op in module.walk())


def test_random_cells_that_are_values_or_one_hold_what_they_held():
    fewer = {join_copies: 0, values_of_cells: 0}
    for seed in seeds(180):
        module = parse_module(_Writer(seed).text())
        expected = _run(module)
        for change in fewer:
            changed = module.clone()
            change(changed)
            verify(changed)
            np.testing.assert_array_equal(_run(changed), expected, err_msg=f"{change.__name__}, seed {seed}")
            fewer[change] += _cells(changed) < _cells(module)
    assert all(count > len(seeds(180)) // 8 for count in fewer.values()), fewer
