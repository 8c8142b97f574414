"""Arguments whose elements are the same in every call, and the function that computes what depends on them alone.

`nest-freeze` (transforms/nest/cleanup/freeze.py) makes that function; what runs a program calls it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dialects.attributes import FROZEN_FUNCTION


def frozen_function(function: Any) -> tuple[str, Sequence[int]] | None:
    """The name of the function that fills the last arguments of another one, and the arguments that it takes."""
    said = function.attributes.get(FROZEN_FUNCTION)
    if said is None:
        return None
    return said.data["function"].data, tuple(said.data["arguments"].get_values())
