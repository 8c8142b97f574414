"""Types that are looked up by their text are those that xDSL's parser reads, whatever stood in texts before."""

import pytest
from nestor.dialects.parse import SyntaxFailure, parse_module
from nestor.dialects.registry import make_context
from xdsl.parser import Parser

TYPES = (
    "f32", "bf16", "i1", "ui8", "si64", "index",
    "tensor<f32>", "tensor<?x3xbf16>", "vector<4xf32>", "vector<[4]x2xi8>", "memref<*xf32>",
    "memref<4x?xi32, strided<[?, 1], offset: ?>>", "memref<?xf32, strided<[2]>, 3>",
    "memref<4xf32, affine_map<(d0) -> (d0 + 1)>>", "memref<4xf32, affine_map<(d0) -> (-d0)>, 1>",
    'memref<4xf32, "shared">', "memref<2xmemref<3xf32>>", "memref<2xvector<3xf32>>",
    "memref<4xf32 >",
)  # fmt: skip


def arguments(text: str) -> list[str]:
    function = parse_module(text).body.block.last_op
    return [str(type) for type in function.function_type.inputs]  # type: ignore[union-attr]


@pytest.mark.parametrize("text", TYPES)
def test_the_second_time_as_the_first(text: str):
    expected = str(Parser(make_context(), text).parse_type())
    for _ in range(2):
        for more in ("", " ", " // memref<9xf64>\n", "\n"):
            found = arguments(f"func.func private @f({text}{more}, {text}{more})")
            assert found == [expected, expected]


def test_an_alias_means_what_its_own_text_says():
    for element in ("f32", "i8", "f32"):
        text = f"!t = {element}\n#m = affine_map<(d0) -> (d0 + {len(element)})>\n"
        found = arguments(text + "func.func private @f(memref<2x!t>, memref<2xf32, #m>)")
        assert found[0] == f"memref<2x{element}>" and f"(d0 + {len(element)})" in found[1]


def test_what_is_wrong_stays_wrong():
    for _ in range(2):
        with pytest.raises(SyntaxFailure):
            parse_module("func.func private @f(memref<2x>)")
        with pytest.raises(SyntaxFailure):
            parse_module("func.func private @f(memref<2xf32> memref<2xf32>)")


def test_a_literal_that_no_integer_has_is_a_mistake_in_the_text():
    number = "1" + "0" * 40
    shuffle = f"vector.shuffle %v, %v [{number}, 1] : vector<2xf32>, vector<2xf32>"
    with pytest.raises(SyntaxFailure, match="out of range"):
        parse_module(f"func.func @f(%v: vector<2xf32>) {{ %u = {shuffle} func.return }}")
