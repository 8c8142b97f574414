"""Jitted functions, derivatives and compiled programs in other processes: pickled by name, or by value with their texts."""

from __future__ import annotations

import contextlib
import copy
import importlib
import importlib.util
import pickle
import subprocess
import sys
import textwrap
import threading

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.frontend.interface import carried_texts
from nestor.frontend.interface.errors import NotPickledError
from nestor.frontend.jit.disk import conditions
from nestor.runtime.errors import KernelError

pytestmark = pytest.mark.one_of(2)

X = np.arange(4.0)

CELL = """
import dataclasses
import functools
import numpy as np
import nestor as nt

scale = 3.0

def helper(x):
    return x * scale

@nt.jit
def f(x):
    return np.exp(helper(x) / 10).sum()

@functools.partial(nt.jit, static_argnums=0)
def power(n, x, k=2.0):
    return x * k if n == 0 else power(n - 1, x) * x

def plain_power(n, x, k=2.0):
    return x * k if n == 0 else fast_power(n - 1, x) * x

fast_power = nt.jit(plain_power, static_argnums=0)

@functools.partial(nt.jit, static_argnums=0)
def ping(n, x):
    return pong(n, x) + 1

@functools.partial(nt.jit, static_argnums=0)
def pong(n, x):
    return helper(x) if n else ping(n + 1, x)

def loss(w, b=1.0):
    return (w * w).sum() * scale + b

# ---- the next cell

class Base:
    def twice(self, x):
        return x * 2

# ---- the next cell

class Model(Base):
    def __init__(self):
        self.k = 2.0

    @nt.jit
    def step(self, x):
        return helper(self.twice(x)) * self.k

    @staticmethod
    @nt.jit
    def thrice(x):
        return x * 3

@dataclasses.dataclass
class Point:
    x: np.ndarray
    y: float = 2.0

@nt.jit
def norm(p):
    return (p.x * p.y).sum()

def scaled_by(k):
    @nt.jit
    def scaled(x):
        return x * k
    return scaled

@nt.custom_vjp
def square(x):
    return x * x

square.defvjp(lambda x: (square(x), x), lambda x, c: (7 * c * x,))

model = Model()
x = np.arange(4.0)
double = nt.jit(lambda x: x * 2)
_, pull = nt.vjp(loss, x)
JOBS = {
    "function": (f, (x,)),
    "lambda": (double, (x,)),
    "gradient": (nt.grad(loss), (x,)),
    "value_and_grad": (nt.value_and_grad(loss), (x,)),
    "hessian": (nt.hessian(loss), (x,)),
    "jacfwd": (nt.jacfwd(helper), (x,)),
    "vmap": (nt.vmap(lambda x: x * scale), (x,)),
    "vmap of NumPy": (nt.vmap(np.sin), (x,)),
    "checkpoint": (nt.checkpoint(f, policy="save-all"), (x,)),
    "gradient with options": (nt.jit(nt.grad(loss), dynamic=True), (x,)),
    "gradient of lambda": (nt.grad(nt.jit(lambda x: (x * scale).sum())), (x,)),
    "recursive": (power, (3, x)),
    "recursive through a name": (fast_power, (3, x)),
    "two that call each other": (ping, (0, x)),
    "static method": (Model.thrice, (x,)),
    "partial": (nt.jit(functools.partial(helper)), (x,)),
    "closure": (scaled_by(5.0), (x,)),
    "traced": (nt.trace(helper), (x,)),
    "rule of its own": (nt.grad(square), (2.0,)),
    "compiled": (f.lower(x).compile(), (x,)),
    "pullback": (pull, (np.float64(2.0),)),
    "fallback": (nt.jit(lambda x: eval("x + 1"), fallback="numpy"), (x,)),
}
OF_CLASSES = {
    "method": (model.step, (x,)),
    "jitted method": (nt.jit(model.twice), (x,)),
    "dataclass": (norm, (Point(x),)),
}
"""

START = """
import linecache, pickle, sys

def run_cell(text, number=1):
    # As IPython does: in __main__, which has no file, with the text in linecache.
    file = f"<ipython-input-{number}-5f0d>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), vars(sys.modules["__main__"]))
"""

