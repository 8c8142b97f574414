"""docs/cuda.md shows what the compiler does today: `make docs` writes it."""

from pathlib import Path

from nestor.tools.docs.cuda import page


def test_the_page_is_current():
    kept = Path(__file__).parents[2] / "docs" / "cuda.md"
    assert kept.read_text() == page(), "run make docs, and look at the difference"
