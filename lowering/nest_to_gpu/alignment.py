"""Whether buffers are aligned as the vector accesses of a kernel need it: asked by the host before each launch.

%0 = memref.extract_aligned_pointer_as_index %x : memref<?x?xf32> -> index
%1 = memref.dim %x, %c1 : memref<?x?xf32>
%aligned = (%0 % 16 == 0) and (%1 % 4 == 0)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ...dialects.nest.common import INDEX
from ..nest_common.body import NestBody
from .vectors import Alignment


def is_aligned(host: NestBody, needs: Alignment) -> SSAValue:
    """An i1 of the host that is true where everything in `needs` holds."""
    by_unit: dict[int, dict[SSAValue, None]] = {}
    for buffer, unit in needs.pointers.items():
        by_unit.setdefault(unit, {})[_address(host, host.value(buffer))] = None
    for (buffer, axis), unit in needs.extents.items():
        by_unit.setdefault(unit, {})[_extent(host, host.value(buffer), axis)] = None
    for (buffer, axis), unit in needs.strides.items():
        by_unit.setdefault(unit, {})[_stride(host, host.value(buffer), axis)] = None
    tests = [_are_multiples(host, list(values), unit) for unit, values in by_unit.items()]
    result = tests[0]
    for test in tests[1:]:
        result = host.builder.value(arith.AndIOp, (result, test))
    return result


def _are_multiples(host: NestBody, values: Sequence[SSAValue], unit: int) -> SSAValue:
    """Whether all values are multiples of a power of two: whether their bits together are."""
    builder, total = host.builder, values[0]
    for value in values[1:]:
        total = builder.value(arith.OrIOp, (total, value))
    rest = builder.value(arith.RemUIOp, (total, builder.constant(unit)))
    return builder.compare("eq", rest, builder.constant(0))


def _address(host: NestBody, buffer: SSAValue) -> SSAValue:
    def make() -> SSAValue:
        return host.builder.value(memref.ExtractAlignedPointerAsIndexOp, (buffer,), INDEX)

    return host.builder.once(("address", buffer), make)


def _extent(host: NestBody, buffer: SSAValue, axis: int) -> SSAValue:
    def make() -> SSAValue:
        return host.builder.value(memref.DimOp, (buffer, host.builder.constant(axis)), INDEX)

    return host.builder.once(("extent", buffer, axis), make)


def _stride(host: NestBody, buffer: SSAValue, axis: int) -> SSAValue:
    def make() -> SSAValue:
        assert isinstance(buffer.type, MemRefType)
        element, rank = buffer.type.element_type, buffer.type.get_num_dims()
        results = [MemRefType(element, []), INDEX, *[INDEX] * (2 * rank)]
        op = memref.ExtractStridedMetaDataOp.create(operands=(buffer,), result_types=results)
        return host.builder.emit(op).results[2 + rank + axis]

    return host.builder.once(("stride", buffer, axis), make)
