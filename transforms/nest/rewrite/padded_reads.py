"""An element of a copy, or zero where there is none: what copies that are larger than what is copied have in common.

%e = nest.alloc "x_element" : memref<f32, 5 : i64>
nest.store "x_element" %zero, %e[] : memref<f32, 5 : i64>
... %a is loaded
nest.store "x_element" %a, %e[] where (16 * %o + %k < 129) : memref<f32, 5 : i64>
%f = nest.load %e[] : memref<f32, 5 : i64>
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ....analysis.nest.kernels.combiners import zero
from ....dialects.affine import AffineList
from ....dialects.nest import AllocOp, ForOp, LoadOp, StoreOp
from .buffers import fresh_buffer_name, space_attribute


def or_zero(
    loop: ForOp, stem: str, value: SSAValue, where: AffineList
) -> tuple[list[Operation], list[Operation], SSAValue]:
    """What comes before the operations that compute `value`, what comes after them, and the value or zero.

    The variable between them has a name that is new in the function of `loop`.
    """
    constant = arith.ConstantOp(zero(value.type))  # pyright: ignore
    before, after, found = or_value(loop, stem, constant.result, value, where)
    return [constant, *before], after, found


def or_value(
    op: Operation, stem: str, otherwise: SSAValue, value: SSAValue, where: AffineList
) -> tuple[list[Operation], list[Operation], SSAValue]:
    """The same with another value in the place of zero; the name of the variable is new in the function of `op`."""
    one = AffineList((), ())
    variable = MemRefType(value.type, [], memory_space=space_attribute("local"))
    register = AllocOp(fresh_buffer_name(op, f"{stem}_element"), variable)
    label = register.label.data
    first = StoreOp(otherwise, register.memref, one, label=label)
    found = StoreOp(value, register.memref, one, label=label, where=where)
    load = LoadOp(register.memref, one)
    return [register, first], [found, load], load.result
