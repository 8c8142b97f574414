"""Whether two loops compute a value alike: what the one adds up and the other takes its maximum of, say.

    nest.for "j" %j = 0 to %n {                              nest.for "j.1" %k = 0 to %n {
      %a = nest.load %x[%i, %j]                                %b = nest.load %x[%i, %k]
      %c = arith.mulf %a, %s                                   %d = arith.mulf %b, %s

%c is to the first loop what %d is to the second. That nothing between them writes %x is asked elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from ....dialects.nest import ForOp, LoadOp
from .domains import is_computation


def is_same_value(
    one: SSAValue, other: SSAValue, variables: Mapping[SSAValue, SSAValue], first: ForOp, second: ForOp
) -> bool:
    """Whether `one`, of the body of `first`, and `other`, of `second`, are computed alike.

    `variables` has for each loop variable of the first nest that of the second; what is outside of the bodies is one value.
    """
    mine, theirs = one.owner, other.owner
    if not isinstance(mine, Operation) or mine.parent_op() is not first:
        return variables.get(one, one) is other
    if not isinstance(theirs, Operation) or theirs.parent_op() is not second:
        return False
    if type(mine) is not type(theirs) or one.type != other.type:
        return False
    if isinstance(mine, LoadOp) and isinstance(theirs, LoadOp):
        moved = mine.indices.substitute_all(dict(variables)).canonical()
        return mine.memref is theirs.memref and moved == theirs.indices.canonical()
    if not is_computation(mine) or mine.properties != theirs.properties:
        return False
    if len(mine.operands) != len(theirs.operands):
        return False
    pairs = zip(mine.operands, theirs.operands, strict=True)
    return all(is_same_value(a, b, variables, first, second) for a, b in pairs)
