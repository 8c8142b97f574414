"""The xDSL context of the tools: Nestor's dialects, and every upstream dialect that xDSL has."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import get_all_dialects

from ...dialects.registry import make_context


def make_tool_context(*, allow_unregistered: bool = False) -> Context:
    """A context in which dialects load when a text first uses them."""
    context = make_context()
    known = set(context.registered_dialect_names)
    for name, factory in get_all_dialects().items():
        if name not in known:
            context.register_dialect(name, factory)
    context.allow_unregistered = allow_unregistered
    return context
