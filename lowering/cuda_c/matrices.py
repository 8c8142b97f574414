"""Asynchronous copies and tensor cores in CUDA C: calls of the PTX helpers of the prelude (part of cuda_c/kernel.py).

    %c = nvgpu.device_async_copy %x[%i, %k], %tile[%r, %s], 8          nt_copy_async16(&tile[r][s], &x[i * n + k]);
    %g = nvgpu.device_async_create_group %c                      ->    nt_commit_copies();
    nvgpu.device_async_wait %g {numGroups = 0}                         nt_wait_copies<0>();
    %f = nvgpu.ldmatrix %tile[%r, %k] {numTiles = 4, ...}              nt_load_matrix_x4(a[m], &tile[r][k]);
    memref.store %f, %a[%m]
    %f = nvgpu.ldmatrix ... {numTiles = 4, ...}                        nt_load_matrix_x4_pair(b[n], b[n + 1], &...);
    ... its two parts (vector.extract_strided_slice) are stored to %b[%n] and %b[%n + 1]
    %s = vector.load %sum[%m, %n, %c0, %c0]                            nt_mma_m16n8k16_f16(sum[m][n], a[m], b[n]);
    %d = nvgpu.mma.sync(%f, %g, %s)
    vector.store %d, %sum[%m, %n, %c0, %c0]

A fragment is an array of `unsigned`, one of those in which a loop has several. Sums stay where they are. Floats of 32 bits
are rounded where they are loaded: `nt_round_tf32(a[m]);`.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import Float32Type, IntegerAttr, MemRefType, VectorType
from xdsl.ir import Operation, SSAValue

from ...analysis.nest.buffers import element_bytes
from ...analysis.nest.kernels.matrix_tiles import form_of
from ...dialects.affine import constant_of
from ...dialects.attributes import NO_COPIES
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import nvgpu
from ...dialects.ext.vector import ExtractStridedSliceOp
from .expressions import signed_operand
from .scope import Buffer, KernelScope
from .types import MUL, TERNARY, CExpr


class MatrixPrinter(KernelScope):
    """The statements on fragments, and those on copies that are in flight."""

    def async_copy(self, op: nvgpu.DeviceAsyncCopyOp) -> None:
        assert isinstance(op.src.type, MemRefType)
        size = element_bytes(op.src.type.element_type)
        target, source = self.place(op.dst, list(op.dst_indices)), self.place(op.src, list(op.src_indices))
        arguments = [f"&{target.text}", f"&{source.text}"]
        if op.count * size not in (4, 8, 16):
            raise fail(op, f"copies {op.count * size} bytes; it can be 4, 8 or 16", error=LoweringError)
        if op.src_elements is not None:
            arguments.append(self._bytes_read(op.src_elements, size))
        self._flush([op.dst])
        self._comment(op)
        self._line(f"{self.helper(f'nt_copy_async{op.count * size}')}({', '.join(arguments)});")

    def _bytes_read(self, count: SSAValue, size: int) -> str:
        """`4 * n`, or `i < n ? 16 : 0` where all elements are read or none."""
        if isinstance(chosen := count.owner, arith.SelectOp):
            sides = [constant_of(side) for side in (chosen.lhs, chosen.rhs)]
            if None not in sides:
                then, other = (size * side for side in sides if side is not None)
                return f"{self.value(chosen.cond).at(TERNARY + 1)} ? {then} : {other}"
        read = signed_operand(self, count)
        return read.text if size == 1 else f"{size} * {read.at(MUL + 1)}"

    def async_group(self, op: nvgpu.DeviceAsyncCreateGroupOp) -> None:
        if NO_COPIES not in op.attributes:
            self._line(f"{self.helper('nt_commit_copies')}();")

    def async_wait(self, op: nvgpu.DeviceAsyncWaitOp) -> None:
        if op.num_groups is None:
            raise fail(op, "numGroups is missing: how many groups may be in flight", error=LoweringError)
        self._flush(None)
        self._line(f"{self.helper('nt_wait_copies')}<{op.num_groups.value.data}>();")

    def fragment_buffer(self, op: memref.AllocaOp, type: MemRefType, name: str) -> None:
        """`unsigned a[4][4];`"""
        assert isinstance(type.element_type, VectorType)
        registers = type.element_type.get_shape()[0]
        self._buffers[op.memref] = Buffer(name, type, None, True, True)
        extents = "".join(f"[{extent}]" for extent in (*type.get_shape(), registers))
        self._line(f"unsigned {name}{extents};")

    def load_fragment(self, op: memref.LoadOp) -> None:
        self._values[op.res] = self.place(op.memref, list(op.indices))

    def load_matrix(self, op: nvgpu.LdMatrixOp) -> None:
        """The matrices go to where the fragment is stored, or to an array of their own."""
        source = self.place(op.src, list(op.indices))
        parts = sorted(
            (part for use in op.fragment.uses if isinstance(part := use.operation, ExtractStridedSliceOp)),
            key=lambda part: part.offsets.data[0].value.data,
        )
        stores = [_only_user(value) for value in ([part.result for part in parts] or [op.fragment])]
        targets = [
            self.place(s.memref, list(s.indices)).text for s in stores if isinstance(s, memref.StoreOp)
        ]
        if len(targets) < len(stores):
            if parts:
                raise fail(op, "parts of a fragment are stored to fragments", error=LoweringError)
            targets = [self._names.fresh(op.fragment.name_hint or "fragment")]
            self._line(f"unsigned {targets[0]}[{op.tiles}];")
            self._values[op.fragment] = CExpr(targets[0])
        count = f"{op.tiles}{'_pair' if parts else ''}{'_trans' if op.is_transposed else ''}"
        self._comment(op)
        self._line(f"{self.helper(f'nt_load_matrix_x{count}')}({', '.join(targets)}, &{source.text});")
        assert isinstance(op.src.type, MemRefType)
        if isinstance(op.src.type.element_type, Float32Type):
            for target in targets:
                self._line(f"{self.helper('nt_round_tf32')}({target});")

    def part_of_fragment(self, op: ExtractStridedSliceOp) -> None:
        """It is where `load_matrix` has put it."""
        if not isinstance(op.vector.owner, nvgpu.LdMatrixOp):
            raise fail(op, "parts are taken of loaded fragments only", error=LoweringError)

    def load_sums(self, op: vector.LoadOp) -> None:
        """What an instruction adds to: as an array, `sum[m][n]` for `%sum[%m, %n, %c0, %c0]`."""
        indices = list(op.indices)[:-2]
        if not all(_is_zero(index) for index in list(op.indices)[-2:]):
            raise fail(op, "sums of a tensor core start at the indices 0, 0", error=LoweringError)
        self._values[op.result] = self.place(op.base, indices)

    def store_sums(self, op: vector.StoreOp) -> None:
        """They are stored already: the instruction adds in place."""
        product = op.vector.owner
        if not isinstance(product, nvgpu.MmaSyncOp):
            raise fail(op, "only the sums of a tensor core are stored as such a vector", error=LoweringError)

    def multiply(self, op: nvgpu.MmaSyncOp) -> None:
        store, load = _only_user(op.sum), op.c.owner
        if (
            not isinstance(load, vector.LoadOp)
            or not isinstance(store, vector.StoreOp)
            or load.base is not store.base
            or list(load.indices) != list(store.indices)
        ):
            raise fail(op, "its sum must go back to where it was loaded", error=LoweringError)
        assert isinstance(op.a.type, VectorType)
        form = form_of(op.a.type.element_type)
        rows, columns, terms = op.shape
        if form is None or terms != form.terms:
            raise fail(op, f"no instruction multiplies {op.a.type} in this shape", error=LoweringError)
        helper = self.helper(f"nt_mma_m{rows}n{columns}k{terms}_{form.name}")
        arguments = [self.value(v).text for v in (op.c, op.a, op.b)]
        self._flush([load.base])
        self._comment(op)
        self._line(f"{helper}({', '.join(arguments)});")


def is_fragment(value: SSAValue) -> bool:
    """Whether a value is one that only tensor cores use."""
    return isinstance(value.type, VectorType) and len(value.type.get_shape()) == 2


def _only_user(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _is_zero(value: SSAValue) -> bool:
    constant = getattr(value.owner, "value", None)
    return isinstance(constant, IntegerAttr) and constant.value.data == 0


__all__ = ["MatrixPrinter", "is_fragment"]
