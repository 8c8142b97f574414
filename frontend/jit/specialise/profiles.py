"""Programs for what calls have in common: `nt.jit(f, profile=True)` and `nt.jit(f, hot_sizes=True)`.

    profile      f(a, 3), f(b, 3), f(c, 3), f(d, 3)   the first calls are watched, a program of unknown extents answers
                                                      them; then there is one for n = 3 and the extents that all had
    hot_sizes    32 calls with arrays of 640          a thread compiles a program for 640, and later calls have it

What such a program is for, each call is asked: one that differs in anything goes to the program that was there before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...interface.argument_types import ArgumentType, generalised, static_type, without_extents
from ...interface.errors import DTypeError

if TYPE_CHECKING:
    from ...interface.program_parts import Program

PROFILED = 4
"""How many calls of one kind are watched."""

MOST_KINDS = 4096
"""Maximum number of kinds of calls that are known; beyond, all are forgotten, and watched again."""

LARGEST = 1 << 16
"""Integers beyond are sizes of data or numbers of things: that they were equal says little."""

HOT = 32
"""After how many calls with the same extents there is a program for these."""

MOST_HOT = 8
"""Maximum number of sizes that get programs of their own."""

COUNTED = 1000
"""Calls answered by Python in which sizes are counted; then calls of unknown extents may be native."""

Types = tuple[ArgumentType, ...]


class Fixed:
    """What a program is for beside the kinds of its arguments: values by the position of the argument, extents by position
    and axis."""

    def __init__(
        self, values: dict[int, Any], extents: dict[tuple[int, int], int], count: int, is_hot: bool = False
    ):
        self.values = values
        self.extents = extents
        self.count = count
        """How many arguments a call has, without arrays from outside."""
        self.is_hot = is_hot
        self.programs: list[Program] = []

    def has(self, program: Program) -> bool:
        """Whether a program is one for such calls."""
        return any(one is program for one in self.programs)

    def fits(self, types: Types, values: Sequence[Any]) -> bool:
        """Whether a call is one of those."""
        return all(types[k].extents[axis] == n for (k, axis), n in self.extents.items()) and all(
            type(values[k]) is type(one) and values[k] == one for k, one in self.values.items()
        )

    def types(self, types: Types) -> Types:
        """The types of such a call, with the values in them."""
        made = list(types)
        for k, value in self.values.items():
            made[k] = static_type(types[k].name, value, types[k].group)
        return tuple(made)

    def pattern(self, types: Types) -> Types:
        """The types with all other extents unknown."""
        if self.is_hot:
            return types
        axes = [(k, axis) for k, one in enumerate(types[: self.count]) for axis in range(len(one.extents))]
        return generalised(types, [place for place in axes if place not in self.extents])

    def text(self, types: Types) -> str:
        """What is known, for people."""
        said = [f"{types[k].name} = {value!r}" for k, value in self.values.items()]
        for k, one in enumerate(types[: self.count]):
            own = [self.extents.get((k, axis), "?") for axis in range(len(one.extents))]
            said += [f"{one.name}: [{', '.join(map(str, own))}]"] if any(n != "?" for n in own) else []
        return ", ".join(said)


def extents_of(types: Types) -> dict[tuple[int, int], int]:
    """The extents of a call, by position and axis."""
    return {
        (k, axis): n
        for k, one in enumerate(types)
        for axis, n in enumerate(one.extents)
        if isinstance(n, int)
    }


class _Seen:
    """What the calls of one kind had until now."""

    def __init__(self) -> None:
        self.calls = 0
        self.values: dict[int, list[Any]] = {}
        self.extents: dict[tuple[int, int], list[int]] = {}

    def note(self, types: Types, values: Sequence[Any]) -> None:
        self.calls += 1
        for k, one in enumerate(types):
            if one.kind in ("int", "bool") and not one.text:
                self.values.setdefault(k, []).append(values[k])
            for axis, extent in enumerate(one.extents):
                if isinstance(extent, int):
                    self.extents.setdefault((k, axis), []).append(extent)

    def fixed(self, count: int) -> Fixed | None:
        """What was the same in all of them; None where nothing was."""
        values = {
            k: seen[0] for k, seen in self.values.items() if len(set(seen)) == 1 and abs(seen[0]) <= LARGEST
        }
        extents = {
            place: seen[0]
            for place, seen in self.extents.items()
            if len(set(seen)) == 1 and len(seen) == self.calls and seen[0] > 1
        }
        return Fixed(values, extents, count) if values or extents else None

    def varied(self, types: Types) -> str:
        """What was not the same, for people."""
        said = []
        for k, one in enumerate(types):
            seen = list(dict.fromkeys(self.values.get(k, ())))
            said += [f"{one.name} was {', '.join(map(repr, seen))}"] if len(seen) > 1 else []
            for axis in range(len(one.extents)):
                extents = list(dict.fromkeys(self.extents.get((k, axis), ())))
                said += (
                    [f"axis {axis} of {one.name} was {', '.join(map(str, extents))}"]
                    if len(extents) > 1
                    else []
                )
        return "; ".join(said)


class Profiles:
    """What was seen of the calls of one function, and what was decided. `note` is told of it, for `explain`."""

    def __init__(self, profile: bool, hot_sizes: bool, note: Callable[[str, str], None]):
        self.is_watching = profile
        self.counts_sizes = hot_sizes
        self._note = note
        self._seen: dict[Any, _Seen | None] = {}
        """By the kinds of arguments; None where it is decided."""
        self._fixed: dict[Any, list[Fixed]] = {}
        self.values: dict[str, set[tuple[type, Any]]] = {}
        """The values that programs are for, by the names of arguments."""
        self._counts: dict[Any, int] = {}
        self._thread: threading.Thread | None = None
        self._hot = 0

    def forget(self) -> None:
        """The function is another one."""
        self._seen.clear()
        self._fixed.clear()
        self._counts.clear()
        self.values = {}
        self._hot = 0

    # ---- the first calls ----------------------------------------------------------------------------

    def watched(self, types: Types, open_types: Types, values: Sequence[Any]) -> bool:
        """Note a call; whether this decides what there is a program for. `open_types` are its types with the extents unknown
        that must stay so."""
        family = without_extents(types)
        if len(self._seen) >= MOST_KINDS and family not in self._seen:
            self.forget()
        seen = self._seen.setdefault(family, _Seen())
        if not self.is_watching or seen is None:
            return False
        seen.note(open_types, values)
        if seen.calls < PROFILED:
            return False
        self._seen[family] = None
        fixed = seen.fixed(len(types))
        varied = seen.varied(types)
        what = (
            "nothing was the same, no program of its own"
            if fixed is None
            else f"a program for {fixed.text(types)}"
        )
        self._note("guards", f"profile of {PROFILED} calls: {what}" + (f" ({varied})" if varied else ""))
        if fixed is not None:
            self.add(family, types, fixed)
        return True

    def is_open(self, types: Types) -> bool:
        """Whether calls of this kind are still watched."""
        return self.is_watching and self._seen.get(without_extents(types), self) is not None

    def add(self, family: Any, types: Types, fixed: Fixed) -> None:
        """Calls that fit have a program of their own from now on."""
        self._fixed.setdefault(family, []).append(fixed)
        values = {name: set(known) for name, known in self.values.items()}
        for k, value in fixed.values.items():
            values.setdefault(types[k].name, set()).add((type(value), value))
        self.values = values

    def key_of(self, name: str, value: Any) -> Any:
        """What tells values of an argument apart, as far as programs are for them."""
        kind = type(value)
        return (kind, value) if (kind, value) in self.values.get(name, ()) else kind

    def of(self, types: Types, values: Sequence[Any]) -> Fixed | None:
        """What the program of a call is for, where it has one of its own."""
        known = self._fixed.get(without_extents(types), ())
        return next((one for one in known if one.fits(types, values)), None)

    def give_up(self, fixed: Fixed, why: str) -> None:
        """There is no such program: calls go to the others."""
        for known in self._fixed.values():
            if fixed in known:
                known.remove(fixed)
        self._note("guards", f"no program for what calls have in common: {why}")

    def drop(self, program: Program) -> None:
        """A program was forgotten; it is made again when it is called."""
        for known in self._fixed.values():
            for one in known:
                one.programs = [p for p in one.programs if p is not program]

    def has(self, program: Program) -> bool:
        """Whether it is one that was made for what calls have in common."""
        return any(fixed.has(program) for known in self._fixed.values() for fixed in known)

    def excluded(self, program: Program) -> list[dict[int | str, int]]:
        """What programs of their own are for, in the terms of a program that takes other calls: values by positions, extents
        by their names."""
        arguments = program.arguments
        own = without_extents(arguments)[: len(arguments) - len(program.inputs)]
        found = []
        for fixed in self._fixed.get(own, ()):
            if not fixed.values or fixed.has(program):
                continue
            pairs: dict[int | str, int] = {k: int(value) for k, value in fixed.values.items()}
            places = [(arguments[k].extents[axis], n) for (k, axis), n in fixed.extents.items()]
            if any(isinstance(extent, int) and extent != n for extent, n in places):
                continue
            pairs.update({extent: n for extent, n in places if isinstance(extent, str)})
            found.append(pairs)
        return found

    # ---- sizes --------------------------------------------------------------------------------------

    def count(self, key: Any, program: Program) -> bool:
        """Count a call that Python has answered; whether its sizes are hot from now on, and no thread is busy."""
        if not self.counts_sizes or self._hot >= MOST_HOT or not _is_open(program):
            return False
        if len(self._counts) > COUNTED:
            self._counts.clear()
        calls = self._counts[key] = self._counts.get(key, 0) + 1
        return calls % HOT == 0 and (self._thread is None or not self._thread.is_alive())

    def heat(self, name: str, work: Callable[[], None]) -> None:
        """Do `work`, which makes a program, in a thread."""
        self._hot += 1
        if self._hot == MOST_HOT:
            self._note("guards", f"{MOST_HOT} sizes have programs of their own: no more will")
        thread = threading.Thread(target=work, name=f"nestor compiles {name}")
        self._thread = thread
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter ends
            self._thread = None

    @property
    def is_busy(self) -> bool:
        """Whether a thread is making a program."""
        return self._thread is not None and self._thread.is_alive()

    def may_be_native(self, program: Program, calls: int) -> bool:
        """Whether calls of a program need not be seen by Python."""
        if self.is_open(program.arguments[: len(program.arguments) - len(program.inputs)]):
            return self.has(program)
        return not self.counts_sizes or calls >= COUNTED or not _is_open(program) or self._hot >= MOST_HOT


def _is_open(program: Program) -> bool:
    """Whether some extent is unknown."""
    return any(isinstance(extent, str) for one in program.arguments for extent in one.extents)


def profiles_of(
    profile: Any, hot_sizes: Any, dynamic: bool | None, target: str, note: Callable[[str, str], None]
) -> Profiles | None:
    """The options `profile` and `hot_sizes`, checked; None without them. Raises DTypeError."""
    for name, value in (("profile", profile), ("hot_sizes", hot_sizes)):
        if not isinstance(value, bool):
            raise DTypeError(f"{name}={value!r}", hint=f"{name} is True or False")
        if value and target == "cuda":
            raise DTypeError(
                f"{name}=True on target 'cuda': calls there are not watched",
                hint="leave it out, or use static_argnames",
            )
    if hot_sizes and dynamic is False:
        raise DTypeError(
            "hot_sizes=True with dynamic=False: each size has a program of its own already",
            hint="leave one of them out",
        )
    return Profiles(profile, hot_sizes, note) if profile or hot_sizes else None
