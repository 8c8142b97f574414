"""What plain `xdsl-opt` learns from Nestor, through xDSL's `xdsl.universe` entry point.

Nestor's own dialects and passes. The dialects that Nestor extends (`dialects/ext`) are not here: xDSL refuses
two dialects of one name, so its own `vector` and `llvm` stay. Operations that only the extensions have parse
in `xdsl-opt` with `--allow-unregistered-dialect`.
"""

from __future__ import annotations

from functools import partial

from xdsl.universe import Universe

from ..dialects.registry import OWN, load_dialect
from ..transforms.registry import PASSES, load_pass

NESTOR_UNIVERSE = Universe(
    all_dialects={name: partial(load_dialect, name) for name in OWN},
    all_passes={name: partial(load_pass, name) for name in PASSES},
)
