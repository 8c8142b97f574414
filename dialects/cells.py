"""The names that notebooks show for their cells.

cell_of("/tmp/ipykernel_32138/3712308388.py")     "Cell In[4]", where IPython runs and has compiled a cell under that name
cell_of("user.py")                                None
"""

from __future__ import annotations

import sys


def cell_of(file: str) -> str | None:
    """What IPython calls the cell that it has compiled under the name of a file; None of other files."""
    if "ipy" not in file:
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = None if name_of is None else name_of(file)
    return None if not found else " ".join(found)
