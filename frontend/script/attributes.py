"""Attributes: of objects, arrays, NamedTuples, and what is known at compile time."""

from __future__ import annotations

import ast
from importlib import import_module

import numpy as np

from ..frame.frame import Frame
from ..frame.instances import instance_attribute, refuse_outside, super_attribute
from ..frame.objects import MUTATORS, is_made
from ..interface.errors import MissingAttributeError
from ..interface.suggestions import did_you_mean
from ..numpy_api.families import METHODS
from ..values.selection import settled
from ..values.values import Chosen, Group, Masked, Method, Rows, Static, Super, Value, describe, is_array


def attribute_of(frame: Frame, node: ast.Attribute, owner: Value) -> Value:
    """`owner.name`."""
    frame.at(node)
    if isinstance(owner, Rows):
        from ..control.rows import ROWS_METHODS
        from .list_searches import LIST_METHODS

        if node.attr not in ROWS_METHODS and node.attr not in LIST_METHODS:
            frame.fail(
                node,
                f"the method '{node.attr}' of {describe(owner)} is not supported",
                f"methods: {', '.join(sorted({*ROWS_METHODS, *LIST_METHODS}))}; or make it an array, np.stack(ys)",
            )
        return Method(owner, node.attr)
    if isinstance(owner, Chosen):
        return Method(owner, node.attr)
    if isinstance(owner, Group):
        if node.attr in ("sort", "index", "remove", "count", "popitem", "insert", "pop"):
            import_module(
                ".python_library", __package__
            )  # adds them to the methods of lists, tuples and dicts
        return instance_attribute(frame, node, owner)
    if isinstance(owner, Super):
        return super_attribute(frame, node, owner)
    if isinstance(owner, Static) and type(owner.raw) in (list, dict, set) and node.attr in MUTATORS:
        if is_made(frame, owner):
            return Method(owner, node.attr)
        refuse_outside(frame, node, f"a {type(owner.raw).__name__}")
    if isinstance(owner, Static) and not isinstance(owner.raw, np.generic):
        return frame.attribute(node, owner.raw, node.attr)
    if isinstance(owner, Masked) and node.attr not in METHODS:
        from ..numpy_api.masked_calls import masked_attribute

        known = masked_attribute(frame.graph, owner, node.attr)
        if known is not None:
            return known
        owner = settled(frame.graph, owner)
    from ..numpy_api.elements.attributes import ATTRIBUTES

    attribute = ATTRIBUTES.get(node.attr)
    if attribute is not None:
        return attribute(frame.graph, owner)
    if node.attr in METHODS:
        return Method(owner, node.attr)
    known = f"attributes: {', '.join(sorted(ATTRIBUTES))}; methods: {', '.join(sorted(METHODS))}"
    if is_array(owner) and not hasattr(np.ndarray, node.attr):
        message = f"'numpy.ndarray' object has no attribute '{node.attr}'"
        close = did_you_mean(node.attr, [*METHODS, *ATTRIBUTES])
        frame.fail(node, message, close or known, MissingAttributeError)
    frame.fail(node, f"the attribute '{node.attr}' of {describe(owner)} is not supported", known)
