"""The checks of a nest function that can fail at run time, numbered: the `site` of an error record.

    func.func @f(...) attributes {nestor.sites = [
      {kind = "IndexError", array = "x", axis = 0 : i64, file = "prog.py", line = 7 : i64, column = 5 : i64}]}

Site k is the k-th `nest.index` or `nest.lookup`, or `cf.assert` or `func.call` with a `nestor.kind`, in the order of the
text. The interpreter, the CPU and the GPU number alike.
"""

from __future__ import annotations

from xdsl.dialects import arith, cf, func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...dialects.attributes import EXCEPTION, KIND, RAISES
from ...dialects.diagnostic import op_location
from ...dialects.nest import IndexOp, LookupOp


def check_sites(function: func.FuncOp) -> dict[Operation, int]:
    """The number of each check of `function`."""
    return {op: k for k, op in enumerate(filter(_is_check, function.body.walk()))}


def _is_check(op: Operation) -> bool:
    if isinstance(op, IndexOp | LookupOp):
        return True
    return isinstance(op, cf.AssertOp | func.CallOp) and KIND in op.attributes


def raises(op: Operation) -> bool:
    """Whether `op` is a `raise` with numbers: a call that fails."""
    return isinstance(op, func.CallOp) and RAISES in op.attributes


def site_table(sites: dict[Operation, int]) -> ArrayAttr:
    """The table of `sites` as an attribute: what the frontend needs to raise the exception."""
    return ArrayAttr([_entry(op) for op in sites])


def _entry(op: Operation) -> DictionaryAttr:
    entry: dict[str, Attribute]
    if isinstance(op, IndexOp):
        entry = {"kind": StringAttr("IndexError"), "array": op.array, "axis": op.axis}
        numbers = [expr.value for expr in op.map.data.results if isinstance(expr, AffineConstantExpr)]
        if len(numbers) == 2:  # folding may leave no comparison of the two
            entry |= {k: IntegerAttr(n, i64) for k, n in zip(("index", "extent"), numbers, strict=True)}
    elif isinstance(op, LookupOp):
        entry = {"kind": StringAttr("IndexError"), "array": op.array, "axis": op.axis}
    else:
        entry = {"kind": op.attributes[KIND]}
        if RAISES in op.attributes:
            entry["raises"] = op.attributes[RAISES]
        if "msg" in op.properties:
            entry["message"] = op.properties["msg"]
        elif EXCEPTION in op.attributes:
            entry["message"] = op.attributes[EXCEPTION]
    where = op_location(op)
    if where is not None:
        entry["file"] = StringAttr(where.file)
        entry["line"] = IntegerAttr(where.line, i64)
        entry["column"] = IntegerAttr(where.column, i64)
    return DictionaryAttr(entry)


def checked_index(condition: SSAValue) -> tuple[SSAValue | None, SSAValue | None]:
    """What a check compares: the index and the extent, of `i < n` or `0 <= i and i < n`; the value of `0 <= v`.

    Around it may be an `or`: where the index is not needed, it may be anything.
    """
    op = condition.owner
    if isinstance(op, arith.AndIOp | arith.OrIOp):
        for side in (op.rhs, op.lhs):
            value, extent = checked_index(side)
            if value is not None:
                return value, extent
    if isinstance(op, arith.CmpiOp) and op.predicate.value.data in (2, 5, 6):  # slt, sge, ult
        return op.lhs, op.rhs
    return None, None
