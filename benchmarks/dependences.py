"""How long questions about dependences take: `python -m benchmarks.dependences`.

The nest has 4 loops and 6 accesses to one buffer, five of them loads with shifted, transposed or skewed indices, so that
no question is answered by a look at the indices alone. Eleven ordered pairs of its accesses conflict. Times are medians
of processor time, in milliseconds: of a call, and of a query, which is a call's question about one pair.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.analysis.nest.sets.dependence import Dependences, analyse
from nestor.dialects.nest import ForOp
from nestor.dialects.parse import parse_module

ROUNDS = 20
PAIRS = 11
LIMIT_MS = 2.0

_TYPE = "memref<?x?x?x?xf64>"
_READS = ["h - 1, i, j, k", "h, i - 1, j, k + 1", "h, i, j - 1, k", "h + 1, i, j, k - 1", "i, i + j, k, h"]


def _nest() -> str:
    loads = "\n".join(f"%v{n} = nest.load %a[{_indices(read)}] : {_TYPE}" for n, read in enumerate(_READS))
    extents = "\n".join(
        f"%c{d} = arith.constant {d} : index\n%n{d} = memref.dim %a, %c{d} : {_TYPE}" for d in range(4)
    )
    heads = "\n".join(f'nest.for "{v}" %{v} = 1 to %n{d} - 1 {{' for d, v in enumerate("hijk"))
    return f"""
func.func @f(%a: {_TYPE} {{nest.role = "inout"}}) {{
  {extents}
  {heads}
  {loads}
  nest.store "a" %v0, %a[%h, %i, %j, %k] : {_TYPE}
  }} }} }} }}
  func.return
}}"""


def _indices(text: str) -> str:
    return "".join(f"%{c}" if c in "hijk" else c for c in text)


def measure() -> dict[str, float]:
    """Median milliseconds a question, by kind of question. Every round starts from a fresh analysis."""
    function = functions(parse_module(_nest(), "nest.mlir"))[0]
    loops: list[ForOp] = loops_in(function)
    accesses = analyse(function).accesses
    assert (len(loops), len(accesses)) == (4, 6)
    store = accesses[-1].op
    reads = [access.op for access in accesses[:-1]]
    band = [loops[0], loops[1], loops[3], loops[2]]
    questions: dict[str, tuple[int, Callable[[Dependences], object]]] = {
        "does a loop carry any (first_carried)": (4, lambda d: [d.first_carried(loop) for loop in loops]),
        "what a loop carries (carried_by)": (4, lambda d: [d.carried_by(loop) for loop in loops]),
        "may the band be reordered (broken_by_order)": (1, lambda d: d.broken_by_order(loops, band)),
        "distances of a pair (distance)": (5, lambda d: [d.distance(store, read) for read in reads]),
        "the same, asked again": (5, lambda d: [d.distance(store, read) for read in reads]),
        "all dependences of the nest (all)": (1, lambda d: d.all()),
    }
    figures = {}
    for name, (count, ask) in questions.items():
        times = []
        for _ in range(ROUNDS):
            dependences = analyse(function)
            if name.endswith("again"):
                ask(dependences)
            start = time.process_time()
            ask(dependences)
            times.append((time.process_time() - start) / count * 1e3)
        figures[name] = statistics.median(times)
    return figures


def main() -> None:
    figures = measure()
    print("    a call      a query")
    queries = []
    for name, milliseconds in figures.items():
        queries.append(milliseconds / (1 if "of a pair" in name or "again" in name else PAIRS))
        print(f"{milliseconds:8.3f} ms  {queries[-1]:8.3f} ms  {name}")
    print(f"{statistics.mean(queries):20.3f} ms  mean of the queries (limit {LIMIT_MS} ms)")


if __name__ == "__main__":
    main()