WRITE = """
import cloudpickle
for k, text in enumerate(open(sys.argv[1]).read().split("# ---- the next cell")):
    run_cell(text, k)
made = {}
for name, (function, arguments) in JOBS.items():
    expected = function(*arguments)
    for pickler in (pickle, cloudpickle):
        made[pickler.__name__, name] = pickler.dumps((function, arguments, expected))
for name, (function, arguments) in OF_CLASSES.items():
    made["cloudpickle", name] = cloudpickle.dumps((function, arguments, function(*arguments)))
    assert "nt.jit" in repr(function) or name == "method"
assert pickle.loads(pickle.dumps(f)) is f and pickle.loads(pickle.dumps(double)) is double
scale = 7.0                                        # what was pickled has the value that there was
with open(sys.argv[2], "wb") as file:
    pickle.dump(made, file)
"""

READ = """
import numpy as np
with open(sys.argv[2], "rb") as file:
    made = pickle.load(file)
report = {}
for key, data in made.items():
    try:
        function, arguments, expected = pickle.loads(data)
        for got, wanted in zip(*[one if isinstance(one, tuple) else (one,) for one in (function(*arguments), expected)]):
            np.testing.assert_array_equal(got, wanted)
        report[key] = "right"
    except Exception as error:
        report[key] = f"{type(error).__name__}: {error}"
with open(sys.argv[3], "wb") as file:
    pickle.dump(report, file)
"""

NAMES = [f"    {line}".split('"')[1] for line in CELL.splitlines() if line.startswith('    "')]
OF_CLASSES = ("method", "jitted method", "dataclass")


def run(code: str, *arguments: object, seconds: float = 600) -> str:
    """What a new process prints."""
    command = [sys.executable, "-c", START + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What another process made of what a notebook pickled."""
    pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "cell.py").write_text(CELL)
    run(WRITE, folder / "cell.py", folder / "made")
    run(READ, "", folder / "made", folder / "report")
    return pickle.loads((folder / "report").read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_from_a_notebook_to_another_process(report, name):
    wanted = ["cloudpickle"] if name in OF_CLASSES else ["pickle", "cloudpickle"]
    assert {key[0]: value for key, value in report.items() if key[1] == name} == dict.fromkeys(
        wanted, "right"
    )


OF_A_SCRIPT = """
import pickle, sys
import cloudpickle
made = {}
for name, (function, arguments) in {**JOBS, **OF_CLASSES}.items():
    made["cloudpickle", name] = cloudpickle.dumps((function, arguments, function(*arguments)))
assert pickle.loads(pickle.dumps(power)) is power and len(pickle.dumps(power)) < 200
with open(sys.argv[2], "wb") as file:
    pickle.dump(made, file)
"""


def test_from_a_script_to_another_process(tmp_path):
    """Functions that stand at names of a file which is run: cloudpickle takes them by value all the same."""
    pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    (tmp_path / "script.py").write_text(CELL + OF_A_SCRIPT)
    command = [sys.executable, tmp_path / "script.py", "", tmp_path / "made"]
    subprocess.run(command, check=True, timeout=600)
    (tmp_path / "script.py").unlink()
    run(READ, "", tmp_path / "made", tmp_path / "report")
    report = pickle.loads((tmp_path / "report").read_bytes())
    assert report == {("cloudpickle", name): "right" for name in NAMES}


# ---- pools of processes -----------------------------------------------------------------------------

POOLS = """
def main():
    run_cell(open(sys.argv[1]).read())
    jobs = [JOBS[name] for name in ("function", "lambda", "gradient", "compiled")]
    POOL(jobs)
"""

CHECK = """
def check(function, arguments, got):
    import numpy as np
    np.testing.assert_array_equal(got, function(*arguments))
"""


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    path = tmp_path_factory.mktemp("cell") / "cell.py"
    path.write_text(CELL)
    return path


def needs(package):
    """Skip where a package is not installed. It is not imported: some change how exceptions are pickled."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def test_a_pool_of_multiprocessing(cell):
    pool = """
def pool(jobs):
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(2) as workers:
        later = [(f, x, workers.apply_async(f, x)) for f, x in jobs]
        for function, arguments, result in later:
            check(function, arguments, result.get(300))
"""
    run(CHECK + pool + POOLS.replace("POOL", "pool") + "main()", cell)


def test_joblib(cell):
    needs("joblib")
    pool = """
def pool(jobs):
    import joblib
    results = joblib.Parallel(2, timeout=300)(joblib.delayed(f)(*x) for f, x in jobs for _ in range(2))
    for (function, arguments), got in zip([job for job in jobs for _ in range(2)], results):
        check(function, arguments, got)
"""
    run(CHECK + pool + POOLS.replace("POOL", "pool") + "main()", cell)


@pytest.mark.slow
def test_a_cluster_of_dask(cell):
    needs("distributed")
    pool = """
def pool(jobs):
    from dask.distributed import Client, LocalCluster
    local = dict(processes=True, dashboard_address=None)
    with LocalCluster(n_workers=2, threads_per_worker=1, **local) as cluster, Client(cluster) as client:
        later = [(f, x, client.submit(f, *x)) for f, x in jobs]
        for function, arguments, future in later:
            check(function, arguments, future.result(300))
        function, arguments = jobs[0]
        before = function(*arguments)
        sys.modules["__main__"].scale = 11.0
        assert before != function(*arguments)
        check(function, arguments, client.submit(function, *arguments).result(300))
        interp = nt.jit(helper, target="interp").lower(*arguments).compile()
        try:
            client.submit(interp, *arguments).result(300)
        except Exception as error:
            texts = []
            while error is not None:
                texts.append(str(error))
                error = error.__cause__ or error.__context__
            assert "its target is not 'cpu'" in "".join(texts), texts
        else:
            raise AssertionError
        check(function, arguments, client.submit(function, *arguments, pure=False).result(300))
"""
    run(CHECK + pool + POOLS.replace("POOL", "pool") + "main()", cell)


SCRIPT = """
import multiprocessing
import sys
import numpy as np
import nestor as nt

scale = 3.0

@nt.jit
def f(x):
    return x * scale

def plain(x):
    return x + scale

soft = nt.jit(plain)

if __name__ == "__main__":
    import pickle

    @nt.jit
    def only_here(x):
        return x - scale

    assert len(pickle.dumps(f)) < 200 and len(pickle.dumps(soft)) < 300       # by their names
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for function in (f, soft, only_here, nt.grad(lambda x: x * x)):
            assert pool.apply_async(function, (2.0,)).get(300) == function(2.0)
"""


def test_a_script(tmp_path):
    pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    (tmp_path / "script.py").write_text(SCRIPT)
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, timeout=600)


