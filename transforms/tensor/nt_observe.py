"""nt-observe: a function of Python is given the operands of each product, where the program has them.

    %0 = nt.dot %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  becomes, with target="seen" handle=3
    %1 = nt.constant dense<[3, 0, 0]> : tensor<3xi64>
    nt.custom_call ordered "seen"(%x, %1) {kinds = [...], several = false} : (tensor<8x4xf32>, tensor<3xi64>) -> ()
    %2 = nt.constant dense<[3, 0, 1]> : tensor<3xi64>
    nt.custom_call ordered "seen"(%w, %2) {kinds = [...], several = false} : (tensor<4x5xf32>, tensor<3xi64>) -> ()
    %0 = nt.dot %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>

The numbers are the handle, the number of the product in the order of the program, and which operand it is. Of windows
and of what is repeated it is given what they are made of, which has each element once. Products are those of
`product_sites.py`. `nt.quant.calibrate` runs such programs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i1, i64
from xdsl.passes import ModulePass

from ...dialects.nt import ConstantOp, CustomCallOp, DotOp
from ...dialects.nt.constants import from_numpy
from .product_sites import elements_of, functions_of, product_sites

_ARGUMENTS = {
    "kinds": ArrayAttr([StringAttr("array"), StringAttr("array")]),
    "several": IntegerAttr(0, i1),
}


def observed_products(module: ModuleOp) -> dict[str, DotOp]:
    """The products that are observed, by their sites: of the function that is called, not of functions in a derivative."""
    public = [one for one in functions_of(module) if one.sym_visibility is None]
    return {site: op for function in public for site, op in product_sites(function).items()}


def observe(module: ModuleOp, target: str, handle: int) -> None:
    """Call `target` with the operands of each observed product, in front of it."""
    for number, product in enumerate(observed_products(module).values()):
        block = product.parent
        assert block is not None
        for side in (0, 1):
            value = elements_of(product, side)
            facts = np.array([handle, number, side], np.int64)
            given = ConstantOp(from_numpy(facts, i64))
            call = CustomCallOp(target, [value, given.result], [], _ARGUMENTS, ordered=True)
            for made in (given, call):
                made.location = product.location
                block.insert_op_before(made, product)


@dataclass(frozen=True, eq=False)
class NtObservePass(ModulePass):
    """Show the operands of products to a function of Python."""

    name = "nt-observe"

    target: str
    handle: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        observe(op, self.target, self.handle)
