"""Keys of extents: equal keys are equal extents, a product of extents is one whichever way it was multiplied."""

import pytest
from nestor.analysis.nest.values.extent_keys import (
    Facts,
    Product,
    bound_key,
    extent_key,
    facts_of,
    linear_key,
    value_key,
)
from nestor.dialects.affine import AffineList
from xdsl.dialects import arith, memref

from ..parsed import parse_module

pytestmark = pytest.mark.one_of(3)

TEXT = """
func.func @f(%x: memref<?x?x4x?xf32> {nest.dims = ["n", "m", 4, "l"]}, %y: memref<?x?xf32>, %k: index, %s: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %x, %c0 : memref<?x?x4x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?x4x?xf32>
  %l = memref.dim %x, %c3 : memref<?x?x4x?xf32>
  %mn = arith.muli %m, %n : index
  %nm = arith.muli %n, %m : index
  %c4 = arith.constant 4 : index
  %nm4 = arith.muli %nm, %c4 : index
  %none = arith.muli %nm, %c0 : index
  %kn = arith.muli %k, %n : index
  %v = memref.collapse_shape %x [[0, 1], [2, 3]] : memref<?x?x4x?xf32> into memref<?x?xf32>
  %w = memref.collapse_shape %x [[0, 1, 2], [3]] : memref<?x?x4x?xf32> into memref<?x?xf32>
  %z = memref.collapse_shape %y [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  func.return
}
"""


@pytest.fixture(scope="module")
def values():
    (function,) = parse_module(TEXT).ops
    named = {op.results[0].name_hint: op.results[0] for op in function.walk() if op.results}
    return named | {argument.name_hint: argument for argument in function.regions[0].block.args}


def test_products_are_equal_in_any_order(values):
    assert value_key(values["mn"]) == value_key(values["nm"]) == extent_key(values["v"], 0)
    assert value_key(values["nm4"]) == extent_key(values["w"], 0) != extent_key(values["v"], 0)
    assert extent_key(values["v"], 1) == Product(4, frozenset({("l", 1)}))


def test_an_axis_of_a_view_is_that_of_the_buffer(values):
    assert extent_key(values["w"], 1) == "l" == value_key(values["l"])
    assert value_key(values["none"]) == 0


def test_what_may_be_negative_is_no_extent(values):
    assert value_key(values["kn"]) is values["kn"]
    assert isinstance(values["kn"].owner, arith.MuliOp)


def test_products_of_extents_without_names(values):
    assert isinstance(values["z"].owner, memref.CollapseShapeOp)
    key = extent_key(values["z"], 0)
    assert key == Product(1, frozenset({((values["y"], 0), 1), ((values["y"], 1), 1)}))
    assert facts_of(key, {}) == Facts(0)


def test_what_is_known_of_the_factors_is_known_of_the_product(values):
    inputs = {"n": Facts(2, 10, 2), "m": Facts(3, 100, 1), "l": Facts(2, None, 16)}
    assert facts_of(extent_key(values["w"], 0), inputs) == Facts(24, 4000, 8)
    assert facts_of(extent_key(values["v"], 1), inputs) == Facts(8, None, 64)


def test_a_multiple_of_an_extent_is_that_of_a_view(values):
    extent = AffineList.of(values["l"])
    assert bound_key(extent.times(4)) == extent_key(values["v"], 1)
    assert linear_key(extent_key(values["v"], 1)) == (4, "l") and linear_key("l") == (1, "l")
    assert linear_key(value_key(values["nm"])) is None
    assert bound_key(extent.add(1)) is None and bound_key(AffineList.of(values["k"]).times(4)) is None
    assert bound_key(extent.times(-1)) is None
