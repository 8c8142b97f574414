"""Graphs of nt functions: every operation and every use is there, boxes are where they belong, and nothing overlaps."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.nt.halves import half_of
from nestor.dialects.nt.ops import FusionOp
from nestor.dialects.parse import parse_module
from nestor.frontend.jit.specialise.stages import lowered_copy
from nestor.lowering.pictures.layered import Box, Edge, lay_out
from nestor.lowering.pictures.nt_graph import Graph, emit_nt_graph, emit_nt_graph_html
from xdsl.dialects.func import FuncOp


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def loss(w1, w2, x):
    h = np.tanh(x @ w1)
    return (np.tanh(h @ w2) ** 2).sum()


def simulated(u):
    for _ in range(20):
        u = np.sin(u[::-1]) * u
    return (u * u).sum()


def controlled(x):
    s = 0.0
    y = np.zeros_like(x)
    for i in range(x.size):
        y[i] = x[i] * 2
    while s < 10:
        s = s + y.sum()
        y = y * 1.5
    if s > 11:
        y = np.sqrt(y) * s
    return y, s


PROGRAMS = {
    "softmax": (softmax, [np.ones((4, 5))], {}),
    "softmax of any shape": (softmax, [np.ones((4, 5))], {"dynamic": True}),
    "gradient": (nt.grad(loss, argnums=(0, 1)), [np.ones((5, 7)), np.ones((7, 3)), np.ones((4, 5))], {}),
    "gradient of a loop": (nt.grad(simulated), [np.ones(8)], {}),
    "control flow": (controlled, [np.ones(5)], {}),
}


def fused(name):
    function, arguments, options = PROGRAMS[name]
    low = nt.jit(function, **options).lower(*arguments)
    return lowered_copy(low.program.module, ("to-fusions",))


def graphs(module):
    return [Graph(op) for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]


def boxes(box):
    yield box
    for child in box.children:
        yield from boxes(child)


def laid_out(name):
    (graph,) = graphs(fused(name))
    lay_out(graph.root, graph.edges)
    return graph


# ---- what is in it --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_computation_is_a_box_with_its_line(name):
    module = fused(name)
    (graph,) = graphs(module)
    text = [" | ".join(box.lines) for box in boxes(graph.root)]
    names = [
        op.name.partition(".")[2]
        for op in module.walk()
        if op.name in ("nt.exp", "nt.tanh", "nt.dot", "nt.sin")
    ]
    for one in set(names):
        drawn = [line for line in text if re.search(rf"(^|= ){one} \| ", line)]
        assert len(drawn) == names.count(one)
        assert all("line " in line for line in drawn)
    fusions = [op for op in module.walk() if isinstance(op, FusionOp)]
    assert [b.lines[0] for b in boxes(graph.root) if b.style == "fusion"] == [
        f"fusion {op.label.data}" for op in fusions
    ]


def test_edges_are_uses():
    module = parse_module(
        """
