"""What opt-tool shows of nests, on the programs of the other tests: runs, trees, pictures and dependences."""

from __future__ import annotations

import re
from xml.dom.minidom import parseString

import numpy as np
import pytest
from cpu_nests import NESTS
from nestor.analysis.nest.loop_structure import functions, loops_in
from nestor.analysis.nest.sets.dependence import analyse
from nestor.dialects.diagnostic import NestorError
from nestor.lowering.pictures.nest_svg import emit_nest_svg
from nestor.lowering.pictures.nest_tree import emit_nest_tree
from nestor.tools.opt_tool.run_nest import RunRequest, print_results, run_module, save_results
from nestor.transforms.nest.cleanup.print_dependences import dependence_report
from parsed import parse_module


def module_of(name: str):
    return parse_module(NESTS[name].text, "nest.mlir")


def request(inputs=(), extents=None, mode="program", seed=0) -> RunRequest:
    return RunRequest(None, inputs, extents or {}, mode, seed)


@pytest.mark.parametrize("name", ["softmax", "matmul", "gauss-seidel", "mixed-types", "column-sums-in-place"])
def test_a_run_on_files_computes_what_numpy_does(name, tmp_path):
    nest, module = NESTS[name], module_of(name)
    arguments = nest.arguments(np.random.default_rng(5))
    expected = nest.expected(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments))
    function = functions(module)[0]
    inputs, names = [], [argument.name_hint for argument in function.args]
    for k, (argument, value) in enumerate(zip(function.args, arguments, strict=True)):
        attributes = function.arg_attrs.data[k].data if function.arg_attrs is not None else {}
        if getattr(attributes.get("nest.role"), "data", "in") == "out":
            continue
        if isinstance(value, np.ndarray):
            path = tmp_path / f"{argument.name_hint}.npy"
            np.save(path, value)
            inputs.append(str(path))
        else:
            inputs.append(str(value))
    results = run_module(module, request(inputs))
    assert set(results) == {names[k] for k in expected}
    for k, wanted in expected.items():
        np.testing.assert_allclose(results[names[k]], wanted, rtol=nest.rtol)


@pytest.mark.parametrize("name", NESTS)
def test_generated_inputs_give_one_result_in_any_order(name):
    extents = {"d0": 3, "d1": 4} if name == "iou-dynamic" else {}
    first = run_module(module_of(name), request(extents=extents))
    again = run_module(module_of(name), request(extents=extents, mode="shuffled", seed=2))
    assert first and first.keys() == again.keys()
    for key, array in first.items():
        np.testing.assert_array_equal(array, again[key])
        assert f"{key} = array(" in print_results(first)


@pytest.mark.parametrize(
    ("element", "text", "wanted"),
    [
        ("i1", "true", 1),
        ("i1", "0", 0),
        ("i8", "-3", -3),
        ("i8", "255", -1),
        ("f16", "1.5", 1.5),
    ],
)
def test_scalars(element, text, wanted):
    stored = "i8" if element == "i1" else element
    convert = (
        "%v = arith.extui %s : i1 to i8" if element == "i1" else f"%v = arith.select %t, %s, %s : {element}"
    )
    module = parse_module(f"""
    func.func @f(%s: {element}, %out: memref<{stored}> {{nest.role = "out"}}) {{
      %t = arith.constant true
      {convert}
      nest.store "out" %v, %out[] : memref<{stored}>
      func.return
    }}""")
    assert run_module(module, request([text]))["out"] == wanted
    with pytest.raises(NestorError, match="is not a value of it"):
        run_module(module, request(["1e400x"]))


def test_bfloat16_inputs_are_numbers():
    module = parse_module("""
    func.func @f(%x: memref<4xbf16>, %out: memref<4xf32> {nest.role = "out"}) {
      nest.for "i" %i = 0 to 4 {
        %v = nest.load %x[%i] : memref<4xbf16>
        %w = arith.extf %v : bf16 to f32
        nest.store "out" %w, %out[%i] : memref<4xf32>
      }
      func.return
    }""")
    values = run_module(module, request())["out"]
    assert np.isfinite(values).all() and np.ptp(values) > 0


def test_saved_results_can_be_called_anything(tmp_path):
    results = {"file": np.arange(3), "self": np.ones((2, 2), np.float32)}
    (tmp_path / "r.npz").write_bytes(save_results(results, "r.npz"))
    loaded = np.load(tmp_path / "r.npz")
    assert set(loaded.files) == {"file", "self"}
    np.testing.assert_array_equal(loaded["self"], results["self"])


@pytest.mark.parametrize("name", NESTS)
def test_pictures_show_every_loop_and_dependence(name):
    module = module_of(name)
    function = functions(module)[0]
    svg = emit_nest_svg(module)
    document = parseString(svg)
    tree, report = emit_nest_tree(module), dependence_report(function)
    heads = [
        t.firstChild.data for t in document.getElementsByTagName("text") if t.getAttribute("class") == "head"
    ]
    for loop in loops_in(function):
        assert any(head.startswith(f"for {loop.label} = ") for head in heads)
        assert re.search(rf"─ for {re.escape(loop.label)} = ", tree)
    vectors = analyse(function).all()
    titles = [t.firstChild.data for t in document.getElementsByTagName("title")]
    drawn = [line for title in titles for line in title.split("\n") if " dependence on " in line]
    listed = re.findall(r"^  (?:flow|anti|output|reduction) .* -> ", report, re.MULTILINE)
    assert len(drawn) == len(listed) == len(vectors)
