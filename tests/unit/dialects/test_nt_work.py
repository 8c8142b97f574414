"""What operations of `nt` say about their work: of every one of the dialect, and of views against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.dialects.nt import ELEMENTWISE, ELEMENTWISE_OPS, NT
from nestor.dialects.nt.work import Effort, Role, Viewing, Working, effort_of, role_of
from parsed import parse_module

ROLES = {
    Role.COMPUTES: {"cast", "reduce", *ELEMENTWISE},
    Role.VIEW: {"broadcast", "reshape", "slice", "transpose", "window"},
    Role.SOURCE: {"constant", "from_scalar", "iota"},
    Role.APART: {"dot", "scan"},
    None: {
        *("composite", "custom_call", "dim", "empty", "fusion", "loops", "to_scalar", "yield"),
        *("vjp", "jvp", "stop_gradient", "batch", "checkpoint", "optimization_barrier"),
    },
}


def test_every_operation_has_the_role_that_it_should():
    found: dict[Role | None, set[str]] = {role: set() for role in ROLES}
    for op in NT.operations:
        is_constant = op.name == "nt.constant"  # of several values it is in memory: see below
        role = Role.SOURCE if is_constant else op.ROLE if issubclass(op, Working) else None
        found[role].add(op.name.removeprefix("nt."))
    assert found == ROLES


TEXT = """
func.func @f(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) {
  %splat = nt.constant dense<1.0> : tensor<2xf32>
  %table = nt.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %sum = nt.reduce add %x over [1] : tensor<2x3xf32> -> tensor<2xf32>
  %exp = nt.exp %x : tensor<2x3xf32>
  %wide = nt.broadcast %y along [1, 2] : tensor<1x3xf32> -> tensor<4x2x3xf32>
  %turned = nt.transpose %wide perm [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
  %unit = nt.reshape %x : tensor<2x3xf32> -> tensor<2x1x3xf32>
  %windows = nt.window %x over [1] : tensor<2x3xf32> -> tensor<2x2x2xf32>
  func.return
}
"""


def operations():
    return {op.results[0].name_hint: op for op in parse_module(TEXT).walk() if len(op.results) == 1}


def test_points_and_sources():
    ops = operations()
    assert role_of(ops["splat"]) is Role.SOURCE
    assert role_of(ops["table"]) is None
    assert ops["sum"].points is ops["sum"].inputs[0]
    assert ops["exp"].points is ops["exp"].inputs[0]
    assert ops["wide"].points is ops["wide"].result
    assert (effort_of(ops["exp"]), effort_of(ops["sum"])) == (Effort.FUNCTION, Effort.CHEAP)


@pytest.mark.parametrize(
    ("name", "effort"),
    [
        ("add", Effort.CHEAP),
        ("sqrt", Effort.DIVISION),
        ("divide", Effort.DIVISION),
        ("remainder", Effort.FUNCTION),
        ("tanh", Effort.FUNCTION),
        ("sigmoid", Effort.FUNCTION),
    ],
)
def test_effort_is_in_the_row(name, effort):
    assert ELEMENTWISE[name].effort is effort
    assert ELEMENTWISE_OPS[name].ROW is ELEMENTWISE[name]


def test_axes_of_views_are_those_of_numpy():
    x, y = np.arange(6).reshape(2, 3), np.arange(3).reshape(1, 3)
    wide = np.broadcast_to(y, (4, 2, 3))
    expected = {
        "wide": (y, wide),
        "turned": (wide, wide.transpose(2, 0, 1)),
        "unit": (x, x.reshape(2, 1, 3)),
    }
    for name, (source, result) in expected.items():
        op = operations()[name]
        assert isinstance(op, Viewing) and not op.SHIFTS
        axes = op.source_axes()
        for index in np.ndindex(result.shape):
            at = [0] * source.ndim
            for k, axis in enumerate(axes):
                if axis is not None:
                    at[axis] = index[k]
            assert source[tuple(at)] == result[index], (name, index)
    windows = operations()["windows"]
    assert isinstance(windows, Viewing) and windows.SHIFTS and windows.source_axes() == (0, 1, None)