# ---- by name ----------------------------------------------------------------------------------------

MODULE = """
import nestor as nt

scale = 3.0

@nt.jit
def f(x):
    return x * scale

@nt.grad
def slope(x):
    return x * x * scale

def plain(x):
    return x * scale

soft = nt.jit(plain, dynamic=True, static_argnames="x", fastmath=["nnan"])
gradient = nt.grad(plain)
double = nt.jit(lambda x: 2 * x)

class Model:
    k = 2.0

    @nt.jit
    def step(self, x):
        return x * self.k

@nt.custom_vjp
def square(x):
    return x * x

square.defvjp(lambda x: (square(x), x), lambda x, c: (7 * c * x,))
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "of_pickling.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("of_pickling")
    del sys.modules["of_pickling"]


def picklers():
    found = [pickle]
    with contextlib.suppress(ImportError):
        found.append(importlib.import_module("cloudpickle"))
    return found


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_what_stands_at_a_name_is_found_there(module, protocol):
    for pickler in picklers():
        for thing in (module.f, module.slope if protocol > 2 else module.f, module.square, module.gradient):
            data = pickler.dumps(thing, protocol)
            assert pickle.loads(data) is thing and b"scale" not in data
        again = pickle.loads(pickler.dumps(module.Model().step, protocol))
        assert again.__func__ is module.Model.step and again(3.0) == 6.0


def test_a_function_with_options(module):
    for pickler in picklers():
        data = pickler.dumps(module.soft)
        again = pickle.loads(data)
        assert again.function is module.plain and b"scale" not in data
        assert again.options() == module.soft.options() != nt.jit(module.plain).options()
        assert again(2.0) == 6.0
    on_gpu = nt.jit(module.plain, target="cuda")
    again = pickle.loads(pickle.dumps(on_gpu))
    assert type(again) is type(on_gpu) and again.target == "cuda" and again.function is module.plain
    gradient = nt.jit(module.gradient, dynamic=True)
    again = pickle.loads(pickle.dumps(gradient))
    assert again.dynamic is True and again.function is gradient.function and again(2.0) == 3.0


def test_modules_that_cloudpickle_takes_by_value(module, tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    cloudpickle.register_pickle_by_value(module)
    try:
        data = cloudpickle.dumps([module.f, module.soft, module.slope, module.double])
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    (tmp_path / "data").write_bytes(data)
    code = """
