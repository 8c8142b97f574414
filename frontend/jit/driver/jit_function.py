"""What `nt.jit` gives: a Python function compiled for the types it is called with.

Nothing here imports xDSL or LLVM: a call whose specialisation exists touches dictionaries and the kernel only.
"""

from __future__ import annotations

import ast
import functools
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dialects.diagnostic import NestorError
from ....dialects.tracebacks import boundary, leave
from ....runtime.collector import collector_paused
from ....runtime.cpu import fast_call
from ...interface.argument_types import (
    ArgumentType,
    generalised,
    is_open,
    without_extents,
)
from ...interface.carried_texts import Texts, note_texts
from ...interface.errors import DTypeError, Respecialise, UnsupportedError
from ...interface.forwarders import ABOUT, RECIPE, Recipe, forwarded, opened_parameters
from ...interface.outside_arrays import NO_INPUTS, Inputs, can_be_input
from ...interface.parameters import as_called
from ...interface.pickling import Pickled
from ...interface.source import definition_of, source_of
from ...interface.structures import Seen
from ...interface.texts_of import texts_of
from ..call.invoke import Invocation
from ..chunked.detection import has_dask
from ..chunked.labelled import has_labels, labelled_call, without_labels
from ..disk import stored_programs as disk
from ..specialise import progress
from ..specialise.arguments import (
    Default,
    is_long,
    key_of,
    overlaps,
    parts_of_function,
    plain_function,
    signature_of,
)
from ..specialise.opened_integers import as_of, values_with_programs
from ..specialise.options import constant_names, given_axes, named_axes, static_names
from ..specialise.profiles import Fixed, extents_of, profiles_of
from ..specialise.specialiser import COMPILING, Specialiser, Types
from .adoption import (
    LIBRARIES,
    Adoption,
    Leaves,
    LeavesOfLibrary,
    leaves_of_library,
)
from .autocasting import variant
from .call_arguments import CallArguments
from .fallback import Fallback, Unserved, fallback_mode
from .late_exceptions import can_run, is_pythons, refusal_of, run_instead
from .nan_watch import is_watched, watched_call
from .native_pause import may_be_native
from .plain_calls import is_plain, plain_call

if TYPE_CHECKING:
    from pathlib import Path

    from ...interface.calibrations import Calibration
    from ...interface.program_parts import Program
    from ..explain.explanation import Explanation
    from ..specialise.stages import Kernel
    from .lowered import Lowered

MAX_SIGNATURES = 4096
"""Call signatures remembered per function; beyond, all are forgotten (compiled programs are kept)."""

_ADOPTING: ContextVar[bool] = ContextVar("ADOPTING", default=False)
"""Whether the arguments of the call are copies in which arrays of other libraries were replaced."""

LONG = 1e-4
"""Release the GIL for kernels that take at least this many seconds."""

MOST_INPUTS = 16
"""Maximum number of programs for one kind of arguments whose arrays from outside are looked at for a call."""

MAKERS: dict[str, Callable[..., JitFunction]] = {}
"""What makes functions for a target that has a class of its own (`jit.py`)."""

PATIENCE = 32
"""Compile the native call wrapper after this many calls of a specialisation."""


