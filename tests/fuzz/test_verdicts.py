"""What a random program is judged as: right, refused, or wrong, where the values differ."""

import sys

import numpy as np
import pytest
from outcomes import verdict


@pytest.mark.parametrize(
    ("text", "offset", "end", "raised"),
    [
        ("def f(x):\n    return x + 1\n", 0.0, "right", 1),
        ("def f(x):\n    return x + 1\n", 1.0, "wrong", 0),
        ("async def f(x):\n    return x\n", 0.0, "refused", 0),
    ],
)
def test_a_verdict(text, offset, end, raised, tmp_path):
    def compared(python, compiled):
        for value in (1.0, 2.0):
            got = float(compiled(np.array(value)))
            yield f"at {value}", value + 1.0 + offset, got

    found = verdict(text, tmp_path, "judged_here", compared, raises=lambda want: want == 2.0)
    assert (found.end, found.raised) == (end, raised)
    assert found.is_wrong == (end == "wrong") == found.what.startswith("at 1.0")
    assert "judged_here" not in sys.modules