f, soft, slope, double = pickle.load(open(sys.argv[1], "rb"))
print(f(2.0), soft(2.0), slope(2.0), double(2.0), "of_pickling" in sys.modules)
"""
    assert run(code, tmp_path / "data").split() == ["6.0", "6.0", "12.0", "4.0", "False"]


def test_a_lambda_without_cloudpickle(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    for thing in (module.double, nt.grad(lambda x: x * x)):
        with pytest.raises(pickle.PicklingError, match="lambda") as caught:
            pickle.dumps(thing)
        assert isinstance(caught.value, NotPickledError) and "install cloudpickle" in str(caught.value)
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle._dumps(module.double)  # a pickler in Python may know more than pickle's
    assert pickle.loads(pickle.dumps(module.f)) is module.f


# ---- copies, and what is refused --------------------------------------------------------------------


def test_copies_are_the_object_itself(module):
    compiled = module.f.lower(X).compile()
    _, pullback = nt.vjp(module.plain, X)
    for thing in (module.f, module.gradient, module.square, compiled, pullback, module.f.lower(X)):
        assert copy.copy(thing) is thing
        holder = copy.deepcopy({"of": [thing, X]})
        assert holder["of"][0] is thing and holder["of"][1] is not X
    model = module.Model()
    model.own = module.f
    assert copy.deepcopy(model).own is module.f


def test_what_no_other_process_can_have():
    lock = threading.Lock()

    def locked(x):
        return (lock, x)[1]

    def told(x):
        nt.custom_call(print, x)
        return x

    refused = {
        "cannot pickle '_thread.lock' object": nt.jit(locked),
        "its target is not 'cpu'.*\n.*pickle the jitted function": nt.jit(told, target="interp")
        .lower(X)
        .compile(),
        "it prints or calls Python": nt.jit(told).lower(X).compile(),
        "is IR of this process": nt.jit(told).lower(X),
    }
    if len(picklers()) == 1:
        del refused["cannot pickle '_thread.lock' object"]
    for reason, thing in refused.items():
        with pytest.raises((TypeError, pickle.PicklingError), match=reason) as caught:
            pickle.dumps(thing)
        assert isinstance(caught.value, NotPickledError) and caught.value.diagnostic.hint


def test_a_program_whose_outside_has_changed(module):
    compiled = module.f.lower(X).compile()
    module.scale = 4.0
    with pytest.raises(NotPickledError, match=r"'scale' .* is not what it was"):
        pickle.dumps(compiled)


def test_a_program_for_another_processor_says_so_when_it_is_called(module, monkeypatch):
    data = pickle.dumps([module.f.lower(X).compile(), nt.vjp(module.plain, X)[1]])
    with monkeypatch.context() as patched:
        patched.setattr(conditions, "lacking", lambda needs: ["avx1024"])
        found = pickle.loads(data)
        for one in found:
            with pytest.raises(NestorError, match=r"has avx1024, and this one has not"):
                one(X)
        data = pickle.dumps(found)
    compiled, pullback = pickle.loads(data)
    np.testing.assert_array_equal(compiled(X), X * 3)
    np.testing.assert_array_equal(pullback(X)[0], X * 3)


def test_a_pullback_keeps_what_it_was_made_at(module):
    array = np.ones(4)
    module.scale = array
    _, pullback = nt.vjp(module.plain, X)
    data = pickle.dumps(pullback)
    array[:] = 9.0
    again = pickle.loads(pickle.dumps(pickle.loads(data)))
    np.testing.assert_array_equal(again(X)[0], X)
    np.testing.assert_array_equal(pullback(X)[0], X)


def multiplied_on(x):
    y = x.copy()
    for _ in range(3):
        for i in range(1, len(y)):
            y[i] = y[i] * y[i - 1]
    return y


def doubled_on(x):
    t = x[1] + 1
    while t < 10:
        t = t * 2 + x[1]
    return t * x


@pytest.mark.parametrize("function", [multiplied_on, doubled_on])
def test_derivatives_travel_whatever_is_remarked_of_them(function):
    value, forward = nt.linearize(function, X + 1)
    _, backward = nt.vjp(function, X + 1)
    assert backward._invocation.program.remarks
    for program, given in ((forward, X), (backward, value)):
        again = pickle.loads(pickle.dumps(program))
        np.testing.assert_array_equal(again(given), program(given))


def kinds_of_errors(kind=NestorError):
    """Those of the frontend, whatever else has been imported: each test process has the same."""
    found = [one for sub in kind.__subclasses__() for one in kinds_of_errors(sub)]
    is_of_users = kind is NestorError or kind.__module__ == "nestor.frontend.interface.errors"
    return [kind, *found] if is_of_users else found


@pytest.mark.parametrize("kind", kinds_of_errors(), ids=lambda kind: kind.__name__)
def test_errors_arrive_as_they_are(kind):
    """An exception that a worker cannot send, or a client cannot read, ends neither."""
    error = kind("what is wrong", hint="what to do")
    kind.__new__(kind)  # as some make it again
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) and again.diagnostic.hint == "what to do"


def test_an_error_of_a_kernel_arrives():
    error = KernelError(1, 3, 7, 5, (2,))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is KernelError and vars(again).keys() == vars(error).keys() and again.numbers == (2,)


# ---- texts ------------------------------------------------------------------------------------------


def test_texts_of_one_name_and_place():
    """Two notebooks have cells of one name, with functions at the same lines: each is compiled from its own text."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    code = """
