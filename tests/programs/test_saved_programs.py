"""`compiled.save` and `nt.load`: a program in a file, without its function, in a process without the compiler."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import namedtuple

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import FileError, SavedProgramError
from nestor.frontend.jit.driver import saved
from nestor.runtime.disk_cache import Variant, packed, unpacked

X = np.arange(12.0).reshape(3, 4)
SCALE = 2.0
WEIGHTS = np.ones(4)
Pair = namedtuple("Pair", "a b")


def ratio(x, y, eps=0.5):
    return np.maximum(x, y) / (x + y + eps)


def tree(p, k, *, gain=2.0):
    rows, picked = p
    if k < 0:
        raise ValueError(f"k is {k}")
    return {"sum": rows * gain, "one": (picked[k], k + 1, None, "text")}


def weighted_sum(x, w):
    return (x @ w + (w * 2).sum()).sum(axis=1)


def ranked(x, k):
    order = np.argsort(-x, axis=1, kind="stable")
    return np.take_along_axis(x, order[:, :3], axis=1) + np.linalg.det(x[:k, :k])


def gathered(*xs, scale=2.0, **more):
    return sum(xs)[more["part"]] * scale + more["z"]


def total(p, x):
    return ((x * p["a"] + p["b"][0]) ** 2).sum()


def test_parameters_of_all_kinds(tmp_path):
    loaded = saved_and_loaded_with(tmp_path / "g", gathered, (X, X), {"z": X[1:], "part": slice(1, None)})
    np.testing.assert_array_equal(loaded(X, X, z=X[1:], part=slice(1, None)), 4 * X[1:] + X[1:])
    with pytest.raises(TypeError, match=r"'more_part' is slice\(0, None, None\)"):
        loaded(X, X, z=X[1:], part=slice(0, None))
    gradient = nt.grad(total)
    p = {"a": np.float64(2.0), "b": [X[0]]}
    got, wanted = saved_and_loaded(tmp_path / "d", gradient, p, X)(p, X), nt.jit(gradient)(p, X)
    assert got["a"] == wanted["a"]
    np.testing.assert_array_equal(got["b"][0], wanted["b"][0])


def test_functions_of_numpy_are_called_by_the_loaded_program(tmp_path):
    loaded = saved_and_loaded(tmp_path / "n", ranked, X, 3)
    np.testing.assert_allclose(loaded(X, 3), ranked(X, 3), rtol=1e-12)


def test_constant_arguments_are_packed_by_the_loaded_program(tmp_path):
    w = np.random.default_rng(2).random((4, 300))
    w.setflags(write=False)
    loaded = saved_and_loaded(tmp_path / "c", weighted_sum, X, w, constants="w")
    np.testing.assert_allclose(loaded(X, w), weighted_sum(X, w), rtol=1e-12)
    other = w * 3
    other.setflags(write=False)
    np.testing.assert_allclose(loaded(X, other), weighted_sum(X, other), rtol=1e-12)
    with pytest.raises(nt.UnsupportedError, match="'w' is constant, and its array can be written"):
        loaded(X, w.copy())


class Foreign:
    """An array of another library."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


def test_arrays_of_other_libraries(tmp_path):
    loaded = saved_and_loaded(tmp_path / "f", ratio, X, X)
    np.testing.assert_array_equal(loaded(Foreign(X), Foreign(X + 1)), ratio(X, X + 1))


def positive(x):
    return x[x > 0]


def shifted(x, n):
    x[1:] += n
    return x[::-1]


def scaled(x):
    return x * SCALE


def saved_and_loaded(path, function, *arguments, **options):
    nt.jit(function, **options).lower(*arguments).compile().save(path)
    return nt.load(path)


def saved_and_loaded_with(path, function, arguments, keywords):
    nt.jit(function).lower(*arguments, **keywords).compile().save(path)
    return nt.load(path)


