"""Shared memory of a kernel: arrays of its own, or where they need more than 48 KiB parts of one.

    __shared__ __align__(16) float tile[16][68];

or, where the launch gives the memory (`KernelSignature.shared_bytes`),

    extern __shared__ __align__(16) unsigned char shared[];
    float (*a_tile)[256] = reinterpret_cast<float (*)[256]>(shared);
    float (*b_tile)[256] = reinterpret_cast<float (*)[256]>(shared + 32768);
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import gpu, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ...analysis.machine import ARCHITECTURES, STATIC_SHARED_BYTES
from ...analysis.nest.buffers import element_bytes
from ...dialects.diagnostic import LoweringError, fail
from .scope import KernelScope, is_shared
from .vector import alignment

MOST_BYTES = max(arch.shared_of_block for arch in ARCHITECTURES.values())
"""Maximum size of the shared memory of a block on any GPU so far."""


class SharedLayout:
    """Where the shared buffers of a kernel are, when its launch gives the memory: bytes from its start."""

    def __init__(self, func: gpu.FuncOp):
        self.offsets: dict[SSAValue, int] = {}
        self.bytes = 0
        for op in func.walk():
            if isinstance(op, memref.AllocaOp | memref.AllocOp) and is_shared(op.memref.type):
                type = op.memref.type
                assert isinstance(type, MemRefType)
                self.offsets[op.memref] = self.bytes
                self.bytes += -(-prod(type.get_shape()) * element_bytes(type.element_type) // 16) * 16
        if self.bytes > MOST_BYTES:
            raise fail(
                func,
                f"the buffers that a block shares have {self.bytes} bytes; a block has at most {MOST_BYTES}",
                hint="smaller tiles need less",
                error=LoweringError,
            )

    @property
    def is_dynamic(self) -> bool:
        """Whether the launch gives the memory."""
        return self.bytes > STATIC_SHARED_BYTES


class SharedPrinter(KernelScope):
    """The part of a kernel's printer that declares shared memory."""

    def declare_shared(self, layout: SharedLayout, buffer: SSAValue, name: str) -> None:
        """An array, or a pointer that is used like one."""
        type = buffer.type
        assert isinstance(type, MemRefType)
        element = self.types.memory(type.element_type, buffer.owner)
        extents = [f"[{extent}]" for extent in type.get_shape()]
        if not layout.is_dynamic:
            unit = alignment(buffer)
            aligned = f"__align__({unit}) " if unit else ""
            return self._line(f"__shared__ {aligned}{element} {name}{''.join(extents)};")
        offset = layout.offsets[buffer]
        if self._shared is None:
            self._shared = self._names.fresh("shared", outermost=True)
            self._line(f"extern __shared__ __align__(16) unsigned char {self._shared}[];")
        place = f"{self._shared} + {offset}" if offset else self._shared
        rows = "".join(extents[1:])
        c_type = f"{element} (*){rows}" if rows else f"{element} *"
        declared = f"{element} (*{name}){rows}" if rows else f"{element} *{name}"
        if not extents:
            c_type, declared = f"{element} &", f"{element} &{name}"
            place = f"{self._shared}[{offset}]"
        self._line(f"{declared} = reinterpret_cast<{c_type}>({place});")
