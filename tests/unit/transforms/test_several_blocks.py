"""Functions of several blocks (`cf`): passes over loop nests leave them as they are, or refuse them; none gives up."""

from __future__ import annotations

import pytest
from nestor.tools.opt_tool.main import main
from nestor.transforms.registry import PASSES

BLOCKS = """
func.func @blocks(%c: i1, %o: memref<8xf32>) {
  cf.cond_br %c, ^one, ^two
^one:
  func.return
^two:
  func.return
}
func.func private @outlined(%o: memref<8xf32>) attributes {nestor.outlined} {
  cf.br ^bb1
^bb1:
  func.return
}
"""
OPTIONS = {"nest-outline-repeated": "{nests=1 saved=1}"}


@pytest.mark.parametrize("name", sorted(PASSES))
def test_no_pass_fails_of_several_blocks(name, tmp_path, capsys):
    path = tmp_path / "blocks.mlir"
    path.write_text(BLOCKS)
    main(["-p", name + OPTIONS.get(name, ""), str(path)])
    assert "internal error" not in capsys.readouterr().err