def test_it_is_the_same_program(tmp_path):
    path = tmp_path / "f.nestor"
    compiled = nt.jit(ratio, dynamic=True).lower(X, X).compile()
    compiled.save(path)
    loaded = nt.load(path)
    for shape in [(3, 4), (7, 5), (20, 300)]:
        x, y = np.random.default_rng(1).random((2, *shape))
        np.testing.assert_array_equal(loaded(x, y), compiled(x, y))
    np.testing.assert_array_equal(loaded(y=X, x=X, eps=0.5), ratio(X, X))
    out = np.empty((3, 4))
    assert loaded(X, X, out=out) is out
    with pytest.raises(TypeError, match=r"ratio\(\) missing a required argument: 'y'"):
        loaded(X)
    with pytest.raises(TypeError, match="not of the types"):
        loaded(X.astype("f4"), X)
    with pytest.raises(TypeError, match=r"'eps' is 1\.0, and the program was compiled for 0\.5"):
        loaded(X, X, 1.0)
    with pytest.raises(TypeError, match="not of the types"):
        loaded(np.ones((1, 4)), np.ones((1, 4)))


def test_structures_errors_and_kinds_of_results(tmp_path):
    loaded = saved_and_loaded(tmp_path / "t", tree, (X, X[0]), 1)
    result = loaded((X + 1, X[1]), 3)
    assert list(result) == ["sum", "one"] and result["one"] == (7.0, 4, None, "text")
    np.testing.assert_array_equal(result["sum"], (X + 1) * 2)
    assert type(result["one"][1]) is int
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 4"):
        loaded((X, X[0]), 9)
    with pytest.raises(ValueError, match="k is -3"):
        loaded((X, X[0]), -3)


def test_results_of_unknown_extents_and_written_arguments(tmp_path):
    loaded = saved_and_loaded(tmp_path / "p", positive, X[0] - 1)
    for x in (np.array([1.0, -2, 3, 4]), -np.ones(4), np.array([np.nan, np.inf, -np.inf, 0])):
        np.testing.assert_array_equal(loaded(x), positive(x))
    x = X.copy()
    loaded = saved_and_loaded(tmp_path / "s", shifted, x, 2)
    wanted, got = shifted(X.copy(), 5), loaded(x, 5)
    np.testing.assert_array_equal(got, wanted)
    assert np.shares_memory(got, x)
    x.flags.writeable = False
    with pytest.raises(TypeError, match="not of the types"):
        loaded(x, 5)


