"""What nt.checkpoint may be told: what reverse mode keeps of a function, and what it computes again."""

from __future__ import annotations

SAVE_NOTHING, SAVE_PRODUCTS, SAVE_ALL = "save-nothing", "save-products", "save-all"

POLICIES: dict[str, str] = {
    SAVE_NOTHING: "keeps what the function is given, and computes the rest again",
    SAVE_PRODUCTS: "keeps results of products, reductions, scans, calls, loops and branches, and computes the rest again",
    SAVE_ALL: "keeps all that its derivative needs, and computes nothing again",
}
"""What reverse mode does with what a `nt.checkpoint` computes."""