class JitFunction(Specialiser, CallArguments, Pickled):
    """A function and its specialisations. Made by `nt.jit`.

    Calls run in Python until a specialisation has been used again; then those that fit it are native
    (`runtime/cpu/fast_call.py`), and `__call__` is what answers the others.
    """

    _libraries = LIBRARIES

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        target: str = "cpu",
        dynamic: bool | str | Mapping[str, Mapping[int, Any]] | None = None,
        static_argnums: int | Iterable[int] = (),
        static_argnames: str | Iterable[str] = (),
        fastmath: bool | Iterable[str] = False,
        strict: bool | str = False,
        boundscheck: bool = True,
        constants: str | Iterable[str] = (),
        machine: str | None = None,
        fallback: str | None = None,
        profile: bool = False,
        hot_sizes: bool = False,
        autocast: str | None = None,
        quantise: str | Calibration | None = None,
        strategies: str | Path | Iterable[str | Path] = (),
    ):
        function = function.function if isinstance(function, JitFunction) else plain_function(function)
        functools.update_wrapper(self, function)
        super().__init__(
            function, target, dynamic, fastmath, strict, boundscheck, machine, autocast, quantise, strategies
        )
        mode = fallback_mode(fallback, strict, target)
        name = getattr(function, "__name__", "the function")
        self._fallback = None if mode is None else Fallback(mode, name, self._log.note)
        self._profiles = profiles_of(profile, hot_sizes, self.dynamic, target, self._log.note)
        self._dynamic_given = given_axes(dynamic)
        given = (static_argnums, static_argnames, constants)
        self._static_options = [one if isinstance(one, int | str) else tuple(one) for one in given]
        self._invocations: dict[Any, Invocation] = {}
        self._inputs: dict[Any, Inputs] = {}
        """Which arrays from outside a call takes, by its signature; nothing for those that take none."""
        self._families: dict[Any, list[Program]] = {}
        """The programs that take arrays from outside, by the types of the other arguments."""
        self._hits = 0
        self._take_signature()

    def _take_signature(self) -> None:
        """Read the parameters of the function, and their defaults."""
        static_argnums, static_argnames, constants = self._static_options
        self._parts = self._present_parts()
        self._take_parameters(signature_of(self.function))
        self._can_be_native = (
            self.target == "cpu"
            and type(self).__call__ is JitFunction.__call__
            and not any(
                p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in self.signature.parameters.values()
            )
        )
        self._static = static_names(self._names, static_argnums, static_argnames)
        self._axes = named_axes(self._dynamic_given, self._names)
        self._constants = constant_names(self._names, constants, self._static)
        self._opened = opened_parameters(self.function)

    def _present_parts(self) -> list[Any]:
        """What the function consists of that can be replaced."""
        return parts_of_function(self.function)

    def _look_again(self) -> None:
        """Begin anew where the function has got other code or defaults."""
        parts = self._present_parts()
        if len(parts) == len(self._parts) and all(map(operator.is_, parts, self._parts)):
            return
        with COMPILING:
            self._forget_all()
            self._invocations.clear()
            self._take_signature()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._fallback is None:
                return self._call(args, kwargs)
            return self._call_or_fall_back(args, kwargs)
        except Exception as error:
            leave(error, sys._getframe(1))
            raise

    def _call_or_fall_back(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Answer a call by a program, or by the plain function where there is none."""
        assert self._fallback is not None
        try:
            return self._call(args, dict(kwargs))
        except Unserved as unserved:
            refusal = unserved.refusal
        if "out" in kwargs and not self._has_out:  # the plain function takes none
            if refusal is not None:
                raise refusal
            return self._call(args, kwargs, now=True)
        self._fallback.warn(refusal)
        return self.function(*args, **kwargs)

    def _call_in_chunks(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Answer a call with Dask arrays. Raises Unserved as `_call`."""
        from ..chunked.dask_arrays import chunked_call

        try:
            return chunked_call(self, args, kwargs)
        except UnsupportedError as refusal:
            raise self._unserved(refusal) from None

    def _call(self, args: tuple, kwargs: dict[str, Any], now: bool = False) -> Any:
        """Answer a call by a program. Raises Unserved where the plain function is to answer it: nothing has run then."""
        if (other := variant(self)) is not self:
            return other._call(args, kwargs, now)
        self._look_again()
        if has_labels(args, kwargs) and not is_plain(self.function):
            return labelled_call(self, args, kwargs)
        if has_dask(args, kwargs) and not is_plain(self.function):
            return self._call_in_chunks(args, kwargs)
        try:
            adopted = self._adoption(args, kwargs)
        except UnsupportedError as refusal:
            raise self._unserved(refusal) from None
        if adopted is not None:
            return self._call_adopted(adopted)
        if is_plain(self.function):
            return plain_call(self.function, args, kwargs, self._has_out)
        if is_watched():
            return watched_call(self, args, kwargs)
        keywords = dict(kwargs) if kwargs else {}
        out = None if self._has_out or not kwargs else kwargs.pop("out", None)
        try:
            leaves: Leaves = self._leaves(args, kwargs)
        except UnsupportedError as refusal:
            raise self._unserved(refusal) from None
        key = asked = self._signature_key(leaves[0], leaves[1])
        call: Leaves | None = leaves
        if self._inputs and (inputs := self._inputs.get(asked)) is not None:
            call = self._with_inputs(leaves, inputs)
            key = None if call is None else (inputs.key, self._signature_key(call[0], call[1]))
        invocation = self._invocations.get(key)
        if call is None or invocation is None or not self._still_valid(invocation.program):
            if invocation is not None and not self._still_valid(invocation.program):
                self._log.tell("guards", "what it reads outside has changed")
            symbol = next((v for v in leaves[1] if hasattr(type(v), "called_by_trace")), None)
            # A traced function calls this one: its source is compiled instead of the call.
            if symbol is not None:
                return symbol.called_by_trace(self, args, keywords)
            try:
                invocation, call = self._served(asked, leaves, now)
            except Respecialise as request:  # the attributes of objects are wanted
                self._learn(request)
                return self(*args, **keywords) if self._fallback is None else self._call(args, keywords, now)
            except NestorError as error:
                is_possible = out is None and not self.strict and not _ADOPTING.get()
                if not is_possible or not is_pythons(error, self.function, self.target):
                    raise
                return run_instead(error, self.function, args, kwargs, self._log.note)
        else:
            self._hits += 1
            self._note_call(invocation.program)
            if self._profiles is not None and self._profiles.count(key, invocation.program):
                self._profiles.heat(
                    getattr(self, "__name__", "a function"), lambda: self._make_hot(asked, leaves)
                )
        if invocation.touches:
            return self._call_with_objects(invocation, call[1], out, args, kwargs)
        result = self._answer(invocation, call, out)
        if _is_time(invocation) and type(call) is tuple:
            self._install(invocation, leaves, call[1], args, keywords)
        return result

    def _served(self, asked: Any, leaves: Leaves, now: bool) -> tuple[Invocation, Leaves]:
        """How a call is answered that is not known yet. Raises Unserved where the plain function is to answer it."""
        fallback = self._fallback
        if fallback is None:
            with COMPILING, collector_paused():
                return self._specialise(asked, leaves)
        refusal = fallback.is_known(asked)
        if refusal is not None:
            raise Unserved(refusal)
        if fallback.later and not now:
            fallback.make(asked, lambda: self._make(asked, leaves))
            raise Unserved(None)
        try:
            with COMPILING, collector_paused():
                found = self._specialise(asked, leaves)
        except NestorError as error:
            fallback.refuse(asked, error)
            raise Unserved(error) from None
        fallback.accept(asked)
        return found

    def _make(self, asked: Any, leaves: Leaves) -> None:
        """Make the program of a call, for later ones: what a thread does."""
        try:
            with COMPILING, collector_paused():
                self._specialise(asked, leaves)
        except Respecialise as request:  # the next call has the attributes of objects among its leaves
            self._learn(request)

    def _unserved(self, refusal: UnsupportedError) -> Exception:
        """What to raise for a call that is refused before anything has run."""
        return refusal if self._fallback is None else Unserved(refusal)

    def bound(self, *args: Any) -> tuple[Invocation, list[Any]]:
        """The program for a call with these arguments, and the values that it takes for them.

        Whoever runs it looks at nothing outside again: what was read there is compiled in, or among the values.
        """
        self._look_again()
        leaves = self._leaves(args, {})
        try:
            with COMPILING, collector_paused():
                invocation, call = self._specialise(self._signature_key(leaves[0], leaves[1]), leaves)
        except Respecialise as request:  # the attributes of objects are wanted
            self._learn(request)
            return self.bound(*args)
        return invocation, list(call[1])

    def _call_with_objects(
        self, invocation: Invocation, values: Sequence[Any], out: Any, args: tuple, kwargs: dict[str, Any]
    ) -> Any:
        """A call that changes or returns lists, dicts or objects of the caller. Where it raises, Python runs the function
        on them once more, and leaves them as it does."""
        seen = Seen()
        self._bound_leaves(args, kwargs, seen)
        program, everything = invocation.program, [*values, *seen.objects]
        if not program.may_change:
            return invocation(everything, out)
        if _ADOPTING.get():
            raise self._unserved(
                UnsupportedError(
                    "a function that changes lists, dicts or objects of its arguments cannot be given arrays of other "
                    "libraries",
                    hint="pass NumPy arrays: np.asarray(x)",
                )
            )
        owners = {id(read.owner) for read in (*program.captured, *program.inputs)}
        for change in program.changes:
            if id(seen.objects[change.number]) in owners:
                raise self._unserved(
                    UnsupportedError(
                        f"a {change.kind.__name__} of the arguments is changed, and the function reads it from outside too",
                        hint="use the argument only",
                    )
                )
        before = [(values[k], values[k].copy()) for k in program.written]
        try:
            return invocation(everything, out)
        except Exception as error:
            for array, copy in before:
                invocation.copy_to(array, copy)
            try:
                result = self.function(*args, **kwargs)
            except Exception as again:
                if not isinstance(error, type(again)):
                    raise
            else:
                if out is None:
                    return result
            raise

    def _answer(self, invocation: Invocation, call: Leaves, out: Any) -> Any:
        """Run a program; where arrays from outside are of another library, results are in its kind."""
        if isinstance(call, LeavesOfLibrary):
            return call.results(invocation.program, lambda: invocation(call[1], out))
        return invocation(call[1], out)

    def __del__(self) -> None:
        # What the entries hold may be gone before the last call that some other finaliser makes.
        # Where the interpreter ends, so may be the modules: this needs none of them.
        self._can_be_native = False
        if getattr(self, "_words", None) is not None:
            self._words[0] = 0

    # ---- pickling: no program, no count and no lock leaves the process --------------------------------

    def _source(self) -> Any:
        """What it was made from: a function, or what was called for one."""
        own = getattr(self.function, "__dict__", {})
        return own.get(RECIPE) or forwarded(self.function) or self.function

    def _functions(self) -> list[Any]:
        source = self._source()
        return [source.function if isinstance(source, Recipe) else source]

    def _pickled_as(self, by_value: bool = True) -> tuple[Any, ...]:
        return self._source(), self.given_options(), texts_of(self._functions()) if by_value else {}

    def _take(self, source: Any, options: dict[str, Any], texts: Texts) -> None:
        note_texts(texts)
        type(self).__init__(self, source.made() if isinstance(source, Recipe) else source, **options)

    def _made_by(self) -> Any:
        return _made_again if isinstance(self._source(), Recipe) else None

    def given_options(self) -> dict[str, Any]:
        """The options of `nt.jit` that make it again: those that are not what `nt.jit` takes by itself."""
        static_argnums, static_argnames, constants = self._static_options
        given = {
            "target": self.target,
            "dynamic": self.dynamic if self._axes is None else self._dynamic_given,
            "static_argnums": static_argnums,
            "static_argnames": static_argnames,
            "fastmath": self.fastmath or False,
            "strict": self.strict,
            "boundscheck": self.boundscheck,
            "constants": constants,
            "machine": self.machine,
            "fallback": None if self._fallback is None else self._fallback.mode,
            "profile": self._profiles is not None and self._profiles.is_watching,
            "hot_sizes": self._profiles is not None and self._profiles.counts_sizes,
            "autocast": self.autocast,
            "quantise": self.quantise,
            "strategies": self.strategies,
        }
        known = JitFunction.__init__.__kwdefaults__ or {}
        return {name: value for name, value in given.items() if value != known[name]}

    def __dask_tokenize__(self) -> Any:
        from ...interface.dask_tokens import token_of

        return token_of(self)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def options(self) -> dict[str, Any]:
        """The options that it was made with, for another function that is made of it: all but `fallback`, which is to the
        plain function."""
        profiles = self._profiles
        return {
            "target": self.target,
            "dynamic": self.dynamic if self._axes is None else self._dynamic_given,
            "static_argnames": tuple(sorted(self._static)),
            "fastmath": self.fastmath,
            "strict": self.strict,
            "boundscheck": self.boundscheck,
            "constants": tuple(sorted(self._constants)),
            "machine": self.machine,
            "profile": profiles is not None and profiles.is_watching,
            "hot_sizes": profiles is not None and profiles.counts_sizes,
            "autocast": self.autocast,
            "quantise": self.quantise,
            "strategies": self.strategies,
        }

    def for_target(self, target: str) -> JitFunction:
        """The same function for another target. Raises DTypeError where that has not its options."""
        return self.again(target=target)

    def again(self, **others: Any) -> JitFunction:
        """The same function with other options."""
        mode = None if self._fallback is None else self._fallback.mode
        options = {**self.options(), "fallback": mode, **others}
        return MAKERS.get(options["target"], JitFunction)(self.function, **options)

    def __repr__(self) -> str:
        return f"<nt.jit of {getattr(self.function, '__qualname__', self.function)}>"

    # ---- arguments ----------------------------------------------------------------------------------

    def _call_adopted(self, adopted: Adoption) -> Any:
        """Answer a call with arrays of other libraries: as any other, with its results in their kind."""
        token = _ADOPTING.set(True)
        try:
            if self._fallback is None:
                result = self(*adopted.args, **adopted.kwargs)
            else:  # refused: the plain function is given the arrays as they came
                result = self._call(adopted.args, adopted.kwargs)
        finally:
            _ADOPTING.reset(token)
            adopted.note_writes(self._written if self._has_out else {*self._written, "out"})
        return adopted.results(result)

    def _locate(self, error: UnsupportedError, parameter: str) -> None:
        """Say of an error where the parameter is that it is about."""
        source = source_of(self.function)
        found = (n for n in ast.walk(source.node.args) if isinstance(n, ast.arg) and n.arg == parameter)
        error.diagnostic.location = source.place(next(found, source.node))

    def _misfit(self, error: TypeError) -> DTypeError:
        place = definition_of(self.function) if hasattr(self.function, ABOUT) else None
        name = self.function.__name__
        hint = f"its parameters: {name}{as_called(self.signature)}"
        misfit = DTypeError(f"{name}() {error}", place, hint=hint)
        misfit.is_misfit = True
        return misfit

    def _signature_key(self, names: Sequence[str], values: Sequence[Any]) -> Any:
        """What decides which specialisation runs, cheaply."""
        writes = self._writes()
        mutates = writes or bool(self._constants)
        parts: list[Any] = []
        arrays = 0
        for name, value in zip(names, values, strict=True):
            if isinstance(value, np.ndarray):
                flags = value.flags
                arrays += 1
                parts.append(
                    (
                        type(value),
                        value.dtype,
                        value.shape,
                        flags.c_contiguous or value.strides,
                        not mutates or flags.writeable,
                    )
                )
            elif isinstance(value, Default):
                parts.append(Default)
            elif name in self._baked or name in self._static or is_long(value):
                parts.append(key_of(value))
            elif self._profiles is not None and type(value) in (int, bool):
                parts.append(self._profiles.key_of(name, value))
            elif type(value) in (int, float, bool, complex):
                parts.append(type(value))
            elif isinstance(value, np.generic):
                parts.append(value.dtype)
            else:
                parts.append(key_of(value))
        if writes and arrays > 1:
            parts.append(overlaps(values))
        return tuple(parts)

    # ---- specialisation -----------------------------------------------------------------------------

    def _with_inputs(self, leaves: Leaves, inputs: Inputs) -> Leaves | None:
        """The leaves of a call, and the arrays that are found outside; None where something else is found there."""
        found = inputs.present()
        names, values, groups = leaves
        more = [*groups, *[None] * len(found)] if groups else groups
        if all(map(can_be_input, found)):
            return [*names, *inputs.names], [*values, *found], more
        if not all(can_be_input(one) or LIBRARIES.has(one) for one in found):
            return None
        return leaves_of_library(leaves, inputs.names, found, more)

    def _types_with(self, leaves: Leaves, inputs: Inputs) -> Types | None:
        """The types of the leaves of a call, and of the arrays that are found outside."""
        call = self._with_inputs(leaves, inputs)
        return None if call is None else self._fixed_types(*call)

    def _found(self, types: Types, leaves: Leaves) -> tuple[Program, Kernel] | None:
        """A compiled program that serves a call; `types` are those of its leaves."""
        found = self._find(types)
        if found is not None or not self._families:
            return found
        for program in reversed(self._families.get(without_extents(types), ())):
            full = self._types_with(leaves, program.inputs)
            found = None if full is None else self._find(full, program.inputs)
            if found is not None:
                return found
        return None

    def _expected(self, types: Types, leaves: Leaves) -> tuple[Types, Sequence[Any], Inputs]:
        """The types and values of a call that has no program yet, with the arrays that an earlier one like it took."""
        for program in reversed(self._families.get(without_extents(types), ())):
            if self._still_valid(program):
                call = self._with_inputs(leaves, program.inputs)
                if call is not None:
                    return self._fixed_types(*call), call[1], program.inputs
        return types, leaves[1], NO_INPUTS

    def _specialise(self, key: Any, leaves: Leaves, hot: Fixed | None = None) -> tuple[Invocation, Leaves]:
        """How a call is answered from now on, and its leaves with the arrays from outside that the program takes."""
        types = self._types(*leaves)
        if self._axes is not None:
            self._axes.check(types)
        if self._profiles is None:
            return self._specialised(key, leaves, types)
        fixed = hot if hot is not None else self._decided(types, leaves[1])
        with self._fixing_as(fixed):
            try:
                return self._specialised(
                    key, leaves, self._fixed_types(*leaves), is_kept=not self._profiles.is_open(types)
                )
            except Respecialise:
                raise
            except NestorError as error:
                if fixed is None or hot is not None:
                    raise
                self._profiles.give_up(fixed, error.diagnostic.message)
        return self._specialise(self._signature_key(leaves[0], leaves[1]), leaves)

    def _specialised(
        self, key: Any, leaves: Leaves, types: Types, is_kept: bool = True
    ) -> tuple[Invocation, Leaves]:
        """That, for arguments of these types; unless it `is_kept`, the next call like it comes here again."""
        names, values, _ = leaves
        fixed = self._fixing
        request = self._request(types, values)
        try:
            found = self._found(types, leaves) or self._find_open(types)
            if fixed is not None and (found is None or not fixed.has(found[0])):
                found = None
            elif found is None and not self._families:
                with collector_paused():
                    found = self._compile_open(types, values)
            if found is None:
                found = self._from_disk(request, types, lambda inputs: self._types_with(leaves, inputs))
            if found is None:
                from ....runtime.cpu.llvm_loading import load_llvm_meanwhile

                if self.target == "cpu":
                    load_llvm_meanwhile()
                with collector_paused():
                    found = self._compile_for(*self._expected(types, leaves), (types, values))
        except Respecialise as more:
            if more.objects:
                raise
            if request is not None:
                disk.store_writes(request)
            self._learn_writes()
            return self._specialise(self._signature_key(names, values), leaves)
        except NestorError as error:
            refusal = refusal_of(error, self.function)
            if refusal is None:
                raise
            raise refusal from None
        program, kernel = found
        if fixed is not None and not fixed.has(program):
            self._put_first(program)
        if self._baked or fixed is not None:
            key = self._signature_key(names, values)
        if len(self._invocations) >= MAX_SIGNATURES:
            self._invocations.clear()
            self._inputs.clear()
        call = leaves
        if program.inputs:
            self._note_inputs(key, types, program)
            call = self._with_inputs(leaves, program.inputs)
            if call is None:  # another thread has bound something else in the meantime
                return self._specialise(key, leaves)
            key = (program.inputs.key, self._signature_key(call[0], call[1]))
        # Lowering may have baked arguments in: the types of the program say which.
        types = as_of(program.arguments, self._fixed_types(*call))
        if program.inputs and not self._is_for(program, types):
            return self._specialise(self._signature_key(names, values), leaves)
        invocation = self._invocation(program, kernel, types, call[1])
        if is_kept:
            self._invocations[key] = invocation
        return invocation, call

    def _begin_again(self) -> None:
        super()._begin_again()
        self._invocations.clear()

    def _fixed_for(self, leaves: Leaves) -> Fixed | None:
        """What the program of a call is for, where it has one of its own."""
        return None if self._profiles is None else self._profiles.of(self._types(*leaves), leaves[1])

    def _make_hot(self, asked: Any, leaves: Leaves) -> None:
        """Make a program for the extents of a call that comes often: what a thread does."""
        try:
            with COMPILING, collector_paused():
                self._make_sizes(asked, leaves)
        except NestorError as error:  # the program of unknown extents goes on
            self._log.note("guards", f"no program for sizes that come often: {error.diagnostic.message}")
        except Respecialise as request:
            self._learn(request)

    def _make_sizes(self, asked: Any, leaves: Leaves) -> None:
        assert self._profiles is not None
        types = self._types(*leaves)
        if self._profiles.of(types, leaves[1]) is not None:
            return
        hot = Fixed({}, extents_of(types), len(types), is_hot=True)
        self._log.note("guards", f"sizes that come often have a program of their own: {hot.text(types)}")
        self._specialise(asked, leaves, hot)
        self._profiles.add(without_extents(types), types, hot)

    def _is_for(self, program: Program, types: Types) -> bool:
        return without_extents(program.arguments) == without_extents(types) and self._fits(program, types)

    def _note_inputs(self, key: Any, types: Types, program: Program) -> None:
        """Remember which arrays from outside calls like this one take."""
        self._inputs[key] = program.inputs
        family = self._families.setdefault(without_extents(types), [])
        if program not in family:
            family.append(program)
        del family[:-MOST_INPUTS]

    def _forget_all(self) -> None:
        super()._forget_all()
        self._inputs.clear()
        self._families.clear()
        if self._fallback is not None:
            self._fallback.forget()
        if self._profiles is not None:
            self._profiles.forget()
            self._ways.clear()

    def _forget(self, program: Program) -> None:
        super()._forget(program)
        known = self._invocations
        for key in [key for key, one in known.items() if one.program is program]:
            del known[key]
        for key in [key for key, inputs in self._inputs.items() if inputs is program.inputs]:
            del self._inputs[key]
        for key, family in list(self._families.items()):
            self._families[key] = [one for one in family if one is not program]

    def _invocation(self, program: Program, kernel: Kernel, types: Any, values: Sequence[Any]) -> Invocation:
        """How the program is called with values of these types."""
        return Invocation(program, kernel, types)

    def _install(
        self,
        invocation: Invocation,
        leaves: Leaves,
        values: Sequence[Any],
        args: tuple,
        keywords: dict[str, Any],
    ) -> None:
        """Let calls like this one run natively, where they can. Such a call has been answered: what fails now is not its
        failure. `values` are those of the leaves, and of the arrays that were found outside."""
        if not self._can_be_native or invocation.touches:
            return
        if self._profiles is not None and self._profiles.is_busy:
            return  # the call would wait for the thread
        try:
            with COMPILING:
                self._install_entry(invocation, leaves, values, args, keywords)
        except Exception as error:
            self._can_be_native = False
            self._log.note("guards", f"calls stay in Python: {type(error).__name__}: {error}")

    def _install_entry(
        self,
        invocation: Invocation,
        leaves: Leaves,
        values: Sequence[Any],
        args: tuple,
        keywords: dict[str, Any],
    ) -> None:
        from ..native_call.entry import native_entry
        from ..native_call.leaves import place_leaves

        if not fast_call.available() or not fast_call.call_natively(type(self)):
            return
        call = place_leaves(*leaves, self._names, args, keywords, self._writes())
        if call is None:
            return
        call.hold_outside(values)
        call.long = invocation.fastest > LONG
        call.earlier = self._before(invocation.program)
        if self._profiles is not None:
            if not self._profiles.may_be_native(invocation.program, self._hits):
                return
            call.own = self._profiles.excluded(invocation.program)
        if any(map(is_open, invocation.program.arguments)):
            if list(self._open.values()).count(True) != 1:
                return
            call.own = [*call.own, *values_with_programs(invocation.program.arguments, self._compiled)]
        entry = native_entry(call, invocation)
        if entry is not None and may_be_native(self):
            self._words = fast_call.install(self, type(self).__call__, self._entries, entry)
            self._installed[id(invocation.program)] = entry

    def _before(self, program: Program) -> list[tuple[ArgumentType, ...]]:
        """The arguments of the programs that are asked before this one whether they fit."""
        family = self._compiled.get(without_extents(program.arguments), ())
        return [p.arguments for p, _ in itertools.takewhile(lambda pair: pair[0] is not program, family)]

    # ---- stages -------------------------------------------------------------------------------------

    @boundary
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function lowered to nt for these arguments (arrays, numbers, or `nt.spec`s), without running it."""
        if (other := variant(self)) is not self:
            return other.lower(*args, **kwargs)
        with COMPILING:
            from .lowered import Lowered

        self._look_again()
        args, kwargs = self._adopted(args, kwargs)
        _, values, _ = leaves = self._leaves(args, kwargs)
        types = self._types(*leaves)
        pattern = types
        if self._axes is not None:
            self._axes.check(types)
            pattern = self._axes.named(types)
        if self.dynamic is True:
            pattern = generalised(types, [(k, a) for k, t in enumerate(types) for a in range(len(t.extents))])
        try:
            with COMPILING, progress.shown(self.__name__):
                return Lowered(self, self._lower(pattern, types, values)[0])
        except Respecialise as request:
            self._learn(request)
            return self.lower(*args, **kwargs)

    def cache_info(self) -> dict[str, int]:
        """Counts: programs compiled, call signatures seen, calls served from a known signature; with `constants`, how
        often what depends on them was computed; with `fallback`, calls that the plain function answered."""
        compiled = sum(len(programs) for programs in self._compiled.values())
        served = self._hits + fast_call.hits(self)
        counts = {"compiled": compiled, "signatures": len(self._invocations), "hits": served}
        if self._constants:
            kernels = [kernel for programs in self._compiled.values() for _, kernel in programs]
            frozen = [kernel.frozen for kernel in kernels if getattr(kernel, "frozen", None) is not None]
            counts["packed"] = sum(one.count for one in frozen)
        if self._fallback is not None:
            counts["plain"] = self._fallback.calls
        return counts

    @boundary
    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Which program serves these arguments, what it assumes, what was compiled and why: text.

        `format="json"` gives the same facts as JSON, `format="html"` a page with pictures of the nests;
        `strategies=True` adds the strategies that the automatic schedule tried for each nest, and why they did not take
        it. Of a call with Dask arrays: its chunks, the parts of sources that tasks read, and how often a source is read.
        Where the function has parameters of these names, they are the function's.
        """
        if (other := variant(self)) is not self:
            return other.explain(*args, **kwargs)
        from ..explain.explanation import checked_format, explanation

        format = checked_format("text" if "format" in self._names else kwargs.pop("format", "text"))
        strategies = "strategies" not in self._names and bool(kwargs.pop("strategies", False))
        self._look_again()
        types: Types = ()
        chunks: dict[str, Any] | None = None
        try:
            if has_labels(args, kwargs):
                args, kwargs = without_labels(args, kwargs)
            if has_dask(args, kwargs) and not is_plain(self.function):
                from ..chunked.dask_arrays import explained_call

                args, kwargs, chunks = explained_call(self, args, kwargs)
            args, kwargs = self._adopted(args, kwargs)
            leaves = self._leaves(args, kwargs)
            types = self._types(*leaves)
            with COMPILING, self._fixing_as(self._fixed_for(leaves)):
                found = self._found(self._fixed_types(*leaves), leaves)
            program = found[0] if found else self._only_lowered(args, kwargs)
        except NestorError as refusal:
            if refusal.is_misfit:
                raise
            return _rendered(self._refused(refusal, types), format)
        if program.module is None:
            call = self._with_inputs(leaves, program.inputs)
            assert call is not None
            with COMPILING, self._log.quiet():
                again, *_ = self._lower(program.arguments, self._types(*call), call[1], program.inputs)
            again.remarks, program = program.remarks, again
        history = self._log.entries
        is_compiled = found is not None
        said = explanation(program, self.target, history, is_compiled, self.machine, strategies)
        if chunks is not None:
            said.chunks, said.status = chunks, "in chunks"
        return _rendered(said, format)

    def _only_lowered(self, args: tuple, kwargs: dict[str, Any]) -> Program:
        """The program of a call that has none yet. Raises what the call would."""
        lowered = self.lower(*args, **kwargs)
        if self.strict and self.target != "cuda":
            lowered.compile()
        return lowered.program

    def _refused(self, refusal: NestorError, types: Types) -> Explanation:
        """What there is to say of a call that has no program."""
        from ..explain.explanation import refused

        is_late = not self.strict and is_pythons(refusal, self.function, self.target)
        may_fall_back = not self.strict and self.target != "cuda" and self._can_fall_back()
        return refused(
            self.__name__,
            self.target,
            refusal_of(refusal, self.function) or refusal,
            self._log.entries,
            types,
            in_python=self._fallback is not None or is_late,
            may_fall_back=may_fall_back,
        )

    def _can_fall_back(self) -> bool:
        """Whether there is a plain function."""
        return can_run(self.function)


def _rendered(said: Explanation, format: str) -> str:
    if format == "html":
        from ..explain.page import page

        return page(said)
    if format == "json":
        return said.json()
    from ..explain.text import Text

    return Text(said)


def _made_again(
    kind: type[JitFunction], recipe: Recipe, options: dict[str, Any], texts: Texts
) -> JitFunction:
    """The jitted function that a call gives, with these options: the one that is kept for such calls, where it has them."""
    note_texts(texts)
    kept = recipe.made()
    is_it = type(kept) is kind and kept.given_options() == options
    return kept if is_it else kind(kept, **options)


def _is_time(invocation: Invocation) -> bool:
    """Whether to make calls like this one native: the second one, the 8th, the 32nd that Python still answers.

    The first entry of a process waits for a 32nd call where it has to compile the wrapper, which takes as long as
    some thousand calls, and is not on the disk.
    """
    kernel = invocation.native
    if kernel is None:
        return False
    invocation.calls += 1
    kernel.calls += 1
    calls = invocation.calls if invocation.calls > 1 else kernel.calls
    due = calls & (calls - 1) == 0 and calls.bit_length() & 1 == 0
    return due and (calls >= PATIENCE or fast_call.is_at_hand())
