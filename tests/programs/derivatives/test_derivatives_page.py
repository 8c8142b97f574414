"""What docs/derivatives.md shows runs, and gives what it says."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "derivatives.md"


def test_the_page(tmp_path):
    text = PAGE.read_text().partition("## In the IR")[0]
    lines = [line[4:] if line.startswith("    ") else "" for line in text.splitlines()]
    code = tmp_path / "page.py"
    code.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location("derivatives_page", code)
    assert spec is not None and spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    assert page.gradient["layers"][1]["w"].shape == (3, 3)
    assert page.second == pytest.approx(-np.sin(0.5))
    np.testing.assert_allclose(page.product, 6 * page.w * page.t)
    np.testing.assert_allclose(page.tangent, np.cos(page.w) * page.w + np.sin(page.w))
    np.testing.assert_allclose(page.g, 1 / (1 + np.exp(-page.w)))
    np.testing.assert_allclose(page.aux["prediction"], np.tanh(page.x @ page.w))
