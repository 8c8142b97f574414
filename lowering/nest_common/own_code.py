"""Code of the user's (`nt.custom_op`): what a declared function says of the operands and results that it is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...dialects.attributes import CUSTOM_CALL
from ...dialects.custom_call_names import ARGUMENTS, ELEMENTS, INPUTS, KINDS
from ...dialects.nt.types import TO_NAME

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ArrayAttr
    from xdsl.dialects.func import FuncOp


class Operand(NamedTuple):
    """A buffer of a call: its first slot, the name of its dtype, its extents, whether the function gets a number."""

    slot: int
    dtype: str
    rank: int
    is_number: bool


class Declared(NamedTuple):
    """A declared function that is code: its name, the types of its buffers, and what it says beside them."""

    symbol: str
    types: Sequence[Any]
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, function: FuncOp) -> Declared:
        """What a declaration says."""
        facts: Any = function.attributes[CUSTOM_CALL]
        return cls(function.sym_name.data, function.function_type.inputs.data, facts.data)

    @classmethod
    def from_attribute(cls, attribute: Any) -> Declared:
        """The same from one attribute."""
        symbol, types, facts = attribute.data
        return cls(symbol.data, types.data, facts.data)

    @property
    def attribute(self) -> ArrayAttr:
        """All of it as one attribute, for what takes the place of the declaration."""
        from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr

        return ArrayAttr([StringAttr(self.symbol), ArrayAttr(self.types), DictionaryAttr(self.facts)])

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What the code is, and how it is called."""
        return self.facts[ARGUMENTS].data

    def operands(self) -> tuple[list[Operand], list[Operand]]:
        """The operands and the results. Each has a slot for its address, its extents and its strides."""
        inputs: int = self.facts[INPUTS].value.data
        kinds = self.arguments[KINDS].data
        slot, found = 0, []
        for k, (type_, element) in enumerate(zip(self.types, self.facts[ELEMENTS].data, strict=True)):
            rank, dtype = type_.get_num_dims(), TO_NAME[element]
            # Complex numbers are two parts along a last axis.
            own = rank - 1 if dtype.startswith("complex") else rank
            found.append(Operand(slot, dtype, own, k < inputs and kinds[k].data != "array"))
            slot += 1 + 2 * rank
        return found[:inputs], found[inputs:]
