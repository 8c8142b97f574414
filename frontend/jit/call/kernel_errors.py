"""What a check that failed in a kernel raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dialects.diagnostic import SourceLocation
from ...interface.errors import (
    DivisionError,
    IndexRangeError,
    KernelAssertionError,
    KernelMemoryError,
    RangeError,
    ShapeError,
    UnboundError,
    UnsupportedError,
)


def kernel_error(
    sites: Sequence[dict[str, Any]],
    code: int,
    site: int,
    value: int,
    extent: int,
    numbers: Sequence[int] = (),
) -> BaseException:
    """The exception of a check that failed in a kernel, at its Python line. `numbers`: those of a `raise`."""
    from ....lowering.abi.error_codes import (
        ASSERTION_ERROR,
        CALL_ERROR,
        INDEX_ERROR,
        INTERRUPTED,
        MEMORY_ERROR,
        OVERFLOW_ERROR,
        RAISED,
        UNBOUND_LOCAL_ERROR,
        VALUE,
        VALUE_ERROR,
        ZERO_DIVISION_ERROR,
    )

    entry = sites[site] if 0 <= site < len(sites) else {}
    place = (
        SourceLocation(entry["file"], entry.get("line", 0), entry.get("column", 0))
        if "file" in entry
        else None
    )
    if code == RAISED and "raises" in entry:
        return entry["raises"].error(numbers, place)
    if code == INTERRUPTED:
        from ....runtime.cpu.interruptions import interruption

        return interruption(numbers)
    if code == CALL_ERROR:
        from ....runtime.custom_calls import take_error

        return take_error(entry.get("file"), entry.get("line", 0))  # pyright: ignore
    if code == INDEX_ERROR and "message" not in entry:
        value, extent = entry.get("index", value), entry.get("extent", extent)
        message = f"index {value} is out of bounds for axis {entry.get('axis', 0)} with size {extent}"
        hint = f"the array is '{entry['array']}'" if "array" in entry else None
        return IndexRangeError(message, place, hint=hint)
    kinds = {
        ASSERTION_ERROR: KernelAssertionError,
        ZERO_DIVISION_ERROR: DivisionError,
        MEMORY_ERROR: KernelMemoryError,
        VALUE_ERROR: ShapeError,
        INDEX_ERROR: IndexRangeError,
        OVERFLOW_ERROR: RangeError,
        UNBOUND_LOCAL_ERROR: UnboundError,
    }
    texts = {
        ASSERTION_ERROR: "assertion failed",
        ZERO_DIVISION_ERROR: "division by zero",
        MEMORY_ERROR: "out of memory in a kernel",
        VALUE_ERROR: "invalid value in a kernel",
        OVERFLOW_ERROR: "a number is out of range",
    }
    text = entry.get("message") or texts.get(code, f"a kernel stopped with code {code}")
    text = text.replace(VALUE, str(value))
    ways_out = {
        ZERO_DIVISION_ERROR: "test the divisor before; np.divide gives inf or nan, as divisions of arrays do",
        MEMORY_ERROR: "low.memory_analysis() says what takes how much",
        UNBOUND_LOCAL_ERROR: "give it a value on each path to here",
    }
    error = kinds.get(code, UnsupportedError)(text, place, hint=ways_out.get(code))
    if code == ASSERTION_ERROR and not entry.get("message"):
        error.args = ()
    return error
