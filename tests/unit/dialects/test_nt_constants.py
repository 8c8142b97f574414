"""Constants as NumPy arrays and back; the names of extents."""

import numpy as np
import pytest
from nestor.analysis.tensor.extents import Extents
from nestor.dialects.nt import ConstantOp
from nestor.dialects.nt.constants import convert, dtype_of, from_numpy, to_numpy
from nestor.dialects.nt.types import BY_NAME, kind_of
from parsed import parse_module
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, TensorType, bf16, f32, f64, i1
from xdsl.utils.exceptions import VerifyException


@pytest.mark.parametrize("name", BY_NAME)
def test_arrays_survive(name):
    element = BY_NAME[name]
    values = [[0, 1, 3], [2, 1, 0]]
    if kind_of(element) == "f":
        values = [[-0.0, np.inf, np.nan], [0.5, 1.0, -np.inf]]
    array = np.array(values).astype(dtype_of(element))
    again = to_numpy(from_numpy(array, element))
    assert again.dtype == array.dtype and again.shape == (2, 3)
    np.testing.assert_array_equal(again, array)
    if kind_of(element) == "f":
        assert np.signbit(again[0, 0])


def test_bfloat16_rounds_to_even():
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, 1e-45], np.float32)
    rounded = to_numpy(from_numpy(values, bf16))
    np.testing.assert_array_equal(rounded, np.array([1.0, 1 + 2**-6, np.inf, 0.0], np.float32))


def test_booleans_are_zero_and_one():
    assert ConstantOp(from_numpy(np.array([True, True]), i1)).splat == 1
    assert ConstantOp(from_numpy(np.array([False]), i1)).splat == 0
    assert ConstantOp(from_numpy(np.array([True, False]), i1)).splat is None
    assert ConstantOp(from_numpy(np.zeros((0, 4), np.float32), f32)).splat is None


def test_a_constant_has_static_extents():
    value = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [DYNAMIC_INDEX]), [1.0, 2.0])
    with pytest.raises(VerifyException, match="a constant has static extents"):
        ConstantOp(value).verify()


def test_open_conversions_are_left_open():
    assert convert(np.array(300.0), f64, BY_NAME["int8"]) is None
    assert convert(np.array(np.nan), f64, BY_NAME["int64"]) is None
    assert convert(np.array(-1.0), f64, BY_NAME["uint8"]) is None
    assert convert(np.array(1 + 2**-8 + 2**-30), f64, bf16) is None
    assert convert(np.array(-0.75), f64, BY_NAME["uint8"]) == 0


def test_extents_by_name():
    text = """
    func.func @f(%x: tensor<?x?xf32> {nt.dims = ["n", "m"]}, %y: tensor<?xf32> {nt.dims = ["n"]}, %z: tensor<?xf32>) {
      %n = nt.dim %y[0] : tensor<?xf32>
      %t = nt.transpose %x perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
      %r = nt.reduce add %t over [0] : tensor<?x?xf32> -> tensor<?xf32>
      %b = nt.broadcast %r along [1] sizes(%n) : tensor<?xf32> -> tensor<4x?xf32>
      %s = nt.add %r, %z : tensor<?xf32>
      func.return
    }"""
    function = next(iter(parse_module(text).ops))
    values = {r.name_hint: r for op in function.body.block.ops for r in op.results}
    extents = Extents()
    assert extents.of(values["t"]) == ("m", "n")
    assert extents.of(values["r"]) == ("n",)
    assert extents.of(values["b"]) == (4, "n")
    assert extents.of(function.body.block.args[2]) != ("n",)
    extents.of(values["s"])
    assert extents.of(function.body.block.args[2]) == extents.of(values["r"])
