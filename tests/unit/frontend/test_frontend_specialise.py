"""What is compiled when: static and unknown extents, guards, values that must be known."""

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.spec import parse_specs

SCALE = 2.0


def add(a, b):
    return a + b


def inner(a):
    return a[2:-2]


def power(a, n):
    return a**n


def scaled(a):
    return a * SCALE


def optional(a, b=None, *, flip=False):
    if b is None:
        return -a if flip else a * 1
    return a + b


def text(function, *arguments, **options):
    return nt.jit(function, **options).lower(*arguments).as_text()


def test_extents_that_broadcast_share_a_name():
    lowered = text(add, nt.spec((None, 3), "f4"), nt.spec((None, 3), "f4"))
    assert lowered.count('nt.dims = ["a_0", 3 : i64]') == 3


def test_named_extents():
    assert '["n", "n"]' in text(inner, nt.spec(("n", "n"), "f8"))


def test_zero_and_one_are_static():
    lowered = text(add, np.zeros((1, 5)), np.zeros((4, 0 + 1)), dynamic=True)
    assert "tensor<1x?xf64>" in lowered and "tensor<?x1xf64>" in lowered


def test_a_slice_that_may_be_empty_is_guarded():
    program = nt.jit(inner, dynamic=True).lower(np.zeros(9)).program
    assert [str(g) for g in program.guards] == [
        "a_0 + -2 >= 0".replace("+ -", "- "),
        "a_0 - 4 >= 0",
        "a_0 - 6 >= 0",
    ] or all(g.holds({"a_0": 9}) and not g.holds({"a_0": 1}) for g in program.guards)


def test_an_exponent_is_baked_in():
    jitted = nt.jit(power)
    lowered = jitted.lower(np.zeros(3), 2).as_text()
    assert "nt.multiply %a, %a" in lowered and "i64" not in lowered.split("->")[0]


def test_optional_arguments_specialise():
    assert "nt.add" in text(optional, np.zeros(3), np.zeros(3))
    assert "nt.add" not in text(optional, np.zeros(3))
    jitted = nt.jit(optional)
    assert "nt.negative" in jitted.lower(np.zeros(3), flip=True).as_text()


def test_fastmath_is_validated():
    with pytest.raises(TypeError, match="unknown fastmath flag 'fast'"):
        nt.jit(add, fastmath=["fast"])


def test_fastmath_is_granted_by_name():
    text = nt.jit(add, fastmath=["nnan"]).lower(nt.spec((4,), "f4"), nt.spec((4,), "f4")).as_text("nt")
    assert 'nt.fastmath = ["nnan"]' in text


def test_spec_text():
    specs = parse_specs("2x f32[?,n], f64[3] strided, int, f32")
    assert [str(s.argument_type("x")) for s in specs] == [
        "x: float32[x_0, n]", "x: float32[x_0, n]", "x: float64[3], strided", "x: int", "x: float32"
    ]  # fmt: skip


def test_locations_and_names():
    module = nt.jit(add).lower(np.zeros(3), np.zeros(3)).program.module
    operation = next(op for op in module.walk() if op.name == "nt.add")
    assert operation.location.line.data == add.__code__.co_firstlineno + 1
    assert operation.location.column.data == 12
    assert [a.name_hint for a in next(iter(module.body.block.ops)).args] == ["a", "b"]