func.func @f(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %a = nt.add %x, %y : tensor<4xf64>
  %r = nt.fusion "r" {
    %b = nt.multiply %a, %x : tensor<4xf64>
    %c = nt.exp %b : tensor<4xf64>
    nt.yield %c : tensor<4xf64>
  } : tensor<4xf64>
  %s = nt.subtract %r, %a : tensor<4xf64>
  func.return %s : tensor<4xf64>
}
""",
        "f.mlir",
    )
    (graph,) = graphs(module)

    def name(box):
        return box.lines[0].partition(" = ")[0]

    found = {(name(edge.source), name(edge.sink)) for edge in graph.edges}
    assert found == {
        ("x", "a"),
        ("y", "a"),
        ("a", "b"),
        ("x", "b"),
        ("b", "c"),
        ("c", "s"),
        ("a", "s"),
        ("s", "return"),
    }


def test_constants_are_said_where_they_are_used():
    (graph,) = graphs(fused("control flow"))
    lines = [line for box in boxes(graph.root) for line in box.lines]
    assert "with 1.5" in lines and "with 10" in lines
    assert not any("constant" in line for line in lines)


def test_regions_are_boxes_in_boxes():
    (graph,) = graphs(fused("control flow"))
    control = {box.lines[0]: box for box in boxes(graph.root) if box.style == "control"}
    assert set(control) >= {"while", "condition", "round", "if", "then", "else"}
    assert control["round"].parent is control["while"] and control["then"].parent is control["if"]
    assert any(box.lines[0] == "fusion s" for box in boxes(control["round"]))


@pytest.mark.parametrize("name", ["gradient", "gradient of a loop"])
def test_the_halves_of_a_gradient_stand_side_by_side(name):
    graph = laid_out(name)
    left, right = ([b for b in graph.root.children if b.column == k] for k in (0, 1))
    assert left and right
    assert max(b.x + b.width for b in left) < min(b.x for b in right)
    backward = {
        op.label.data
        for op in fused(name).walk()
        if isinstance(op, FusionOp)
        and op.parent_op().name == "func.func"
        and {half.is_backward for one in op.walk() if (half := half_of(one))} == {True}
    }
    assert backward <= {b.lines[0].removeprefix("fusion ") for b in right}
    assert all(not child.column for b in (*left, *right) for child in b.children)


# ---- where it is ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_boxes_hold_what_is_theirs_and_do_not_overlap(name):
    for box in boxes(laid_out(name).root):
        for child in box.children:
            assert box.x <= child.x and child.x + child.width <= box.x + box.width
            assert box.y <= child.y and child.y + child.height <= box.y + box.height
        for k, one in enumerate(box.children):
            for other in box.children[k + 1 :]:
                beside = one.x + one.width <= other.x or other.x + other.width <= one.x
                assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_go_down(name):
    graph = laid_out(name)
    for edge in graph.edges:
        if not edge.turns:
            assert edge.source.y + edge.source.height <= edge.sink.y


def test_an_edge_over_several_layers_is_led_past_the_boxes_between():
    root = Box("function", ["f"])
    a, b, c = (root.add(Box("point", [name], width=40, height=20)) for name in "abc")
    long = Edge(a, c)
    lay_out(root, [Edge(a, b), Edge(b, c), long])
    (point,) = long.points
    assert not b.x < point.x < b.x + b.width and b.y <= point.y <= b.y + b.height


# ---- the picture ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_picture_is_whole_and_in_plain_colours(name):
    text = emit_nt_graph(fused(name))
    root = ElementTree.fromstring(text)
    width, height = float(root.get("width")), float(root.get("height"))
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        if rect.get("x") is not None:
            assert float(rect.get("x")) + float(rect.get("width")) <= width
            assert float(rect.get("y")) + float(rect.get("height")) <= height
    assert "var(" not in text and "prefers-color-scheme:dark" in text and "href" not in text
    classes = set(re.findall(r'class="(g-[a-z]+)"', text))
    light, _, dark = text.partition("@media")
    assert classes and all(f".{one}{{" in light and f".{one}{{" in dark for one in classes)


def test_the_graph_of_a_lowered_function():
    low = nt.jit(softmax).lower(np.ones((4, 5)))
    assert low.graph() == emit_nt_graph(fused("softmax"))
    assert low.graph("html") == emit_nt_graph_html(fused("softmax"))
    with pytest.raises(TypeError, match="formats: svg, html"):
        low.graph("png")


def test_names_that_xml_has_no_form_for_are_written():
    def angled(x):
        return np.where(x < 1, x, 2)

    text = nt.jit(angled).lower(np.ones(3)).graph()
    ElementTree.fromstring(text)


def test_a_function_that_gives_back_an_argument_is_drawn():
    assert ">x</text>" in nt.jit(lambda x: x).lower(np.ones((3, 4)).T).graph()


def test_later_levels_are_refused():
    module = parse_module("func.func @f(%x: memref<4xf64>) {\n  func.return\n}", "f.mlir")
    with pytest.raises(nt.NestorError, match="draws programs of the nt level"):
        emit_nt_graph(module)
