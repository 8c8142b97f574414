"""docs/cuda.md shows what the compiler does today: `make docs` writes it."""

from nestor.tools.docs.cuda import page
from places import ROOT


def test_the_page_is_current():
    kept = ROOT / "docs" / "cuda.md"
    assert kept.read_text() == page(), "run make docs, and look at the difference"
