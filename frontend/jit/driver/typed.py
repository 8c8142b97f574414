"""What type checkers know of functions of Nestor: that they keep the signature of what they are made of.

Nothing here is used when a program runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Any, Literal, ParamSpec, Protocol, TypedDict, TypeVar, overload

    from ...interface.calibrations import Calibration
    from ...interface.named_extents import Dim
    from .lowered import Lowered

    P = ParamSpec("P")
    R = TypeVar("R")
    Kept = TypeVar("Kept")
    ResultOf = TypeVar("ResultOf", covariant=True)

    class Jitted(Protocol[P, ResultOf]):
        """What `nt.jit` gives."""

        __name__: str
        __wrapped__: Callable[P, ResultOf]  # pyright: ignore[reportGeneralTypeIssues]
        target: str

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ResultOf: ...

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Jitted[P, ResultOf]: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None) -> Callable[..., ResultOf]: ...

        def lower(self, *args: Any, **kwargs: Any) -> Lowered:
            """The function lowered to nt for these arguments (arrays, numbers, or `nt.spec`s), without running it."""
            ...

        def explain(self, *args: Any, **kwargs: Any) -> str:
            """Which program serves these arguments, what it assumes, why it was compiled; `format`: text, json, html."""
            ...

        def cache_info(self) -> dict[str, int]:
            """Counts: programs compiled, call signatures seen, calls served from a known signature."""
            ...

    class JitOptions(TypedDict, total=False):
        """The options of `nt.jit`."""

        target: str
        dynamic: bool | Literal["auto"] | Mapping[str, Mapping[int, str | Dim | None]] | None
        static_argnums: int | Iterable[int]
        static_argnames: str | Iterable[str]
        fastmath: bool | str | Iterable[str]
        strict: bool | Literal["fast"]
        boundscheck: bool
        constants: str | Iterable[str]
        machine: str | None
        fallback: Literal["numpy", "compile-later"] | None
        profile: bool
        hot_sizes: bool
        autocast: Literal["bf16", "f16"] | None
        quantise: Literal["dynamic"] | Calibration | None
        strategies: str | Path | Iterable[str | Path]
