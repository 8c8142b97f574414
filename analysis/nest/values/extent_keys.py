"""What is known of extents and of values that are fixed: keys that are equal where these are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from math import prod
from typing import NamedTuple

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    MemRefType,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.affine import AffineList, constant_of, linear_terms
from ....dialects.attributes import DIMS, EXTENTS, ROLE
from ....dialects.nest import AllocOp


def extent_key(buffer: SSAValue, axis: int) -> Hashable:
    """What the extent of a buffer's axis is: a number, a name of `nest.dims`, a `Product`, or an opaque key.

    Equal keys are equal extents.
    """
    assert isinstance(buffer.type, MemRefType)
    static = buffer.type.get_shape()[axis]
    if static != DYNAMIC_INDEX:
        return static
    named = _declared_dims(buffer)
    if named is not None and isinstance(named.data[axis], StringAttr):
        return named.data[axis].data  # pyright: ignore[reportAttributeAccessIssue]
    owner = buffer.owner
    if isinstance(owner, AllocOp):
        position = sum(extent == DYNAMIC_INDEX for extent in buffer.type.get_shape()[:axis])
        return value_key(owner.sizes[position])
    if isinstance(owner, memref.CollapseShapeOp):
        axes = owner.reassociation.data[axis].data  # pyright: ignore[reportAttributeAccessIssue]
        product = _product(extent_key(owner.src, one.value.data) for one in axes)
        if product is not None:
            return product
    return (buffer, axis)


def value_key(value: SSAValue) -> Hashable:
    """A key for an index value: equal keys are equal values."""
    value = strip_casts(value)
    constant = constant_of(value)
    if constant is not None:
        return constant
    owner = value.owner
    if isinstance(owner, memref.DimOp):
        axis = constant_of(owner.index)
        type = owner.source.type
        if axis is not None and isinstance(type, MemRefType) and 0 <= axis < type.get_num_dims():
            return extent_key(owner.source, axis)
    if isinstance(owner, arith.MuliOp) and isinstance(value.type, IndexType):
        product = _product(value_key(operand) for operand in owner.operands)
        if product is not None:
            return product
    return value


class Product(NamedTuple):
    """The key of a product of extents, as loops that were made one run: `number` times powers of other keys."""

    number: int
    powers: frozenset[tuple[Hashable, int]]


def _product(keys: Iterable[Hashable]) -> Hashable | None:
    """The key of a product; None where a factor is not known to be an extent, and so not to be negative."""
    number, powers = 1, Counter[Hashable]()
    for key in keys:
        if isinstance(key, Product):
            number *= key.number
            powers.update(dict(key.powers))
        elif isinstance(key, int) and key >= 0:
            number *= key
        elif isinstance(key, str | tuple):
            powers[key] += 1
        else:
            return None
    if number == 0 or not powers:
        return number
    if number == 1 and powers.total() == 1:
        return next(iter(powers))
    return Product(number, frozenset(powers.items()))


def linear_key(key: Hashable) -> tuple[int, Hashable] | None:
    """A key as a number of times another one; None for a product of several extents."""
    if not isinstance(key, Product):
        return 1, key
    ((factor, power), *others) = key.powers
    return (key.number, factor) if power == 1 and not others else None


def strip_casts(value: SSAValue) -> SSAValue:
    """The value that `value` is a copy of: conversions between `index` and `i64` change nothing."""
    owner = value.owner
    while isinstance(owner, arith.IndexCastOp):
        from .scalar_facts import is_wide

        if not (is_wide(value) and is_wide(owner.input)):
            break
        value, owner = owner.input, owner.input.owner
    return value


def bound_key(bound: AffineList) -> Hashable:
    """The key of a bound that is one value or one constant, or a multiple of an extent; None for any other."""
    constants = bound.constants()
    if constants is not None:
        return constants[0] if len(constants) == 1 else None
    if (value := bound.single_value()) is not None:
        return value_key(value)
    terms, constant = linear_terms(bound.exprs[0]) if len(bound) == 1 else ({}, 0)
    if constant or len(terms) != 1:
        return None
    ((atom, factor),) = terms.items()
    if not isinstance(atom, AffineDimExpr):
        return None
    return _product((factor, value_key(bound.operands[atom.position])))


def _declared_dims(buffer: SSAValue) -> ArrayAttr | None:
    block = buffer.owner
    function = block.parent_op() if isinstance(block, Block) else None
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return None
    found = function.arg_attrs.data[function.body.block.args.index(buffer)].data.get(DIMS)  # pyright: ignore
    return found if isinstance(found, ArrayAttr) else None


class Facts(NamedTuple):
    """What is known of an unknown extent."""

    least: int = 2
    """Extents 0 and 1 of inputs are always static, so that their unknown ones are at least 2."""
    most: int | None = None
    multiple: int = 1


NO_FACTS = Facts(0)

Inputs = Mapping[str, Facts]


def input_dims(function: Operation) -> Inputs:
    """The names of extents that arguments bring along, and what is known of these; a name that only results have may be any
    extent."""
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return {}
    declared = function.attributes.get(EXTENTS)
    known = declared.data if isinstance(declared, DictionaryAttr) else {}
    lists = [a.data.get(DIMS) for a in function.arg_attrs.data if _is_input(a)]
    names = {
        name.data
        for dims in lists
        if isinstance(dims, ArrayAttr)
        for name in dims
        if isinstance(name, StringAttr)
    }
    return {name: _facts(known[name]) if name in known else Facts() for name in names}


def _facts(declared: Attribute) -> Facts:
    least, most, multiple = [number.value.data for number in declared]  # pyright: ignore
    return Facts(least, None if most < 0 else most, multiple)


def _is_input(attributes: DictionaryAttr) -> bool:
    return attributes.data.get(ROLE) != _OUT


_OUT = StringAttr("out")


def _facts_of_product(key: Product, inputs: Inputs) -> Facts:
    factors = [facts_of(factor, inputs) or NO_FACTS for factor, power in key.powers for _ in range(power)]
    mosts = [known.most for known in factors]
    return Facts(
        key.number * prod(known.least for known in factors),
        None if None in mosts else key.number * prod(most for most in mosts if most is not None),
        key.number * prod(known.multiple for known in factors),
    )


def least_extent(key: Hashable, inputs: Inputs) -> int | None:
    """The least that the extent called `key` can be, None when the key is that of another value."""
    known = facts_of(key, inputs)
    return None if known is None else known.least


def facts_of(key: Hashable, inputs: Inputs) -> Facts | None:
    """What is known of the extent called `key`, None when the key is that of another value."""
    if isinstance(key, str):
        return inputs.get(key, NO_FACTS)
    if isinstance(key, Product):
        return _facts_of_product(key, inputs)
    return NO_FACTS if isinstance(key, tuple) else None
