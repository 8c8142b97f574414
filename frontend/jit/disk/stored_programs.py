"""Programs of `nt.jit` on the disk: what one depends on, how it is written, how it comes back without the compiler.

The key is the function's code, the arguments' types, the options, and what compiles and runs (`disk_cache.environment`).
What the function read from outside while it was compiled (globals, closures, attributes of modules, the functions it calls
with what those read) is noted in the file as a list of reads, each with the fingerprint of what was found:

    (0, NAME, "scale", "float:...")            the global `scale` of the function itself
    (0, NAME, "helper", "function:...")        a function that it calls
    ("read 1", NAME, "sizes", "list")          a global of that function
    ("read 2", ITEM, 0, "int:3")               an item of that

A program is used where every read still finds the same. Functions that depend on what has no fingerprint are not stored.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any

from ....runtime import disk_cache
from ....runtime.cpu import threads
from ....runtime.disk_cache import COUNTS, Variant
from ...interface.argument_types import ArgumentType
from ...interface.captured import Captured, Step
from ...interface.errors import UnsupportedError
from ...interface.ordinary import is_generated
from ...interface.outside_arrays import Input, Inputs
from ...interface.program_parts import Program
from ...interface.source import FunctionSource, text_of
from ...interface.source_text import is_text_of
from ...interface.versioned import is_own
from .fingerprints import Unkeyed, code_of, digest, fingerprint, found_text
from .program_data import dumped, loaded


class Request:
    """A program that is wanted: for the types of `pattern`, in a call with these values."""

    def __init__(
        self,
        function: Any,
        options: tuple[Any, ...],
        pattern: tuple[ArgumentType, ...],
        values: Sequence[Any],
    ):
        self.function = function
        self.options = options
        self.pattern = pattern
        self.values = values

    def key(self) -> str:
        """Raises Unkeyed."""
        types = [_type_text(t) + fingerprint((t.dtype, t.value, t.text)) for t in self.pattern]
        facts = (
            disk_cache.environment(),
            disk_cache.settings(),
            repr(self.options),
            str(threads.threads_for_schedules()),
            code_of(self.function),
        )
        return digest(*facts, *types)


def _type_text(t: ArgumentType) -> str:
    """All of a type but its dtype and value."""
    facts = (
        t.name,
        t.kind,
        t.extents,
        t.witness,
        t.layout,
        t.order,
        t.memory_order,
        t.read_only,
        t.overlap,
        t.group,
    )
    return repr(facts) + str(t.constant)


class Found:
    """A program that came from the disk.

    `baked` are arguments whose values it was compiled for, `rigid` says whether all extents had to be known, `frozen` what
    fills the last arguments of the kernel once, if anything does, and `calls` are the functions of NumPy that it calls.
    """

    def __init__(
        self,
        program: Program,
        forms: tuple[Any, ...],
        sites: list[dict[str, Any]],
        code: bytes,
        baked: list[str],
        rigid: bool,
        frozen: Any,
        calls: Any,
    ):
        self.program = program
        self.forms = forms
        self.sites = sites
        self.code = code
        self.baked = baked
        self.rigid = rigid
        self.frozen = frozen
        self.calls = calls


WRITES = "writes"
"""Instead of a program: arguments are written, so more must be known of them."""


# ---- what was read from outside ---------------------------------------------------------------------


class Reads:
    """What was found outside, in the order of the list; objects among it are referred to by their place."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, int, Any, str]] = []
        """Owner, step, name, fingerprint."""
        self.values: list[Any] = []

    def add(self, owner: Any, step: Step, name: Any, value: Any, text: str) -> None:
        self.entries.append((owner, int(step), name, text))
        self.values.append(value)

    def place_of(self, thing: Any) -> int | None:
        """Where an object is that was read."""
        exact = (k for k, v in enumerate(self.values) if v is thing)
        return next(exact, next((k for k, v in enumerate(self.values) if _function_of(v) is thing), None))


def _function_of(value: Any) -> Any:
    """The function that is compiled where `value` is called."""
    return getattr(value, "function", None) if hasattr(type(value), "lower") else value


def _collected(request: Request, captured: Captured) -> Reads:
    """All that was read, owners before what was found in them. Raises Unkeyed."""
    reads = Reads()
    rest = [one for one in captured if not _is_own(one.owner)]
    while rest:
        later = []
        for one in rest:
            place = _owner_place(request, reads, one.owner)
            if place is None:
                later.append(one)
            else:
                reads.add(place, one.step, one.name, one.value, _text(one.owner, one.step, one.value))
        if len(later) == len(rest):
            owner = later[0].owner
            what = getattr(getattr(owner, "function", owner), "__qualname__", repr(owner))
            raise Unkeyed(f"what '{what}' reads, which was not found by a name")
        rest = later
    return reads


