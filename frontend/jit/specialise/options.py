"""The options of `nt.jit`, checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...interface.errors import DTypeError
from ...interface.named_extents import NamedAxes
from .machines import HOST

FASTMATH_FLAGS = ("contract", "reassoc", "nnan", "ninf", "nsz", "afn", "arcp")
"""The flags that `fastmath=True` asks for."""

BY_NAME = ("tf32",)
"""Flags that are asked for by name only: factors of matrix products are rounded to 11 bits, for tensor cores."""


def static_names(
    names: Sequence[str], argnums: int | Iterable[int], argnames: str | Iterable[str]
) -> set[str]:
    """The parameters that `static_argnums` and `static_argnames` say. Raises DTypeError for those that are not there."""
    positions = [argnums] if isinstance(argnums, int) else list(argnums)
    chosen = [argnames] if isinstance(argnames, str) else list(argnames)
    wrong = [k for k in positions if not -len(names) <= k < len(names)] + [
        n for n in chosen if n not in names
    ]
    if wrong:
        raise DTypeError(f"no parameter {wrong[0]!r} to be static", hint=f"parameters: {', '.join(names)}")
    return {names[k] for k in positions} | set(chosen)


def constant_names(names: Sequence[str], constants: str | Iterable[str], static: set[str]) -> frozenset[str]:
    """The parameters that `constants` says. Raises DTypeError for those that are not there, or are static."""
    chosen = [constants] if isinstance(constants, str) else list(constants)
    for name in chosen:
        if name not in names:
            raise DTypeError(f"no parameter {name!r} to be constant", hint=f"parameters: {', '.join(names)}")
        if name in static:
            raise DTypeError(
                f"parameter {name!r} is static", hint="a static value is compiled in: it is constant"
            )
    return frozenset(chosen)


def dynamic_mode(dynamic: Any) -> bool | None:
    """What `dynamic` asks for; None leaves it to the shapes that arrive, but for axes that it names. Raises DTypeError."""
    if dynamic is None or dynamic == "auto" or isinstance(dynamic, Mapping):
        return None
    if isinstance(dynamic, bool):
        return dynamic
    raise DTypeError(
        f"dynamic={dynamic!r}",
        hint='dynamic is True, False, \'auto\', or says which axes: {"x": {0: "batch"}}',
    )


def given_axes(dynamic: Any) -> Any:
    """The option `dynamic`, which nobody changes afterwards."""
    if not isinstance(dynamic, Mapping):
        return dynamic
    return {name: dict(axes) if isinstance(axes, Mapping) else axes for name, axes in dynamic.items()}


def named_axes(dynamic: Any, names: Sequence[str]) -> NamedAxes | None:
    """The axes that `dynamic` names; None where it is no dictionary. Raises what `NamedAxes` raises."""
    return NamedAxes(dynamic, names) if isinstance(dynamic, Mapping) else None


def strict_mode(strict: bool | str) -> bool | str:
    """The option `strict`, checked: False, True or "fast". Raises DTypeError."""
    if strict in (False, True, "fast"):
        return strict
    raise DTypeError(f"strict={strict!r}", hint="strict is False, True, or 'fast'")


_KINDS = {"cpu": "CPU", "cuda": "GPU", "cuda-sim": "GPU"}
"""What a target runs on."""


def names_a_machine(machine: str | None) -> bool:
    """Whether the option `machine` or the environment name another machine than this one."""
    return (machine or os.environ.get("NESTOR_MACHINE")) not in (None, "", HOST)


def machine_name(machine: str | None, target: str) -> str | None:
    """The option `machine`, where there is one to name, checked; None leaves it to the environment. Raises DTypeError."""
    given = machine or os.environ.get("NESTOR_MACHINE")
    from ....analysis.machine import CPUS, GPUS, UnknownMachine, cpu, gpu, unknown

    try:
        kind = _KINDS.get(target.partition(":")[0]) if machine else None
        if not isinstance(given, str):
            raise unknown(repr(given))
        if kind is not None:
            (cpu if kind == "CPU" else gpu)(given)
        elif given not in {**CPUS, **GPUS}:
            raise unknown(given)
    except UnknownMachine as error:
        where = "" if machine else " (NESTOR_MACHINE)"
        raise DTypeError(f"{error}{where}", hint=f"{error.hint}; host is this machine") from None
    return machine


AUTOCAST = ("bf16", "f16")
"""What products may be cast to (nt-autocast)."""


def autocast_type(autocast: str | None) -> str | None:
    """The option `autocast`, checked. Raises DTypeError."""
    if autocast is None or autocast in AUTOCAST:
        return autocast
    raise DTypeError(f"autocast={autocast!r}", hint=f"autocast is None, or one of {', '.join(AUTOCAST)}")


def quantise_mode(quantise: Any) -> Any:
    """The option `quantise`, checked. Raises DTypeError."""
    if quantise is None or (isinstance(quantise, str) and quantise == "dynamic"):
        return quantise
    from ...interface.calibrations import Calibration

    if isinstance(quantise, Calibration):
        return quantise
    hint = 'quantise is None, "dynamic", or a calibration: nt.quant.calibrate'
    raise DTypeError(f"quantise={quantise!r}", hint=hint)


def fastmath_flags(fastmath: bool | str | Iterable[str] | None) -> tuple[str, ...]:
    """The flags asked for, in the order of `FASTMATH_FLAGS`, all of which True asks for; and those of `BY_NAME`."""
    if fastmath is False or fastmath is None:
        return ()
    names = (
        FASTMATH_FLAGS if fastmath is True else [fastmath] if isinstance(fastmath, str) else list(fastmath)
    )
    known = (*FASTMATH_FLAGS, *BY_NAME)
    unknown = [n for n in names if n not in known]
    if unknown:
        raise DTypeError(f"unknown fastmath flag {unknown[0]!r}", hint=f"flags: {', '.join(known)}")
    return tuple(flag for flag in known if flag in names)


def strategy_texts(strategies: Any) -> tuple[str, ...]:
    """The option `strategies`, as texts: of files, or given as they are. Raises DTypeError, FileError for what cannot
    be read, and the diagnostics of texts that are no strategies."""
    from pathlib import Path

    from ....dialects.diagnostic import text_of_file
    from ....transforms.schedule.apply_strategies import strategies_in

    given = list(strategies) if isinstance(strategies, list | tuple) else [strategies]
    found: list[str] = []
    for one in given:
        if not isinstance(one, str | Path):
            hint = "paths of files, or texts with a schedule.sequence that takes nests"
            raise DTypeError(f"strategies={one!r}", hint=hint)
        text, name = str(one), "<strategies>"
        if "schedule.sequence" not in text:
            hint = "a text with a schedule.sequence is taken as it is; docs/strategies.md has some"
            text, name = text_of_file(one, "the strategies", hint), text
        strategies_in(text, name)
        found.append(text)
    return tuple(found)
