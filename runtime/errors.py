"""What a kernel reports when it stops: the error record of the ABI (docs/architecture.md, section 5)."""

from __future__ import annotations

from ..dialects.diagnostic import NestorError

INDEX_ERROR, ASSERTION_ERROR, ZERO_DIVISION_ERROR, MEMORY_ERROR, VALUE_ERROR = 1, 2, 3, 4, 5

EXCEPTIONS: dict[int, type[Exception]] = {
    INDEX_ERROR: IndexError,
    ASSERTION_ERROR: AssertionError,
    ZERO_DIVISION_ERROR: ZeroDivisionError,
    MEMORY_ERROR: MemoryError,
    VALUE_ERROR: ValueError,
}
"""The Python exception a code stands for."""

CODES: dict[str, int] = {exception.__name__: code for code, exception in EXCEPTIONS.items()}
"""The code of `nestor.kind`."""


class KernelError(NestorError):
    """A kernel stopped: `code` says how, `site` which check (see `nestor.sites`), the others on what."""

    def __init__(self, code: int, site: int = -1, value: int = 0, extent: int = 0):
        super().__init__(f"{EXCEPTIONS[code].__name__} at check {site}: value {value}, extent {extent}")
        self.code, self.site, self.value, self.extent = code, site, value, extent
