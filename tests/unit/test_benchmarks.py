"""Every row of the yardstick at a small size: Nestor's result and each installed peer's are NumPy's."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.peers import PEERS, NotWritten
from benchmarks.yardstick import ROWS
from benchmarks.yardstick.row import error_of

IN_PROCESS = ("nestor", "numpy")


def forms(peer, row):
    arguments = row.make(small=True)
    try:
        return arguments, PEERS[peer](1).prepare(row, arguments, True)
    except NotWritten:
        return arguments, {}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("peer", IN_PROCESS)
def test_a_row_is_right(peer, name):
    row = ROWS[name]
    arguments, found = forms(peer, row)
    expected = row.expected(arguments)
    assert [e.shape for e in expected] == [shape for shape, _ in row.results(row.extents(small=True))]
    for form in found.values():
        results = form.results(form.call())
        assert error_of(results, expected) <= row.tolerance
        assert [r.dtype for r in results] == [np.dtype(t) for _, t in row.results(row.extents(small=True))]
