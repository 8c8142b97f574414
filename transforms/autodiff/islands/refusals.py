"""The error for what has no derivative in an island."""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.diagnostic import NestorError, fail


def refused(op: Operation, why: str) -> NestorError:
    """The error for an operation of an island that has no derivative."""
    return fail(
        op,
        f"no derivative of this loop: {why}",
        hint="give the function around it a derivative with nt.custom_vjp",
    )