def _is_own(owner: Any) -> bool:
    """Whether a reader is a function of Nestor, which changes with its version only."""
    function = owner.function if isinstance(owner, FunctionSource) else owner
    return isinstance(function, FunctionType) and is_own(function)


def _text(owner: Any, step: Step, value: Any) -> str:
    """What stands for a value that was found; the members of a class are part of what stands for the class."""
    is_member = step == Step.ATTRIBUTE and isinstance(owner, type)
    return f"member:{type(value).__name__}" if is_member else found_text(value)


def _owner_place(request: Request, reads: Reads, owner: Any) -> Any:
    """How the owner of a name is found again: the function itself, a module, what was read before, an argument."""
    if isinstance(owner, ModuleType):
        return f"module {owner.__name__}"
    thing = owner.function if isinstance(owner, FunctionSource) else owner
    if thing is request.function:
        return 0
    place = reads.place_of(thing)
    if place is not None:
        return f"read {place}"
    places = ((how, k) for how, k, value in _arguments(request) if value is thing)
    return next((f"{how} {k}" for how, k in places), None)


def _owner(request: Request, reads: Reads, place: Any, step: Step) -> Any:
    """The owner at such a place. Raises LookupError."""
    thing = _thing(request, reads, place)
    if step != Step.NAME:
        return thing
    function = _function_of(thing)
    return FunctionSource(function, None, function.__code__.co_filename)  # pyright: ignore


def _thing(request: Request, reads: Reads, place: Any) -> Any:
    if place == 0:
        return request.function
    how, _, where = place.partition(" ")
    if how == "module":
        return sys.modules[where]
    if how == "read":
        return reads.values[int(where)]
    return next(value for one, k, value in _arguments(request) if (one, k) == (how, int(where)))


def _again(request: Request, entries: Iterable[tuple[Any, int, Any, str]]) -> tuple[Reads, Captured] | None:
    """The reads done again; None where one finds another value."""
    reads, captured = Reads(), Captured()
    for place, step, name, expected in entries:
        owner = _owner(request, reads, place, Step(step))
        value = captured.read(owner, Step(step), name)
        if _text(owner, Step(step), value) != expected:
            return None
        reads.add(place, Step(step), name, value, expected)
    return reads, captured


# ---- objects that are referred to -------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Pickles plain data; objects of the program are referred to by where they were found."""

    def __init__(self, file: Any, known: dict[int, tuple[str, int]]):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._known = known

    def persistent_id(self, obj: Any) -> Any:
        return self._known.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type | FunctionType) and not is_own(obj):
            raise Unkeyed(f"'{obj.__qualname__}', which is part of the result and was not found by a name")
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, objects: Callable[[tuple[str, int]], Any]):
        super().__init__(io.BytesIO(data))
        self._objects = objects

    def persistent_load(self, pid: Any) -> Any:
        return self._objects(pid)


_PLAIN = (int, float, bool, str, bytes, type(None), tuple)


def _objects(request: Request, reads: Reads) -> Iterator[tuple[str, int, Any]]:
    """What a program may refer to."""
    for k, value in enumerate(reads.values):
        yield "read", k, value
    yield from _arguments(request)


def _arguments(request: Request) -> Iterator[tuple[str, int, Any]]:
    """The static arguments, and the classes of structured ones."""
    for k, argument in enumerate(request.pattern):
        yield "argument", k, argument.value
        for n, kind in enumerate(_kinds(argument.value)):
            yield "kind", k * 1000 + n, kind


def _kinds(structure: Any) -> Iterator[type]:
    """The classes of a structured argument."""
    if hasattr(structure, "items") and hasattr(structure, "kind"):
        yield structure.kind
        for item in structure.items:
            yield from _kinds(item)


# ---- storing ----------------------------------------------------------------------------------------


