"""Accesses of several elements at once as CUDA C (see nest_to_gpu/vectors.py for the operations).

%x_v = vector.load %x[%i]                     const nt_vector<float, 4> x_v = nt_load<4>(&x[i]);
%y_v = memref.alloca() : memref<4xf32>        nt_vector<float, 4> y_v;
%a = vector.extract %x_v[%v]                  x_v[v]
%0 = vector.load %y_v[%c0]
vector.store %0, %y[%i]                       nt_store(&y[i], y_v);
"""

from __future__ import annotations

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import SSAValue

from ...analysis.nest.buffers import element_bytes
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import nvgpu
from .expressions import Printer, float_from_memory, join, signed_operand
from .matrices import is_fragment
from .pairs import element_of_pair, is_pair
from .scope import Buffer, KernelScope, is_shared
from .types import ATOM, CExpr, is_short_float


class VectorPrinter(KernelScope):
    """The part of a kernel's printer that writes vector accesses."""

    def vector_load(self, op: vector.LoadOp) -> None:
        """A local vector is its own value; elements of any other buffer are loaded here."""
        place = self.place(op.base, list(op.indices))
        if is_local_vector(op.base):
            text = place.text.rpartition("[")[0]
            self._values[op.result] = CExpr(text, ATOM, place.reads, place.variables)
            return
        type = _vector_type(op.result)
        element, width = self.types.memory(type.element_type, op), type.get_shape()[0]
        expr = join(f"{self.helper('nt_load')}<{width}>(&{place.text})", ATOM, place)
        if isinstance(op.next_op, vector.StoreOp) and op.next_op.vector is op.result:
            self._values[op.result] = expr
            return
        name = self._names.fresh(op.result.name_hint or f"{self._buffers[op.base].name}_v")
        self._line(f"const nt_vector<{element}, {width}> {name} = {expr.text};")
        self._values[op.result] = CExpr(name)

    def vector_store(self, op: vector.StoreOp) -> None:
        """A local vector is assigned to."""
        value, place = self.value(op.vector), self.place(op.base, list(op.indices))
        self._flush([op.base])
        source = op.vector.owner
        if isinstance(source, vector.LoadOp) and not is_local_vector(source.base):
            self._comment(op)
        if is_local_vector(op.base):
            return self._line(f"{place.text.rpartition('[')[0]} = {value.text};")
        self._line(f"{self.helper('nt_store')}(&{place.text}, {value.text});")

    def declare_local_vector(self, op: memref.AllocaOp) -> None:
        """A vector, or an array of vectors, of a thread."""
        type = op.memref.type
        assert isinstance(type, MemRefType)
        name = self._names.fresh(op.memref.name_hint or "vector")
        self._buffers[op.memref] = Buffer(name, type, None, as_float=False, no_alias=True)
        *shape, width = type.get_shape()
        extents = "".join(f"[{extent}]" for extent in shape)
        element = self.types.memory(type.element_type, op)
        self._line(f"{self.helper('nt_vector')}<{element}, {width}> {name}{extents};")


def is_local_vector(buffer: SSAValue) -> bool:
    """Whether the rows of a local array are values of vector accesses."""
    if not isinstance(buffer.owner, memref.AllocaOp) or is_shared(buffer.type):
        return False
    users = (use.operation for use in buffer.uses)
    return any(
        isinstance(user, vector.LoadOp | vector.StoreOp) and not is_fragment(_value_of(user))
        for user in users
    )


def _value_of(access: vector.LoadOp | vector.StoreOp) -> SSAValue:
    return access.result if isinstance(access, vector.LoadOp) else access.vector


def extract_lane(p: Printer, op: vector.ExtractOp) -> CExpr:
    """One element of a vector."""
    if is_pair(op.vector) and not op.dynamic_position:
        return element_of_pair(p, op)
    type, source = _vector_type(op.vector), p.value(op.vector)
    if op.dynamic_position:
        lane = signed_operand(p, op.dynamic_position[0])
    else:
        lane = CExpr(str(op.static_position.get_values()[0]))
    element = join(f"{source.text}[{lane.text}]", ATOM, source, lane)
    if is_short_float(type.element_type):
        return float_from_memory(p, type.element_type, element)
    return element


def alignment(buffer: SSAValue) -> int:
    """Bytes at a multiple of which a shared buffer must begin, for the vector accesses to it.

    Rows of 16 bytes begin there as well: compilers then make vectors of neighbours that unrolled loops read.
    """
    found = _row_alignment(buffer)
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, nvgpu.DeviceAsyncCopyOp | nvgpu.LdMatrixOp):
            return 16
        if isinstance(op, vector.LoadOp | vector.StoreOp) and is_fragment(_value_of(op)):
            continue
        if isinstance(op, vector.LoadOp):
            found = max(found, _bytes(op.result))
        elif isinstance(op, vector.StoreOp) and op.base is buffer:
            found = max(found, _bytes(op.vector))
    return min(16, found)


def _row_alignment(buffer: SSAValue) -> int:
    assert isinstance(buffer.type, MemRefType)
    shape = buffer.type.get_shape()
    if len(shape) < 2 or shape[-1] * element_bytes(buffer.type.element_type) % 16:
        return 0
    return 16 if is_shared(buffer.type) else 0


def _bytes(value: SSAValue) -> int:
    type = _vector_type(value)
    return type.get_shape()[0] * element_bytes(type.element_type)


def _vector_type(value: SSAValue) -> VectorType:
    if not isinstance(value.type, VectorType) or value.type.get_num_dims() != 1:
        raise fail(value.owner, f"CUDA C has no vectors of type {value.type}", error=LoweringError)
    return value.type
