"""What isl is told of integers that `arith` computes allows the number that is computed, and no other where it says so."""

from __future__ import annotations

from itertools import product

import pytest
from nestor.analysis.nest.sets.integer_sets import MOST_CHOICES, System
from nestor.analysis.nest.values.scalar_facts import _FACTS
from parsed import parse_module

NUMBERS = (-9, -4, -1, 0, 1, 3, 8)


def _towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXACT = {
    "%r = arith.addi %a, %b : index": lambda a, b: a + b,
    "%r = arith.subi %a, %b : index": lambda a, b: a - b,
    "%r = arith.muli %three, %a : index": lambda a, b: 3 * a,
    "%r = arith.muli %a, %minus : index": lambda a, b: -4 * a,
    "%r = arith.minsi %a, %b : index": min,
    "%r = arith.maxsi %a, %b : index": max,
    "%r = arith.floordivsi %a, %three : index": lambda a, b: a // 3,
    "%r = arith.divsi %a, %three : index": lambda a, b: _towards_zero(a, 3),
    "%r = arith.shrsi %a, %one : index": lambda a, b: a >> 1,
    "%r = arith.andi %a, %three : index": lambda a, b: a & 3,
}
"""Operations of which the result is the only one that the facts allow."""

SOUND = {
    "%r = arith.muli %a, %b : index": lambda a, b: a * b,
    "%r = arith.floordivsi %a, %b : index": lambda a, b: a // b if b else None,
    "%r = arith.floordivsi %a, %minus : index": lambda a, b: a // -4,
    "%r = arith.divsi %a, %minus : index": lambda a, b: _towards_zero(a, -4),
    "%r = arith.remsi %a, %b : index": lambda a, b: a - b * _towards_zero(a, b) if b else None,
    "%r = arith.andi %a, %minus : index": lambda a, b: a & -4,
    "%r = arith.andi %a, %b : index": lambda a, b: a & b,
    "%r = arith.shrsi %a, %b : index": lambda a, b: a >> b if b >= 0 else None,
}
"""Operations of which less is known."""

RELATIONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


def _chosen(*conditions: str) -> str:
    return "\n".join([*conditions, "%r = arith.select %c, %a, %b : index"])


EXACT |= {
    _chosen(f"%c = arith.cmpi {name}, %a, %b : index"): lambda a, b, holds=holds: a if holds(a, b) else b
    for name, holds in RELATIONS.items()
}
for joint, both in (("and", lambda p, q: p and q), ("or", lambda p, q: p or q)):
    text = _chosen(
        "%p = arith.cmpi slt, %a, %three : index",
        "%q = arith.cmpi sge, %b, %one : index",
        f"%c = arith.{joint}i %p, %q : i1",
    )
    EXACT[text] = lambda a, b, both=both: a if both(a < 3, b >= 1) else b
EXACT[
    _chosen(
        "%true = arith.constant true",
        "%p = arith.cmpi sle, %a, %three : index",
        "%c = arith.xori %p, %true : i1",
    )
] = lambda a, b: b if a <= 3 else a
EXACT[
    _chosen(
        "%zero = arith.constant 0 : index",
        "%x = arith.xori %a, %b : index",
        "%c = arith.cmpi slt, %x, %zero : index",
    )
] = lambda a, b: a if (a < 0) != (b < 0) else b
SOUND |= {
    _chosen(f"%c = arith.cmpi {name}, %a, %b : index"): lambda a, b, below=below: a if below(a, b) else b
    for name, below in {
        "ult": lambda a, b: a % (1 << 64) < b % (1 << 64),
        "uge": lambda a, b: a % (1 << 64) >= b % (1 << 64),
    }.items()
}


def _extremes(name: str) -> str:
    """More choices than a system looks at one by one."""
    made = [f"%m0 = arith.{name} %a, %b : index"]
    for k in range(1, MOST_CHOICES + 2):
        made.append(f"%n{k} = arith.addi %a, %m{k - 1} : index")
        made.append(f"%m{k} = arith.{name} %n{k}, %b : index")
    return "\n".join([*made, f"%r = arith.addi %m{MOST_CHOICES + 1}, %a : index"])


def _extremes_of(a: int, b: int, extreme) -> int:
    value = extreme(a, b)
    for _ in range(MOST_CHOICES + 1):
        value = extreme(a + value, b)
    return value + a


SOUND[_extremes("minsi")] = lambda a, b: _extremes_of(a, b, min)
SOUND[_extremes("maxsi")] = lambda a, b: _extremes_of(a, b, max)


def _allowed(text: str, a: int, b: int, relation: str, result: int) -> bool:
    """Whether the facts allow a result in this relation to a number, for these operands."""
    module = parse_module(f"""
func.func @f(%a: index, %b: index) -> index {{
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %minus = arith.constant -4 : index
  {text}
  func.return %r : index
}}""")
    (function,) = module.ops
    block = function.body.block  # pyright: ignore
    end = block.last_op
    system = System(end)
    system.require(f"{system.name(end.operands[0], 's')} {relation} {result}")
    for argument, number in zip(block.args, (a, b), strict=True):
        system.require(f"{system.name(argument, 's')} = {number}")
    return system.has_solution()


@pytest.mark.parametrize("text", [*EXACT, *SOUND])
def test_the_number_that_is_computed_is_allowed(text):
    oracle = (EXACT | SOUND)[text]
    for a, b in product(NUMBERS, NUMBERS):
        result = oracle(a, b)
        if result is not None:
            assert _allowed(text, a, b, "=", result), (a, b, result)


@pytest.mark.parametrize("text", EXACT)
def test_no_other_number_is_allowed(text):
    for a, b in product(NUMBERS, NUMBERS):
        assert not _allowed(text, a, b, "!=", EXACT[text](a, b)), (a, b)


def test_every_operation_with_a_fact_is_here():
    names = {kind.name for kind in _FACTS}
    said = " ".join([*EXACT, *SOUND])
    assert names and not {name for name in names if f"{name} " not in said}
