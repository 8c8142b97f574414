"""Barriers between the threads of a block."""

from __future__ import annotations

from typing import Self

from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of a block wait here for each other, and see what the others wrote: `nest.barrier`.

    Stands between loops bound to threads. Loops in program order run one after the other anyway, so that a barrier
    means nothing to them: it says where threads that each run their own iterations must wait.
    """

    name = "nest.barrier"

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.create(attributes=parser.parse_optional_attr_dict())
