"""The parameters of a function, and the arguments of a call as leaves: arrays and numbers, each with its type.

What a jitted function knows of its parameters, and a program that was saved without its function.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import Any

from ....dialects.records import changed
from ...interface.argument_types import (
    ArgumentType,
    argument_type,
    constant_type,
    overlap_partition,
    static_type,
)
from ...interface.errors import DTypeError, UnsupportedError
from ...interface.ordinary import is_ordinary
from ...interface.parameters import bound
from ...interface.spec import ScalarSpec, Spec
from ...interface.structures import LEAVES, Seen, is_spread, spread
from ..specialise.arguments import Default, default_of, is_long
from .adoption import Adoption, adoption, is_foreign

Types = tuple[ArgumentType, ...]


class CallArguments:
    """Parameters and their defaults; which are compiled in, which are constant, and whether any may be written."""

    __slots__ = ()

    signature: inspect.Signature
    _names: list[str]
    _defaults: list[Any]
    _foreign_defaults: dict[str, Any]
    """Defaults that are arrays of other libraries."""
    _plain: bool
    """Whether all parameters take one argument each, by position."""
    _required: int
    _static: Collection[str]
    """The parameters whose values are to be compiled in."""
    _constants: Collection[str]
    _opened: Collection[str]
    """Parameters whose tuples are spread even where they are of numbers alone."""
    _baked: set[str]
    """Leaves whose values had to be compiled in."""
    _spreads: bool
    """Whether objects of classes among the arguments come with their attributes."""
    _has_out: bool

    def _writes(self) -> bool:
        """Whether an array argument may be written."""
        raise NotImplementedError

    def _take_parameters(self, signature: inspect.Signature) -> None:
        """Read the parameters, and their defaults."""
        self.signature = signature
        self._names = list(signature.parameters)
        self._defaults = [default_of(p.default) for p in signature.parameters.values()]
        self._foreign_defaults = {
            p.name: p.default
            for p in signature.parameters.values()
            if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY and is_foreign(p.default)
        }
        self._plain = not any(map(is_spread, self._defaults)) and all(
            p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in signature.parameters.values()
        )
        self._required = sum(p.default is p.empty for p in signature.parameters.values())
        self._has_out = "out" in self._names

    def _adoption(self, args: tuple, kwargs: dict[str, Any]) -> Adoption | None:
        """The call with NumPy arrays in the place of those of other libraries; None where there are none."""
        return adoption(self, args, kwargs)

    def _adopted(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments, with NumPy arrays in the place of those of other libraries."""
        adopted = self._adoption(args, kwargs)
        return (args, kwargs) if adopted is None else (adopted.args, adopted.kwargs)

    def _locate(self, error: UnsupportedError, parameter: str) -> None:
        """Say of an error where the parameter is that it is about."""
        del error, parameter  # no more is known of it here

    def _misfit(self, error: TypeError) -> DTypeError:
        """What is raised for arguments that the parameters do not take."""
        raise NotImplementedError

    def _leaves(self, args: tuple, kwargs: dict[str, Any]) -> tuple[list[str], list[Any], list[str | None]]:
        """Arguments in the order of the parameters; tuples of arrays are spread out, defaults marked."""
        count = len(args)
        simple = (
            self._plain and not self._spreads and not kwargs and self._required <= count <= len(self._names)
        )
        if not simple:
            return self._bound_leaves(args, kwargs)
        for argument in args:
            if type(argument) not in LEAVES and (
                is_spread(argument) or (self._opened and type(argument) is tuple)
            ):
                return self._bound_leaves(args, kwargs)
        return self._names, [*args, *self._defaults[count:]], []

    def _bound_leaves(
        self, args: tuple, kwargs: dict[str, Any], seen: Seen | None = None
    ) -> tuple[list[str], list[Any], list[str | None]]:
        """The leaves; `seen` gets the lists, dicts and objects that they are in."""
        try:
            fitting = bound(self.signature, args, kwargs)
        except TypeError as error:
            raise self._misfit(error) from None
        given: list[Any] = []
        for (name, parameter), default in zip(self.signature.parameters.items(), self._defaults, strict=True):
            value = fitting.arguments.get(name, default)
            if parameter.kind is parameter.VAR_POSITIONAL and isinstance(value, Default):
                value = Default(())
            if parameter.kind is parameter.VAR_KEYWORD and isinstance(value, Default):
                value = {}
            if self._spreads and isinstance(value, Default) and is_ordinary(type(value.value)):
                value = value.value
            given.append(value)
        return self._spread_out(given, Seen() if seen is None else seen)

    def _spread_out(self, given: Sequence[Any], seen: Seen) -> tuple[list[str], list[Any], list[str | None]]:
        """The leaves of the values of the parameters, in their order, defaults marked."""
        names: list[str] = []
        values: list[Any] = []
        groups: list[str | None] = []
        taken = set(self._names)
        for name, value in zip(self._names, given, strict=True):
            leaves: list[tuple[str, Any]] = [(name, value)]
            is_opened = name in self._opened and type(value) is tuple
            is_structure = name not in self._static and (is_opened or is_spread(value, self._spreads))
            if is_structure:
                structure, leaves = spread(name, value, taken, seen, self._spreads)
                leaves.insert(0, (name, structure))
            for leaf, item in leaves:
                names.append(leaf)
                values.append(item)
                groups.append(name if is_structure else None)
        return names, values, groups

    def _types(self, names: Sequence[str], values: Sequence[Any], groups: Sequence[str | None]) -> Types:
        mutates = self._writes()
        types: list[ArgumentType] = []
        for k, (name, value) in enumerate(zip(names, values, strict=True)):
            group = groups[k] if groups else None
            try:
                types.append(self._type(name, value, mutates, group))
            except UnsupportedError as error:
                self._locate(error, group or name)
                raise
            if self._constants and (group or name) in self._constants:
                types[-1] = constant_type(types[-1], value)
        if mutates and not any(isinstance(v, Spec) for v in values):
            return overlap_partition(types, values)
        return tuple(types)

    def _type(self, name: str, value: Any, mutates: bool, group: str | None) -> ArgumentType:
        if isinstance(value, Default):
            return static_type(name, value.value)
        if isinstance(value, Spec | ScalarSpec):
            return changed(value.argument_type(name), group=group)
        if name in self._static or name in self._baked or is_long(value):
            return static_type(name, value, group)
        return argument_type(name, value, mutates=mutates, group=group)
