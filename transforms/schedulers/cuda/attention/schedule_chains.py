"""Which chains of products a GPU does in blocks that compute factors where they use them (part of nest-schedule-cuda).

    schedule_chains(function, gpu, steps, narrow=True)     # those whose readers multiply 16-bit floats, by tensor cores
    schedule_chains(function, gpu, steps, narrow=False)    # the others

All steps for all readers of a factor are tried on a copy of the function first: if one is refused the factor is in memory
for all. Blocks have to be worth it (`pays`): each passes over all columns. The steps: chains.py, matrix_chains.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.func import FuncOp

from .....analysis.machine import Gpu
from .....analysis.nest.kernels.matrix_tiles import form_of
from .....analysis.nest.loop_structure import perfect_band
from .....analysis.nest.values.trip_counts import extent_of
from .....dialects.diagnostic import NestorError
from .....dialects.remarks import remark
from ....nest.mapping.insert_barriers import why_not_insert_barriers
from ....nest.rewrite.steps import UNRECORDED, Steps
from ....nest.rewrite.trials import copies
from ...patterns.chains import MOST_TERMS, Chain, Reader, chains_in
from ...patterns.products import Product, sum_of_products_in
from .chains import ChainTiling
from .matrix_chains import MatrixChain

ROWS_OF_BLOCK = 64

RATES = (96, 768)
"""Multiply-adds of a multiprocessor in a cycle: of its threads, and of its tensor cores."""

SCORE = 0.7
"""Cycles of a multiprocessor in which an element is written and read again, of all of them together."""

LAUNCH = 5000.0
"""Cycles in which another kernel is launched."""

WORTH = 2.0
"""How much longer blocks of rows may take than the nests apart, which do not keep all multiprocessors busy either."""

UNKNOWN_EXTENT = 1024
"""Assumed value of an extent that is known at run time only."""


def schedule_chains(function: FuncOp, gpu: Gpu, steps: Steps, narrow: bool) -> None:
    """Bind the chains of a function, where all steps are legal for all readers of a factor: of 16 bits, or the others."""
    looked_at: set[str] = set()
    while (group := _next_group(function, looked_at)) is not None:
        if all(_way_of(chain) is not ChainTiling for chain in group) != narrow:
            continue
        first = group[0].readers[0].product.outermost
        if not pays(group, gpu):
            remark(
                first, "the factors of the product are stored to global memory: few blocks would compute them"
            )
            continue
        refusal = _why_not(group, gpu)
        if refusal is not None:
            text = "the factors of the product are stored to global memory, and not computed where they are used: "
            remark(first, text + refusal.diagnostic.message)
            continue
        for chain in group:
            way = _way_of(chain)(chain, gpu, steps)
            remark(way.run(), way.describe())


def _next_group(function: FuncOp, looked_at: set[str]) -> list[Chain] | None:
    """A group that was not looked at yet: nests of some may have gone into one that is scheduled since."""
    for group in chains_in(function):
        label = group[0].readers[0].product.outermost.label
        if label not in looked_at:
            looked_at.add(label)
            return group
    return None


def pays(group: Sequence[Chain], gpu: Gpu) -> bool:
    """Whether blocks of rows, each of which passes over all columns, do not take much longer than the nests apart."""
    chain = group[0]
    rows, columns = _extents(chain.readers[0])
    products = [
        one for nest in chain.producers if (one := sum_of_products_in(perfect_band(nest))) is not None
    ]
    terms = sum(extent_of(one.term) or MOST_TERMS for one in products)
    rate = RATES[_way_of(chain) is not ChainTiling]
    together = 0.0
    for one in group:
        height, width = (rows, columns) if one.turned == chain.turned else (columns, rows)
        own = sum(extent_of(reader.product.column) or MOST_TERMS for reader in one.readers)
        blocks = _count(one.readers[0]) * -(-height // ROWS_OF_BLOCK)
        together += -(-blocks // gpu.multiprocessors) * ROWS_OF_BLOCK * width * (terms + own) / rate
    readers = [reader for one in group for reader in one.readers]
    scores = _count(chain.readers[0]) * rows * columns
    work = terms + sum(extent_of(reader.product.column) or MOST_TERMS for reader in readers)
    count = len(products) + len(readers)
    apart = scores * (work / rate + count * SCORE) / gpu.multiprocessors
    return together <= WORTH * (apart + LAUNCH * (count - len(group)))


def _extents(reader: Reader) -> tuple[int, int]:
    """Rows and columns of a factor, as far as is known."""
    rows, columns = (extent_of(loop) or UNKNOWN_EXTENT for loop in (reader.product.row, reader.product.term))
    return rows, columns


def _count(reader: Reader) -> int:
    return prod(extent_of(loop) or UNKNOWN_EXTENT for loop in reader.product.batch)


def _way_of(chain: Chain) -> type[ChainTiling]:
    """The schedule for the types of the factors."""
    forms = [form_of(reader.factor.result.type) for reader in chain.readers]
    return MatrixChain if all(form is not None and form.bits == 16 for form in forms) else ChainTiling


def _why_not(group: Sequence[Chain], gpu: Gpu) -> NestorError | None:
    """The first refusal of a step; None where all are legal."""
    of = copies(group[0].producers[0])
    try:
        for chain in group:
            if (
                error := why_not_insert_barriers(_way_of(chain)(_moved(chain, of), gpu, UNRECORDED).run())
            ) is not None:
                return error
    except NestorError as error:
        return error
    return None


def _moved(chain: Chain, of) -> Chain:
    """The same in a copy of the function."""

    def product(one: Product) -> Product:
        return Product(
            [of[loop] for loop in one.batch],
            of[one.row],
            of[one.column],
            of[one.term],
            of[one.sums],
            one.panels,
            one.row_panels,
            of[one.outermost],
        )

    readers = [
        Reader(
            product(reader.product),
            of[reader.factor],
            reader.turned,
            None if reader.start is None else of[reader.start],
            [of[use] for use in reader.uses],
        )
        for reader in chain.readers
    ]
    return Chain([of[nest] for nest in chain.producers], readers, chain.is_last)
