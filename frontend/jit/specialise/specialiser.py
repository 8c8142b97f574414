"""What a jitted function is compiled to: a program for each kind of arguments, and how it comes to one.

Arguments are known here by their types (`argument_types.py`): which extents are open, which values are baked in, what the
disk has. Nothing here imports xDSL or LLVM before something is compiled.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

from ....dialects.attributes import NT_AUTOCAST, NT_FASTMATH, NT_QUANTISE, STRATEGIES
from ....dialects.diagnostic import Diagnostic, NestorError
from ....lowering.abi.error_codes import RAISE
from ....runtime import disk_cache
from ....runtime.cpu import fast_call
from ....runtime.fork_lock import QuietLock
from ...interface.argument_types import (
    ArgumentType,
    binding,
    generalised,
    is_open,
    static_type,
    without_extents,
)
from ...interface.errors import Respecialise, UnsupportedError
from ...interface.named_extents import NamedAxes
from ...interface.outside_arrays import NO_INPUTS, Input, Inputs, are_few_integers
from ...interface.source import source_of
from ...interface.spec import ScalarSpec, dims_in
from ...interface.static_values import is_object
from ..disk import stored_programs as disk
from . import progress
from .arguments import seems_to_write
from .dump import is_dumping
from .history import History
from .opened_integers import names_to_open, with_opened
from .options import (
    autocast_type,
    dynamic_mode,
    fastmath_flags,
    machine_name,
    names_a_machine,
    quantise_mode,
    strategy_texts,
    strict_mode,
)
from .profiles import Fixed, Profiles

if TYPE_CHECKING:
    from ...interface.calibrations import Calibration
    from ...interface.program_parts import Program
    from .branches import Counts, Ways
    from .outside_arrays import OutsideArrays
    from .stages import Kernel

COMPILING = QuietLock()
"""Held while anything is compiled: threads that call a function at the same time get one program, compiled once."""

MOST_OBJECTS = 64
"""Maximum number of programs kept that were compiled for one object, an argument whose attributes are read."""

MOST_STALE = 64
"""Maximum number of programs for one kind of arguments; beyond, those are dropped whose outside values have changed."""

MOST_PROGRAMS = 128
"""Maximum number of programs of a function that are kept, where NESTOR_PROGRAMS does not say another: one for each value of
an integer that extents depend on would be without end. What was called longest ago goes first."""

OPENING = ("cpu", "interp", "cuda-sim")
"""Targets for which integers that programs were compiled for become numbers of the run."""

KEPT = ("cpu", "cuda")
"""Targets whose programs are kept on the disk."""

MAX_ATTEMPTS = 16
"""Maximum number of rounds of lowering, each with more known at compile time."""


Types = tuple[ArgumentType, ...]


class Specialiser(fast_call.NativeCallable):
    """A function, the options that it is compiled with, and its programs.

    What lowering finds out (an argument is written, a value must be known) holds for every later program; the native
    entries of those before are forgotten then.
    """

    _on_disk: ClassVar[bool] = True
    """Whether programs are kept for other processes."""

    _takes_outside: ClassVar[bool] = True
    """Whether arrays from outside are arguments of programs."""

    _static: Any
    """The parameters whose values are to be compiled in."""

    _types: Callable[..., Types]
    """The types of the leaves of a call: names, values and groups."""

    _libraries: Any
    """What knows the arrays of other libraries."""

    def __init__(
        self,
        function: Callable[..., Any],
        target: str,
        dynamic: Any,
        fastmath: bool | Iterable[str],
        strict: bool | str,
        boundscheck: bool,
        machine: str | None = None,
        autocast: str | None = None,
        quantise: str | Calibration | None = None,
        strategies: Any = (),
    ):
        self.function = function
        self.target = target
        self.dynamic = dynamic_mode(dynamic)
        self._axes: NamedAxes | None = None
        """The extents that have names, where `dynamic` names some."""
        self.strict = strict_mode(strict)
        self.boundscheck = bool(boundscheck)
        self.fastmath = fastmath_flags(fastmath)
        self.autocast = autocast_type(autocast)
        self.quantise = quantise_mode(quantise)
        self.strategies = strategy_texts(strategies) if strategies else ()
        self.machine = machine
        if names_a_machine(machine):
            with COMPILING:  # it imports a module that another thread may be importing during a fork
                self.machine = machine_name(machine, target)
        self._baked: set[str] = set()
        self._mutates: bool | None = None
        self._spreads = False
        """Whether objects of classes among the arguments come with their attributes."""
        self._compiled: dict[Any, list[tuple[Program, Kernel]]] = {}
        self._written: set[str] = set()
        """Parameters whose arrays some program writes to."""
        self._of_objects: list[Program] = []
        """Those compiled for one object, oldest first."""
        self._recent: dict[int, Program] = {}
        """All programs by their identity; those come last that Python has called last."""
        self._gone: set[str] = set()
        """The arguments of programs that were forgotten, as text."""
        self._installed: WeakValueDictionary[int, fast_call.Entry] = WeakValueDictionary()
        """The native entries, by the identity of their programs."""
        self._rigid: set[Any] = set()
        self._is_full = False
        """Whether more programs were wanted than are kept."""
        self._profiles: Profiles | None = None
        self._ways: Ways = {}
        """Which way branches went in the calls that were watched."""
        self._fixing: Fixed | None = None
        """What calls have in common for which the program is that is looked for."""
        self._open: dict[frozenset[str], bool] = {}
        """The sets of integers that were to be numbers of the run, and whether there are such programs."""
        self._log = History(getattr(function, "__qualname__", "function"))
        self._entries: dict[int, fast_call.Entry] = {}
        self._words: Any = None
        """What native calls look at, once there are entries."""

    def _writes(self) -> bool:
        """Whether an array argument may be written: a guess from the source, corrected when lowering finds a write."""
        if self._mutates is None:
            self._mutates = seems_to_write(self.function)
        return self._mutates

    def _learn(self, request: Respecialise) -> None:
        """Note what must be known of every call: which arrays overlap, or the attributes of objects."""
        if request.objects:
            self._spreads = True
            self._leave_native()
        else:
            self._learn_writes()

    def _learn_writes(self) -> None:
        self._mutates = True
        self._leave_native()

    def _still_valid(self, program: Program) -> bool:
        """Whether what was read outside while it was compiled is as it was."""
        return program.captured.hold()

    def _leave_native(self) -> None:
        """Forget the native entries: other programs are to run."""
        if getattr(self, "_entries", None):
            fast_call.uninstall(self)
            self._entries.clear()

    # ---- programs ------------------------------------------------------------------------------------

    def _find(self, types: Types, inputs: Inputs = NO_INPUTS) -> tuple[Program, Kernel] | None:
        """A compiled program that serves these extents; `types` are those of its inputs too."""
        for program, kernel in self._compiled.get(without_extents(types), ()):
            if program.inputs.key == inputs.key and self._fits(program, types) and self._still_valid(program):
                return program, kernel
        return None

    def _find_open(self, types: Types) -> tuple[Program, Kernel] | None:
        """A program that takes integers of a call as numbers of the run, for which others are compiled."""
        for names, is_there in self._open.items():
            as_open = with_opened(types, names) if is_there else None
            if as_open is not None and (found := self._find(as_open)) is not None:
                return found
        return None

    def _compile_open(self, types: Types, values: Sequence[Any]) -> tuple[Program, Kernel] | None:
        """Such a program, where enough others have been compiled for values of these integers, and lowering allows it."""
        if not self._baked or self.target not in OPENING:
            return None
        names = names_to_open(types, self._baked - set(self._static), self._compiled)
        if not names or self._open.get(names) is False:
            return None
        as_open = with_opened(types, names)
        assert as_open is not None
        baked = set(self._baked)
        try:
            program, kernel = self._compile_for(as_open, values)
        except NestorError as error:
            self._log.note("guards", f"{', '.join(sorted(names))}: a program for each value: {error}")
            program = kernel = None
        found = self._find(as_open)
        self._open[names] = found is not None and self._baked == baked and found[0] is program
        return (program, kernel) if self._open[names] else None  # pyright: ignore

    @staticmethod
    def _fits(program: Program, types: Types) -> bool:
        """Whether a program for arguments like these takes their extents."""
        extents = binding(program.arguments, types)
        return extents is not None and all(guard.holds(extents) for guard in program.guards)

    def _under_way(
        self,
        types: Types,
        values: Sequence[Any],
        inputs: Iterable[Input] = (),
        compiled_in: Callable[[Any], bool] | None = None,
    ) -> OutsideArrays | None:
        """The arrays from outside of a program that is to be lowered; None where they are compiled in."""
        if not self._takes_outside:
            return None
        from .outside_arrays import OutsideArrays

        return OutsideArrays(
            types,
            values,
            tuple(inputs),
            mutates=self._writes(),
            is_open=self.dynamic is True,
            libraries=self._libraries,
            **({} if compiled_in is None else {"compiled_in": compiled_in}),
        )

    def _compile_for(
        self,
        types: Types,
        values: Sequence[Any],
        inputs: Inputs = NO_INPUTS,
        asked: tuple[Types, Sequence[Any]] | None = None,
    ) -> tuple[Program, Kernel]:
        """A new program. `types` and `values` are those of the arguments, and of `inputs` that it is known to take;
        `asked` are those of the arguments alone."""
        with progress.shown(getattr(self.function, "__name__", "a function")):
            return self._made_for(types, values, inputs, (types, values) if asked is None else asked)

    def _made_for(
        self, types: Types, values: Sequence[Any], inputs: Inputs, asked: tuple[Types, Sequence[Any]]
    ) -> tuple[Program, Kernel]:
        from ....dialects.diagnostic import LoweringError
        from ....dialects.remarks import listening
        from .stages import build

        reason = self._reason(types)
        request = self._request(*asked)
        baked, rigid = set(self._baked), self._rigid.copy()
        program, types, values = self._lower(self._pattern(types), types, values, inputs)
        made = f"compiled for {_texts(program.arguments)}"
        self._log.tell("compile", made)
        began = time.perf_counter()
        try:
            with listening(program.remarks.append), self._branches(program, asked[0]) as counts:
                kernel, _ = build(program.module, program.name, self.target, machine=self.machine)
            if counts is not None and counts.are_used:
                kernel.branches = counts  # pyright: ignore
                request = None  # it counts in memory of this process
        except LoweringError as error:
            if [a.extents for a in program.arguments] == [t.extents for t in types]:
                raise
            # Nobody asked for unknown extents: what cannot be compiled for all of them is compiled for these.
            self._log.note(
                "compile", f"extents must be known, a program for each shape: {error.diagnostic.message}"
            )
            self._rigid.update((without_extents(types), without_extents(asked[0])))
            return self._compile_for(types, values, program.inputs, asked)
        self._log.tell(
            "compile", f"lowered for {self.target} in {(time.perf_counter() - began) * 1e3:.0f} ms"
        )
        if (
            program.may_change
            and calls_python(program.module, self.target)
            and getattr(kernel, "sites", True)
        ):
            raise UnsupportedError(
                "a function that changes objects of its arguments, prints or calls Python, and may raise is not supported: "
                "what it had changed before could not be told",
                hint="print around the call, or return the values and assign them there",
            )
        if self.strict:
            be_strict(program.remarks, also_slow=self.strict == "fast")
        if request is not None:
            family = without_extents(program.arguments)
            is_rigid = family not in rigid and family in self._rigid
            if self.target == "cuda" and program.inputs:
                refused = "it reads arrays from outside"
            else:
                refused = disk.store(
                    request, program, kernel, baked=sorted(self._baked - baked), rigid=is_rigid
                )
            if refused is None:
                self._log.tell("cache", "kept on the disk")
        else:
            refused = None
        reasons = ", ".join(filter(None, (_open_text(program.arguments), reason)))
        self._log.keep("compile", f"{made}{_in_brackets(reasons)}")
        if refused is not None:
            self._log.note("cache", f"not kept on the disk: {refused}")
        return self._kept(program, kernel)

    @contextmanager
    def _branches(self, program: Program, types: Types) -> Iterator[Counts | None]:
        """Compile a program that counts its branches, where calls are watched, or is told of them."""
        profiles = self._profiles
        if profiles is None or not profiles.is_watching or self.target != "cpu":
            yield None
            return
        from .branches import Counts, branches_of
        from .stages import BRANCHES

        is_watched = self._fixing is None and profiles.is_open(types)
        places = branches_of(program.module) if is_watched else []
        counts = Counts(places) if places else None
        token = BRANCHES.set(counts or self._ways or None)
        try:
            yield counts
        finally:
            BRANCHES.reset(token)

    def _note_branches(self, types: Types) -> None:
        """Take what programs for calls of this kind have counted. Others take their places, which do not count."""
        from .branches import ways_text

        for program, kernel in list(self._compiled.get(without_extents(types), ())):
            counts = getattr(kernel, "branches", None)
            if counts is None:
                continue
            for place, (no, yes) in counts.ways().items():
                before = self._ways.get(place, (0, 0))
                self._ways[place] = before[0] + no, before[1] + yes
            self._forget(program)
        if self._ways:
            self._log.note("guards", f"branches in these calls: {ways_text(self._ways)}")

    def _reason(self, types: Types) -> str:
        """Why there is no program for arguments of these types although there was one; empty for the first one."""
        family = without_extents(types)
        if _texts(types) in self._gone:
            return "again, for that program was forgotten"
        for program, _ in reversed(self._compiled.get(family, ())):
            stale = next((read for read in program.captured if not read.holds()), None)
            if stale is not None and self._fits(program, types):
                return f"again, for {stale} has changed"
        if any(map(is_open, types)):
            return ""
        if self._fixing is not None:
            return "for what calls have in common"
        pattern = self._pattern(types)
        is_watched = self._profiles is not None and self._profiles.is_watching
        is_asked = self.dynamic is True or is_watched or pattern == self._named(types)
        return "" if is_asked else "for calls differ in it"

    def _kept(self, program: Program, kernel: Kernel) -> tuple[Program, Kernel]:
        """A program that was made, which calls find from now on."""
        arguments = program.arguments
        self._compiled.setdefault(without_extents(arguments), []).append((program, kernel))
        self._recent[id(program)] = program
        self._written.update([arguments[k].group or arguments[k].name for k in program.written])
        if any(
            self._open.values()
        ):  # entries for open integers name the values that have programs of their own
            self._leave_native()
        family = self._compiled[without_extents(arguments)]
        if len(family) > MOST_STALE:
            stale = next(
                (one for one, _ in family if one is not program and not self._still_valid(one)), None
            )
            if stale is not None:
                self._forget(stale)
        if any(one.kind == "static" and is_object(one.value) for one in arguments):
            self._of_objects.append(program)
        if len(self._of_objects) > MOST_OBJECTS:
            self._forget(self._of_objects.pop(0))
        if len(self._recent) > most_programs():
            native = self._installed
            rarest = next((one for key, one in self._recent.items() if key not in native), program)
            if rarest is not program:
                self._forget(rarest)
                if not self._is_full:
                    self._is_full = True
                    self._log.note("cache", _too_many(most_programs()))
                self._gone.add(_texts(rarest.arguments))
                kept = most_programs()
                self._log.note(
                    "cache",
                    f"forgotten: {_texts(rarest.arguments)} (NESTOR_PROGRAMS: {kept} program{'s' * (kept != 1)} kept)",
                )
        return program, kernel

    def _note_call(self, program: Program) -> None:
        """Python has called a program: others are forgotten before it."""
        recent = self._recent
        if len(recent) > 1 and recent.pop(id(program), None) is not None:
            recent[id(program)] = program

    def _forget_all(self) -> None:
        """Let go of all programs, and of what was learned from them."""
        self._compiled.clear()
        self._of_objects.clear()
        self._recent.clear()
        for found in (self._baked, self._written, self._rigid, self._open, self._gone):
            found.clear()
        self._mutates = None
        self._spreads = False
        self._leave_native()

    def _forget(self, program: Program) -> None:
        """Let go of a program, and of the objects that it was compiled for."""
        family = without_extents(program.arguments)
        rest = [pair for pair in self._compiled[family] if pair[0] is not program]
        self._compiled[family] = rest
        if not rest:
            del self._compiled[family]
        self._of_objects = [one for one in self._of_objects if one is not program]
        self._recent.pop(id(program), None)
        if self._profiles is not None:
            self._profiles.drop(program)
        if id(program) in self._installed:
            self._leave_native()

    def _request(self, types: Types, values: Sequence[Any]) -> disk.Request | None:
        """What is asked of the disk for these arguments; None where nothing is."""
        if any(map(is_open, types)):
            return None
        is_kept = self.target in KEPT and self._on_disk and isinstance(self.function, FunctionType)
        if not is_kept or not disk_cache.is_on() or is_dumping():
            return None
        options: tuple[Any, ...] = (
            self.strict,
            self.boundscheck,
            self.fastmath,
            self.autocast,
            self.quantise,
            self.machine,
            self._writes(),
        )
        if self.strategies:
            options += (self.strategies,)
        if self.target != "cpu":
            options += (self.target,)
        if self._axes is not None:
            options += (sorted(map(repr, self._axes.dims.values())),)
        return disk.Request(self.function, options, self._pattern(types), values)  # pyright: ignore

    def _from_disk(
        self, request: disk.Request | None, types: Types, with_inputs: Callable[[Inputs], Types | None]
    ) -> tuple[Program, Kernel] | None:
        """A program that another process has compiled for this request; `with_inputs` gives the types of all arguments."""

        def fits(program: Program) -> bool:
            if not program.inputs:
                return True
            known = with_inputs(program.inputs) if self._takes_outside else None
            same = known is not None and without_extents(known) == without_extents(program.arguments)
            return same and self._fits(program, known)  # pyright: ignore

        found = None if request is None else disk.load(request, fits)
        if found is None:
            return None
        if isinstance(found, str):
            raise Respecialise(writes=True)
        program = found.program
        kernel = self._kernel_of(found, types, request.values)  # pyright: ignore
        if kernel is None:
            return None
        if found.rigid:
            self._rigid.add(without_extents(program.arguments))
        for name in found.baked:
            self._baked.add(name)
            self._leave_native()
        self._log.note("cache", f"taken from the disk for {_texts(program.arguments)}")
        return self._kept(program, kernel)

    def _kernel_of(self, found: disk.Found, types: Types, values: Sequence[Any]) -> Kernel | None:
        """The kernel of a program that was kept; None where it needs what this process does not have."""
        program = found.program
        if self.target == "cuda":
            from ..call.cuda_kernel import load_cuda, without_elements

            like = without_elements(values)
            return load_cuda(found.forms, found.sites, found.code, lambda: self._built(program, types, like))
        from ....runtime.cpu.object_loader import LoadError
        from ..call.cpu_kernel import load_cpu

        try:
            return load_cpu(found.code, program.name, found.forms, found.sites, found.frozen, found.calls)
        except LoadError:
            return None

    def _built(self, program: Program, types: Types, values: Sequence[Any]) -> Any:
        """The kernel of a program, compiled again."""
        from .stages import build

        with COMPILING, self._log.quiet():
            again, *_ = self._lower(program.arguments, types, values)
            return build(again.module, again.name, self.target, machine=self.machine)[0]

    def _pattern(self, types: Types) -> Types:
        """The types to compile for: which extents are left open."""
        family = without_extents(types)
        if self.dynamic is False or family in self._rigid:
            return types
        every = [(k, axis) for k, t in enumerate(types) for axis in range(len(t.extents))]
        if self._fixing is not None:
            return types if self._fixing.is_hot else self._named(self._fixing.pattern(types))
        if self.dynamic is True or (self._profiles is not None and self._profiles.is_watching):
            return self._named(generalised(types, every))
        base = self._named(types)
        earlier = [p.arguments for p, _ in self._compiled.get(family, ())]
        differ = {
            (k, axis)
            for k, axis in every
            for seen in earlier
            if seen[k].extents[axis] != types[k].extents[axis]
        }
        if not differ:
            return base
        pattern = self._named(generalised(types, differ))
        # The same open extents have been tried, and a guard failed: compile for these extents.
        return (
            base
            if any([a.extents for a in seen] == [p.extents for p in pattern] for seen in earlier)
            else pattern
        )

    # ---- what calls have in common ---------------------------------------------------------------------

    @contextmanager
    def _fixing_as(self, fixed: Fixed | None) -> Iterator[None]:
        """Look for the programs of such calls."""
        before, self._fixing = self._fixing, fixed
        try:
            yield
        finally:
            self._fixing = before

    def _fixed_types(
        self, names: Sequence[str], values: Sequence[Any], groups: Sequence[str | None]
    ) -> Types:
        """The types of arguments, with the values in them that the program which is looked for is for."""
        types = self._types(names, values, groups)
        return types if self._fixing is None else self._fixing.types(types)

    def _decided(self, types: Types, values: Sequence[Any]) -> Fixed | None:
        """What the program of a call is for, which has been noted."""
        assert self._profiles is not None
        if self._profiles.is_open(types):
            is_for_each = self.dynamic is False
            every = [(k, axis) for k, t in enumerate(types) for axis in range(len(t.extents))]
            open_types = generalised(types, every) if is_for_each else self._named(types)
            if self._profiles.watched(types, open_types, values):
                self._note_branches(types)
                self._begin_again()
        return self._profiles.of(types, values)

    def _begin_again(self) -> None:
        """Let calls look for their programs again: there are others."""
        self._leave_native()

    def _put_first(self, program: Program) -> None:
        """Let calls find the program that was made for what they have in common before all others."""
        assert self._fixing is not None
        family = self._compiled[without_extents(program.arguments)]
        family.sort(key=lambda pair: pair[0] is not program)
        self._fixing.programs.append(program)
        self._begin_again()

    def _named(self, types: Types) -> Types:
        """The types with those extents unknown that have names."""
        return types if self._axes is None else self._axes.named(types)

    def _lower(
        self, pattern: Types, types: Types, values: Sequence[Any], inputs: Inputs = NO_INPUTS
    ) -> tuple[Program, Types, Sequence[Any]]:
        """The program for `pattern`, and the types and values of all of its arguments. Where arrays from outside cannot
        be arguments of it, for something has to be known of them, those of a few integers are compiled in, or all."""
        outside = self._under_way(types, values, inputs)
        try:
            return self._lowered(pattern, types, values, outside)
        except NestorError as error:
            if outside is None or not outside.inputs:
                raise
            first, count = error, len(types) - len(inputs)
        found = outside.values[count:]
        for compiled_in in (are_few_integers, lambda _: True):
            if not any(map(compiled_in, found)):
                continue
            try:
                again = self._under_way(types[:count], values[:count], (), compiled_in)
                return self._lowered(pattern[:count], types[:count], values[:count], again)
            except NestorError:
                pass
        raise first

    def _lowered(
        self, pattern: Types, types: Types, values: Sequence[Any], outside: OutsideArrays | None
    ) -> tuple[Program, Types, Sequence[Any]]:
        from ....dialects.remarks import listening
        from ...script.program import lower

        source = source_of(self.function)
        flagged: frozenset[Any] = frozenset()
        dims = {**({} if self._axes is None else self._axes.dims), **dims_in(values)}
        for _ in range(MAX_ATTEMPTS):
            attempted = pattern
            try:
                said: list[Diagnostic] = []
                with listening(said.append):
                    program = lower(
                        source,
                        pattern,
                        may_write=self._writes(),
                        boundscheck=self.boundscheck,
                        outside=outside,
                        flagged=flagged,
                        dims=dims,
                    )
                program.remarks += said
                _grant(program.module, self.fastmath, self.autocast, self.quantise)
                if self.strategies:
                    _give_strategies(program.module, self.strategies)
                return program, *((types, values) if outside is None else (outside.types, outside.values))
            except Respecialise as request:
                self._log.note("compile", _more_text(request, pattern))
                if request.writes or request.objects:
                    raise
                if outside is not None:
                    pattern, types, values = outside.joined(pattern), outside.types, outside.values
                if request.shapes and attempted == types:
                    raise UnsupportedError(
                        f"{request.why}: this is known at run time only",
                        request.place,
                        hint="compute it from the shapes of arguments, or pass it as an integer of Python",
                    ) from None
                flagged |= request.unbound
                if not request.overlap and not request.unbound:
                    pattern, types = self._more_known(request, pattern, types, values)
                if outside is not None:
                    outside.types = types
        raise AssertionError("lowering keeps asking for more compile-time values")

    def _more_known(
        self,
        request: Respecialise,
        pattern: Types,
        types: Types,
        values: Sequence[Any],
    ) -> tuple[Types, Types]:
        if request.shapes:
            if any(e is not None and not isinstance(e, int) for t in types for e in t.extents):
                raise UnsupportedError(
                    f"{request.why}, and the specs leave extents unknown",
                    hint="give these extents in nt.spec",
                )
            self._rigid.add(without_extents(types))
            return types, types
        changed = list(pattern)
        for position in request.arguments:
            name = pattern[position].name
            if isinstance(values[position], ScalarSpec):
                raise UnsupportedError(
                    f"argument '{name}': {request.why}", hint=f"pass a value for '{name}' instead of a spec"
                )
            self._baked.add(name)
            self._leave_native()
            changed[position] = static_type(name, values[position], pattern[position].group)
        static = [changed[k] if changed[k].kind == "static" else t for k, t in enumerate(types)]
        return tuple(changed), tuple(static)


def _texts(arguments: Sequence[ArgumentType]) -> str:
    """What arguments are, for people."""
    return ", ".join(map(str, arguments)) or "no arguments"


def _open_text(arguments: Sequence[ArgumentType]) -> str:
    """The extents that a program takes as they come."""
    names = dict.fromkeys(e for one in arguments for e in one.extents if isinstance(e, str))
    return f"any {', '.join(names)}" if names else ""


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _more_text(request: Respecialise, pattern: Types) -> str:
    """What every program has to know from now on."""
    why = f": {request}" if str(request) else ""
    if request.shapes:
        return f"extents must be known, a program for each shape{why}"
    if request.arguments:
        names = ", ".join(pattern[k].name for k in sorted(request.arguments))
        return f"the value of {names} must be known, a program for each value{why}"
    if request.writes or request.overlap:
        return f"which arrays share memory must be known, for the function writes to them{why}"
    if request.objects:
        return f"what is in objects must be known{why}"
    return f"whether variables are set must be known{why}"


def calls_python(module: Any, target: str) -> bool:
    """Whether a program prints or calls functions of Python."""
    from xdsl.dialects.func import CallOp

    from ....dialects.custom_call_names import CUDA, LANGUAGE

    code = CUDA if target.startswith("cuda") else LANGUAGE
    return any(
        (isinstance(op, CallOp) and not op.callee.string_value().startswith(RAISE))
        or (
            op.name == "nt.custom_call"
            and code not in op.properties["arguments"].data
            and not _is_replaced(op)
        )
        for op in module.walk()
    )


def _is_replaced(op: Any) -> bool:
    """Whether a decomposition takes the place of a call."""
    from ....dialects.attributes import NT_NATIVE

    users = [use.operation for result in op.results for use in result.uses]
    return bool(users) and all(NT_NATIVE in user.attributes for user in users)


def most_programs() -> int:
    """How many programs of a function are kept: NESTOR_PROGRAMS, a positive number."""
    text = os.environ.get("NESTOR_PROGRAMS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else MOST_PROGRAMS


def _too_many(most: int) -> str:
    """What to say once where programs are forgotten."""
    return (
        f"more than {most} program{'s' * (most != 1)}: each call that one was forgotten for compiles again. Shapes: "
        "dynamic=True; values: pass them as arrays or floats; else NESTOR_PROGRAMS=1000 keeps more"
    )


def be_strict(remarks: Sequence[Diagnostic], also_slow: bool) -> None:
    """Raise the first warning (that Python runs a part) as an error, the others as notes; remarks too if `also_slow`."""
    said = [r for r in remarks if also_slow or r.severity == "warning"]
    if not said:
        return
    first, *others = said
    raise UnsupportedError(
        f"strict: {first.message}",
        first.location,
        hint=first.hint or "leave `strict` out where this may be so",
        notes=[*first.notes, *others],
    )


def _give_strategies(module: Any, texts: tuple[str, ...]) -> None:
    """Note the user's strategies on a module."""
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

    module.attributes[STRATEGIES] = ArrayAttr([StringAttr(text) for text in texts])


def _grant(
    module: Any, flags: tuple[str, ...], autocast: str | None, quantise: str | Calibration | None
) -> None:
    """Note on the functions which IEEE guarantees their user gives up, and how products may be rounded."""
    if not flags and autocast is None and quantise is None:
        return
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

    quantised = StringAttr(quantise) if isinstance(quantise, str) else quantise and quantise.attribute()
    if not isinstance(quantise, str | None):
        quantise.check_lines(module)
    for function in module.body.block.ops:
        if flags:
            function.attributes[NT_FASTMATH] = ArrayAttr([StringAttr(flag) for flag in flags])
        if autocast is not None:
            function.attributes[NT_AUTOCAST] = StringAttr(autocast)
        if quantise is not None:
            function.attributes[NT_QUANTISE] = quantised
