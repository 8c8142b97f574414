"""Names of loops stay unique where copies meet loops that are called like them already."""

from __future__ import annotations

from collections import Counter

import pytest
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.transforms.nest.loops.cut import cut
from nestor.transforms.nest.loops.peel import peel
from nestor.transforms.nest.loops.split import split
from parsed import parse_module


@pytest.mark.parametrize(
    "primitive", [lambda loop: cut(loop, 3), lambda loop: peel(loop), lambda loop: split(loop, 4)]
)
@pytest.mark.parametrize("inner", ["i.0", "i.1", "i.1.1", "i.o", "i.i", "i.t", "i.head", "j"])
def test_copies_have_names_of_their_own(primitive, inner: str):
    module = parse_module(f"""
        func.func @f(%x: memref<7x5xf32>) {{
          nest.for "i" %i = 0 to 7 {{
            nest.for "{inner}" %j = 0 to 5 {{
              %v = nest.load %x[%i, %j] : memref<7x5xf32>
              nest.store "x" %v, %x[%i, %j] : memref<7x5xf32>
            }}
          }}
          func.return
        }}""")
    primitive(find_loop(module, "i"))
    assert {name: n for name, n in Counter(loop.label for loop in loops_in(module)).items() if n > 1} == {}
