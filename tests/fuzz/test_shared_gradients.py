"""Random gradients of functions whose arguments, items, globals and attributes name the same memory, with writes.

Seeds 0 to 299, the first five where slow tests are left out. `shared_gradients.py` draws more.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from shared_gradients import CALLS, judge

PART = 5


@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 60)]])
def test_gradients_of_shared_memory_are_those_of_python_or_refused(part: int, tmp_path: Path):
    ends, wrong = Counter[str](), []
    for seed in range(part * PART, (part + 1) * PART):
        found, of_case = judge(seed, tmp_path)
        wrong += found
        ends += of_case
    assert not wrong, "\n\n".join(wrong[:3])
    if part == 0:  # what is drawn is of use; of five others, all may share what is written, or none
        assert 0.2 * PART * CALLS < ends["right"] < PART * CALLS, ends
