"""What a jitted function is compiled to: a program for each kind of arguments, and how it comes to one.

Arguments are known here by their types (`argument_types.py`): which extents are open, which values are baked in, what the
disk has. Nothing here imports xDSL or LLVM before something is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from ....dialects.attributes import NT_FASTMATH
from ....dialects.diagnostic import Diagnostic
from ....lowering.abi.error_codes import RAISE
from ....runtime import disk_cache
from ....runtime.cpu import fast_call
from ....runtime.fork_lock import QuietLock
from ...interface.argument_types import ArgumentType, binding, generalised, static_type, without_extents
from ...interface.errors import Respecialise, UnsupportedError
from ...interface.source import source_of
from ...interface.spec import ScalarSpec
from ...interface.static_values import is_object
from ..disk import stored_programs as disk
from .arguments import seems_to_write
from .options import dynamic_mode, fastmath_flags, machine_name

if TYPE_CHECKING:
    from ...interface.program_parts import Program
    from .stages import Kernel

COMPILING = QuietLock()
"""Held while anything is compiled: threads that call a function at the same time get one program, compiled once."""

MOST_OBJECTS = 64
"""Maximum number of programs kept that were compiled for one object, an argument whose attributes are read."""

MOST_STALE = 64
"""Maximum number of programs for one kind of arguments; beyond, those are dropped whose outside values have changed."""

MAX_ATTEMPTS = 16
"""Maximum number of rounds of lowering, each with more known at compile time."""


class Specialiser(fast_call.NativeCallable):
    """A function, the options that it is compiled with, and its programs.

    What lowering finds out (an argument is written, a value must be known) holds for every later program; the native
    entries of those before are forgotten then.
    """

    _on_disk: ClassVar[bool] = True
    """Whether programs are kept for other processes."""

    def __init__(
        self,
        function: Callable[..., Any],
        target: str,
        dynamic: bool | str | None,
        fastmath: bool | Iterable[str],
        strict: bool,
        boundscheck: bool,
        machine: str | None = None,
    ):
        self.function = function
        self.target = target
        self.dynamic = dynamic_mode(dynamic)
        self.strict = strict
        self.boundscheck = bool(boundscheck)
        self.fastmath = fastmath_flags(fastmath)
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
        self._rigid: set[Any] = set()
        self._log: list[str] = []
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

    def _find(self, types: tuple[ArgumentType, ...]) -> tuple[Program, Kernel] | None:
        """A compiled program that serves these extents."""
        for program, kernel in self._compiled.get(without_extents(types), ()):
            extents = binding(program.arguments, types)
            if extents is None or not self._still_valid(program):
                continue
            if all(guard.holds(extents) for guard in program.guards):
                return program, kernel
        return None

    def _compile_for(self, types: tuple[ArgumentType, ...], values: Sequence[Any]) -> tuple[Program, Kernel]:
        from ....dialects.diagnostic import LoweringError
        from ....dialects.remarks import listening
        from .stages import build

        request = self._request(types, values)
        baked, rigid = set(self._baked), without_extents(types) in self._rigid
        program = self._lower(self._pattern(types), types, values)
        try:
            with listening(program.remarks.append):
                kernel, _ = build(program.module, program.name, self.target, machine=self.machine)
        except LoweringError as error:
            if [a.extents for a in program.arguments] == [t.extents for t in types]:
                raise
            # Nobody asked for unknown extents: what cannot be compiled for all of them is compiled for these.
            self._log.append(f"compiled again with more known: {error.diagnostic.message}")
            self._rigid.add(without_extents(types))
            return self._compile_for(types, values)
        if program.may_change and calls_python(program.module) and getattr(kernel, "sites", True):
            raise UnsupportedError(
                "a function that changes objects of its arguments, prints or calls Python, and may raise is not supported: "
                "what it had changed before could not be told",
                hint="print around the call, or return the values and assign them there",
            )
        if self.strict and program.remarks:
            raise _strictness(program.remarks)
        if request is not None:
            is_rigid = not rigid and without_extents(program.arguments) in self._rigid
            reason = disk.store(request, program, kernel, baked=sorted(self._baked - baked), rigid=is_rigid)
            if reason is not None:
                self._log.append(f"not kept on the disk: {reason}")
        return self._kept(program, kernel)

    def _kept(self, program: Program, kernel: Kernel) -> tuple[Program, Kernel]:
        """A program that was made, which calls find from now on."""
        arguments = program.arguments
        self._compiled.setdefault(without_extents(arguments), []).append((program, kernel))
        self._written.update([arguments[k].group or arguments[k].name for k in program.written])
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
        return program, kernel

    def _forget_all(self) -> None:
        """Let go of all programs, and of what was learned from them."""
        self._compiled.clear()
        self._of_objects.clear()
        for found in (self._baked, self._written, self._rigid):
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
        self._leave_native()

    def _request(self, types: tuple[ArgumentType, ...], values: Sequence[Any]) -> disk.Request | None:
        """What is asked of the disk for these arguments; None where nothing is."""
        is_kept = self.target == "cpu" and self._on_disk and isinstance(self.function, FunctionType)
        if not is_kept or not disk_cache.is_on():
            return None
        options = (self.strict, self.boundscheck, self.fastmath, self.machine, self._writes())
        return disk.Request(self.function, options, self._pattern(types), values)  # pyright: ignore

    def _from_disk(
        self, request: disk.Request | None, types: tuple[ArgumentType, ...]
    ) -> tuple[Program, Kernel] | None:
        """A program that another process has compiled for this request."""
        found = None if request is None else disk.load(request)
        if found is None:
            return None
        if isinstance(found, str):
            raise Respecialise(writes=True)
        from ....runtime.cpu.object_loader import LoadError
        from ..call.cpu_kernel import load_cpu

        program = found.program
        try:
            kernel = load_cpu(found.code, program.name, found.forms, found.sites, found.frozen)
        except LoadError:  # it needs what this process does not have
            return None
        if found.rigid:
            self._rigid.add(without_extents(program.arguments))
        for name in found.baked:
            self._baked.add(name)
            self._leave_native()
        self._log.append(
            f"taken from the disk for {', '.join(map(str, program.arguments)) or 'no arguments'}"
        )
        return self._kept(program, kernel)

    def _pattern(self, types: tuple[ArgumentType, ...]) -> tuple[ArgumentType, ...]:
        """The types to compile for: which extents are left open."""
        family = without_extents(types)
        if self.dynamic is False or family in self._rigid:
            return types
        every = [(k, axis) for k, t in enumerate(types) for axis in range(len(t.extents))]
        if self.dynamic is True:
            return generalised(types, every)
        earlier = [p.arguments for p, _ in self._compiled.get(family, ())]
        differ = {
            (k, axis)
            for k, axis in every
            for seen in earlier
            if seen[k].extents[axis] != types[k].extents[axis]
        }
        if not differ:
            return types
        pattern = generalised(types, differ)
        # The same open extents have been tried, and a guard failed: compile for these extents.
        return (
            types
            if any([a.extents for a in seen] == [p.extents for p in pattern] for seen in earlier)
            else pattern
        )

    def _lower(
        self, pattern: tuple[ArgumentType, ...], types: tuple[ArgumentType, ...], values: Sequence[Any] | None
    ) -> Program:
        from ...script.program import lower

        source = source_of(self.function)
        for _ in range(MAX_ATTEMPTS):
            try:
                program = lower(source, pattern, may_write=self._writes(), boundscheck=self.boundscheck)
                _grant_fastmath(program.module, self.fastmath)
                self._log.append(f"compiled for {', '.join(map(str, pattern)) or 'no arguments'}")
                return program
            except Respecialise as request:
                self._log.append(f"compiled again with more known: {request}")
                if request.writes or request.objects:
                    raise
                pattern, types = self._more_known(request, pattern, types, values)
        raise AssertionError("lowering keeps asking for more compile-time values")

    def _more_known(
        self,
        request: Respecialise,
        pattern: tuple[ArgumentType, ...],
        types: tuple[ArgumentType, ...],
        values: Sequence[Any] | None,
    ) -> tuple[tuple[ArgumentType, ...], tuple[ArgumentType, ...]]:
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
            if values is None or isinstance(values[position], ScalarSpec):
                raise UnsupportedError(
                    f"argument '{name}': {request.why}", hint=f"pass a value for '{name}' instead of a spec"
                )
            self._baked.add(name)
            self._leave_native()
            changed[position] = static_type(name, values[position], pattern[position].group)
        static = [changed[k] if changed[k].kind == "static" else t for k, t in enumerate(types)]
        return tuple(changed), tuple(static)


def calls_python(module: Any) -> bool:
    """Whether a program prints or calls functions of Python."""
    from xdsl.dialects.func import CallOp

    return any(
        (isinstance(op, CallOp) and not op.callee.string_value().startswith(RAISE))
        or op.name == "nt.custom_call"
        for op in module.walk()
    )


def _strictness(remarks: Sequence[Diagnostic]) -> UnsupportedError:
    """What strict=True says: the first remark as an error, the others as notes."""
    first, *others = remarks
    return UnsupportedError(
        f"strict: {first.message}", first.location, hint=first.hint, notes=[*first.notes, *others]
    )


def _grant_fastmath(module: Any, flags: tuple[str, ...]) -> None:
    """Note on the function which IEEE guarantees its user gives up."""
    if not flags:
        return
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

    for function in module.body.block.ops:
        function.attributes[NT_FASTMATH] = ArrayAttr([StringAttr(flag) for flag in flags])
