"""Every dialect by name: Nestor's own, its extensions of upstream dialects, and the upstream ones it uses."""

from __future__ import annotations

from importlib import import_module

OWN: dict[str, str] = {
    "nt": "nt:NT",
    "nest": "nest:NEST",
    "schedule": "schedule.ops:SCHEDULE",
    "special": "functions:SPECIAL",
    "vnni": "ext.vnni:VNNI",
}
"""Dialects that Nestor defines."""

EXTENDED: dict[str, str] = {
    "amx": "ext.amx:AMX",
    "arith": "ext.arith:ARITH",
    "gpu": "ext.gpu:GPU",
    "math": "ext.math:MATH",
    "memref": "ext.memref:MEMREF",
    "nvgpu": "ext.nvgpu:NVGPU",
    "vector": "ext.vector:VECTOR",
    "llvm": "ext.llvm:LLVM",
    "x86vector": "ext.x86vector:X86VECTOR",
}
"""Upstream dialects that Nestor extends by operations that xDSL lacks: these replace xDSL's dialect object."""

UPSTREAM = ("builtin", "func", "scf", "cf", "tensor", "complex")
"""Upstream dialects used as xDSL defines them."""


def load_dialect(name: str):
    """The xDSL `Dialect` called `name`. Raises KeyError when there is none."""
    spec = OWN.get(name) or EXTENDED.get(name)
    if spec is not None:
        module, _, attribute = spec.partition(":")
        return getattr(import_module(f".{module}", __package__), attribute)
    from xdsl.dialects import get_all_dialects

    return get_all_dialects()[name]()


def make_context():
    """A fresh xDSL `Context` that knows every dialect of Nestor's levels (loaded on first use)."""
    from xdsl.context import Context

    context = Context()
    for name in (*UPSTREAM, *EXTENDED, *OWN):
        context.register_dialect(name, lambda name=name: load_dialect(name))
    return context