def store(
    request: Request,
    program: Program,
    kernel: Any,
    *,
    baked: Sequence[str],
    rigid: bool,
) -> str | None:
    """Keep a program that was compiled for the request; the reason where that is not possible."""
    if not kernel.can_be_kept:
        return "it calls Python"
    if program.captured.unkeyed is not None:
        return f"it depends on {program.captured.unkeyed}"
    try:
        reads = _collected(request, program.captured)
        for read in program.captured:
            if read.step == Step.CODE:
                _check_source(read.owner)
        known = {
            id(thing): (how, place)
            for how, place, thing in _objects(request, reads)
            if not isinstance(thing, _PLAIN) or hasattr(thing, "_fields")
        }
        values = dict(zip([t.name for t in request.pattern], request.values, strict=True))
        makers = disk_cache.makers()
        if makers is None:
            return "it was compiled by files of Nestor that were edited in the meantime"
        known_values = [(name, fingerprint(values[name])) for name in baked]
        arguments = program.arguments if program.inputs else ()
        # With other types of the arrays from outside it is another program.
        types = [f"{_type_text(t)} {t.dtype} {t.value}" for t in arguments if t.kind in ("array", "same")]
        inputs = _input_places(request, reads, program), types
        conditions = pickle.dumps((makers, reads.entries, known_values, False, inputs))
        data = dumped(program, kernel, lambda file: _Pickler(file, known), rigid=rigid)
        key = request.key()
    except Unkeyed as reason:
        return f"it depends on {reason}"
    except Exception as error:  # of an object of the program, when it is pickled
        return f"what is known of it cannot be stored: {error}"
    variant = Variant(conditions, data, kernel.machine_code())
    if not disk_cache.write(key, variant):
        return "there is no directory that can be used"
    COUNTS.stored += 1
    return None


def store_writes(request: Request) -> None:
    """Note that the function writes to its arguments, which its own source does not say."""
    try:
        key = request.key()
    except Unkeyed:
        return
    makers = disk_cache.makers()
    if makers is not None and not any(map(_is_of_these_files, disk_cache.read(key))):
        disk_cache.write(key, Variant(pickle.dumps((makers, [], [], True, ([], []))), b"", b""))


def _is_of_these_files(variant: Variant) -> bool:
    return disk_cache.are_same(pickle.loads(variant.conditions)[0])


def _input_places(request: Request, reads: Reads, program: Program) -> list[tuple[Any, ...]]:
    """Where the arrays from outside are found. Raises Unkeyed."""
    places = []
    for one in program.inputs:
        place = _owner_place(request, reads, one.owner)
        if place is None:
            raise Unkeyed(f"where '{one.name}' is found, which was not found by a name")
        places.append((place, int(one.step), one.place, one.name))
    return places


def _check_source(function: Any) -> None:
    """What was compiled is the text of the file: it must be that of the code which runs, for the key is that code."""
    if not isinstance(function, FunctionType) or is_own(function):
        return
    if is_generated(function):  # it is not compiled, its defaults are read
        return
    code = function.__code__
    try:
        text = "".join(text_of(function, code)[1])
    except UnsupportedError:
        text = ""
    if not is_text_of(text, code):
        raise Unkeyed(f"the source of '{function.__qualname__}', which is not the one that runs")


# ---- loading ----------------------------------------------------------------------------------------


def load(request: Request, fits: Callable[[Program], bool]) -> Found | str | None:
    """The program that is stored for a request, and fits the arrays that it takes from outside; WRITES; or None."""
    if not disk_cache.is_on():
        return None
    try:
        variants = disk_cache.read(request.key())
        usable = (f for f in (_usable(request, v) for v in variants) if f is not None)
        found = next((f for f in usable if isinstance(f, str) or fits(f.program)), None)
    except Unkeyed:
        return None
    if found is None:
        COUNTS.misses += 1
    elif found != WRITES:
        COUNTS.hits += 1
    return found


def _usable(request: Request, variant: Variant) -> Found | str | None:
    try:
        makers, entries, baked, writes, inputs = pickle.loads(variant.conditions)
        if not disk_cache.are_same(makers):
            return None
        if writes:
            return WRITES
        values = dict(zip([t.name for t in request.pattern], request.values, strict=True))
        if any(fingerprint(values[name]) != expected for name, expected in baked):
            return None
        looked = _again(request, entries)
        if looked is None:
            return None
        reads, captured = looked
        places = [
            (_owner(request, reads, place, Step(step)), Step(step), *rest) for place, step, *rest in inputs[0]
        ]
        table = {(how, place): thing for how, place, thing in _objects(request, reads)}
        found = loaded(_Unpickler(variant.program, table.__getitem__))
    except Exception:  # it is of another time, or an object of the program cannot be made again
        return None
    taken = Inputs([Input(*place) for place in places])
    program = Program(module=None, captured=captured, inputs=taken, **found.parts)  # pyright: ignore
    known = [name for name, _ in baked]
    rest = found.rigid, found.frozen, found.calls
    return Found(program, found.forms, found.sites, variant.code, known, *rest)


__all__ = ["WRITES", "Found", "Request", "load", "store", "store_writes"]