def test_a_loaded_program_is_saved_again(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    saved_and_loaded(first, ratio, X, X).save(second)
    np.testing.assert_array_equal(nt.load(second)(X, X), ratio(X, X))


def test_it_loads_without_compiler_and_function(tmp_path):
    path = tmp_path / "f.nestor"
    nt.jit(tree).lower((X, X[0]), 1).compile().save(path)
    code = (
        "import sys, numpy as np, nestor as nt;"
        f"f = nt.load({os.fspath(path)!r}); x = np.arange(12.0).reshape(3, 4);"
        "print(f((x, x[0]), 2)['one']);"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'xdsl', 'llvmlite', 'islpy'}))"
    )
    environment = {**os.environ, "NESTOR_CACHE": "0"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert ran.stdout.splitlines() == ["(np.float64(2.0), 3, None, 'text')", "[]"], ran.stderr


def test_what_was_outside_is_compiled_in_as_it_is_when_saved(tmp_path, monkeypatch):
    compiled = nt.jit(scaled).lower(X).compile()
    compiled.save(tmp_path / "f")
    np.testing.assert_array_equal(nt.load(tmp_path / "f")(X), X * 2)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    np.testing.assert_array_equal(nt.load(tmp_path / "f")(X), X * 2)
    with pytest.raises(nt.UnsupportedError, match="not what it was when the function was lowered"):
        compiled.save(tmp_path / "f")


def weighted(x):
    return x * WEIGHTS


def printing(x):
    print(x[0])
    return x + 1


def pairs(x):
    return Pair(x + 1, x)


def appending(x, items):
    items.append(x.sum())
    return x


@pytest.mark.parametrize(
    ("function", "arguments", "options", "message"),
    [
        (weighted, (X[0],), {}, r"reads arrays from outside \('WEIGHTS'\)"),
        (printing, (X[0],), {}, "prints or calls Python"),
        (pairs, (X[0],), {}, "test_saved_programs.Pair' in them"),
        (appending, (X[0], []), {}, "changes lists, dicts or objects"),
        (ratio, (X, X), {"target": "interp"}, "its target is not 'cpu'"),
    ],
)
def test_what_needs_its_process_is_refused(tmp_path, function, arguments, options, message):
    compiled = nt.jit(function, **options).lower(*arguments).compile()
    with pytest.raises(nt.UnsupportedError, match=message):
        compiled.save(tmp_path / "f")
    assert not os.listdir(tmp_path)


# ---- files ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "f"
    nt.jit(ratio).lower(X, X).compile().save(path)
    return path.read_bytes()


def refused(tmp_path, data, error, message):
    path = tmp_path / "f"
    path.write_bytes(data)
    with pytest.raises(error, match=message):
        nt.load(path)


def test_damaged_files_are_refused(tmp_path, content):
    for end in (16, 19, 40, len(content) // 2, len(content) - 1):
        refused(tmp_path, content[:end], SavedProgramError, "damaged or cut off")
    for place in (30, 80, len(content) // 2, len(content) - 3):
        changed = bytearray(content)
        changed[place] ^= 4
        refused(tmp_path, bytes(changed), SavedProgramError, "damaged or cut off")
    refused(tmp_path, content + b"x", SavedProgramError, "damaged or cut off")
    for data in (b"", b"\x7fELF" + content[4:], b"PK\3\4", b"nestor programs are fine"):
        refused(tmp_path, data, SavedProgramError, "is no saved program")


def test_other_versions_are_refused(tmp_path, content):
    start = len(saved._MAGIC)
    other = content[:start] + b"\x63\0\0\0" + content[start + 4 :]
    refused(tmp_path, other, SavedProgramError, "has form 99, and this version of Nestor")
    refused(tmp_path, with_facts(content, nestor="9.9"), SavedProgramError, "saved by Nestor 9.9, this is")


def with_facts(content, **facts):
    """A file with other facts, and the digest that belongs to them."""
    start = len(saved._MAGIC) + 4
    variant = next(unpacked(saved._KEY, content[start:]))
    size = int.from_bytes(variant.conditions[:4], "little")
    header = json.dumps({**json.loads(variant.conditions[4 : 4 + size]), **facts}).encode()
    conditions = len(header).to_bytes(4, "little") + header + variant.conditions[4 + size :]
    return content[:start] + packed(saved._KEY, Variant(conditions, variant.program, variant.code))


def test_other_processors_are_refused(tmp_path, content):
    refused(
        tmp_path, with_facts(content, processor="riscv64"), nt.UnsupportedError, "machine code for riscv64"
    )
    lacking = with_facts(content, needs=["fma4", "no-such-set"])
    refused(
        tmp_path, lacking, nt.UnsupportedError, r"a processor that has .*no-such-set, and this one has not"
    )


def test_files_name_no_code_of_python(tmp_path, content):
    start = len(saved._MAGIC) + 4
    variant = next(unpacked(saved._KEY, content[start:]))

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (os.fspath(tmp_path / "made"),)

    bomb = Variant(variant.conditions, pickle.dumps(Bomb()), variant.code)
    refused(tmp_path, content[:start] + packed(saved._KEY, bomb), SavedProgramError, "names 'posix.mkdir'")
    assert not (tmp_path / "made").exists()


def test_paths_that_cannot_be_used(tmp_path):
    compiled = nt.jit(ratio).lower(X, X).compile()
    for path in (tmp_path / "no" / "f", tmp_path):
        with pytest.raises(FileError, match="cannot be written"):
            compiled.save(path)
        with pytest.raises(OSError, match="cannot be read"):
            nt.load(path)
    assert not os.listdir(tmp_path)
    target = tmp_path / "f"
    target.write_bytes(b"old")
    compiled.save(target)
    assert os.listdir(tmp_path) == ["f"] and nt.load(target)(X, X).shape == (3, 4)


def test_values_that_were_compiled_in_are_those_of_the_call():
    def rows(x, n):
        return x.reshape(n, -1).sum(axis=0)

    compiled = nt.jit(rows).lower(X, 3).compile()
    np.testing.assert_array_equal(compiled(X, 3), rows(X, 3))
    with pytest.raises(TypeError, match="'n' is 2, and the program was compiled for 3"):
        compiled(X, 2)