import cloudpickle
run_cell("import nestor as nt\\n\\nf = nt.jit(lambda x: x NUMBER)\\n")
sys.stdout.buffer.write(cloudpickle.dumps(f))
"""
    found = []
    for number in ("+ 1", "* 5"):
        command = [sys.executable, "-c", START + code.replace("NUMBER", number)]
        found.append(pickle.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    assert [f(3.0) for f in found] == [4.0, 15.0]
    assert [f(3.0) for f in [cloudpickle.loads(cloudpickle.dumps(f)) for f in found]] == [4.0, 15.0]


def test_definitions_travel_and_the_rest_of_a_text_stays():
    cloudpickle = pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    text = (
        "import nestor as nt\npassword = 'tell nobody'\nif password:\n    k = 2.0\n"
        "f = nt.jit(lambda x: x * k)  # kept\n@nt.jit\ndef g(x):\n    return f(x) + (lambda y: y * k)(x)\n"
        "print(\n    'later', file=sys.stderr)\n"
    )
    code = f"import cloudpickle\nrun_cell({text!r})\nsys.stdout.buffer.write(cloudpickle.dumps([f, g]))\n"
    done = subprocess.run([sys.executable, "-c", START + code], capture_output=True, check=True)
    assert b"# kept" in done.stdout and b"import nestor" in done.stdout
    assert b"tell nobody" not in done.stdout and b"later" not in done.stdout
    f, g = cloudpickle.loads(done.stdout)
    for _ in range(40):  # natively from some call on
        assert f(3.0) == 6.0 and g(3.0) == 12.0
    f.__wrapped__.__globals__["k"] = 5.0
    assert f(3.0) == 15.0 and g(3.0) == 30.0


def test_messages_name_the_cell():
    cloudpickle = pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    text = "import nestor as nt\n@nt.jit\ndef f(x):\n    return x.no_such_thing\n"
    code = f"import cloudpickle\nrun_cell({text!r}, 7)\nsys.stdout.buffer.write(cloudpickle.dumps(f))\n"
    done = subprocess.run([sys.executable, "-c", START + code], capture_output=True, check=True)
    f = cloudpickle.loads(done.stdout)
    with pytest.raises(AttributeError) as caught:
        f(X)
    assert str(caught.value).startswith("<ipython-input-7-5f0d>:4:")
    assert "    return x.no_such_thing\n" in str(caught.value)


def test_there_and_back(module):
    """What came by value is pickled again, by a process that has neither its name nor its file."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="by value needs cloudpickle")
    code = """
made = pickle.load(sys.stdin.buffer)
import cloudpickle
sys.stdout.buffer.write(PICKLER.dumps(made))
"""
    k = 5.0
    closure = nt.jit(lambda x: x * k)
    for pickler in ("pickle", "cloudpickle"):
        command = [sys.executable, "-c", START + code.replace("PICKLER", pickler)]
        given = cloudpickle.dumps([closure, closure.lower(X).compile()])
        done = subprocess.run(command, input=given, capture_output=True, check=True)
        again, compiled = pickle.loads(done.stdout)
        assert again is not closure and again.__wrapped__ is not closure.__wrapped__
        np.testing.assert_array_equal([again(X), compiled(X)], [X * 5, X * 5])


def test_texts_are_forgotten_in_their_order(monkeypatch):
    monkeypatch.setattr(carried_texts, "MOST_TEXTS", 2)
    monkeypatch.setattr(carried_texts, "_LINES", type(carried_texts._LINES)())
    monkeypatch.setattr(carried_texts, "_PLACES", {})
    code = compile(textwrap.dedent("def f():\n    pass\n"), "<x>", "exec").co_consts[0]
    for k in range(4):
        carried_texts.note_texts({f"<text {k % 3}>": (f"def f():\n    pass\n# {k % 3}\n", [("f", 1)])})
    assert [file for file, _ in carried_texts.carried(code)] == ["<text 0>", "<text 2>"]
