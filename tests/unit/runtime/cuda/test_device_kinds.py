"""Arrays of other libraries on the device: calls with them follow plans as CuPy's do, and results are in their kind."""

import sys
import types

import fake_cupy
import nestor as nt
import numpy as np
import pytest
from test_cuda_runtime import CudaTensor, Tensor, scaled, several


@pytest.fixture
def torch(monkeypatch):
    """A stand-in for PyTorch: tensors of a GPU, which remember how often they were written to."""

    class Tensor:
        def __init__(self, host, number=0, requires_grad=False):
            self.host, self.number, self.requires_grad, self.version = host, number, requires_grad, 0
            self.device = types.SimpleNamespace(type="cuda")

        def __dlpack_device__(self):
            return 2, self.number

        def __dlpack__(self, **options):
            raise AssertionError("CuPy asks for the memory")

        def is_inference(self):
            return False

    Tensor.__module__ = "torch"
    module = types.ModuleType("torch")
    module.Tensor = Tensor
    module.from_dlpack = lambda array: Tensor(array.host)

    def increment(tensor):
        tensor.version += 1

    module.autograd = types.SimpleNamespace(graph=types.SimpleNamespace(increment_version=increment))
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_tensors_follow_plans_and_come_back_as_tensors(cupy, torch, general):
    compiled = nt.jit(scaled, target="cuda")
    for k in (2.0, 3.0, 0.5):
        for call in (lambda x, k: compiled(x, k), lambda x, k: compiled(k=k, x=x)):
            x = torch.Tensor(np.arange(50.0) + k)
            result = call(x, k)
            assert type(result) is torch.Tensor
            np.testing.assert_array_equal(result.host, x.host * k)
            ours = compiled(cupy.asarray(x.host), k)  # the same plan
            assert type(ours) is fake_cupy.Array
    assert len(general) == 1 and cupy.waits == 0


def test_results_of_every_kind(cupy, torch, general):
    compiled = nt.jit(several, target="cuda")
    for start in (0.0, 5.0):
        x = torch.Tensor(np.arange(start, start + 6).reshape(2, 3))
        got = compiled(x)
        assert got["same"] is x and got["size"] == 2
        assert type(got["view"]) is torch.Tensor and np.shares_memory(got["view"].host, x.host)
        assert got["sum"].host.shape == () and float(got["sum"].host) == x.host.sum()
    assert len(general) == 1


def added(a, b):
    a += b
    return a.sum()


def test_tensors_that_are_written(cupy, torch, general):
    compiled = nt.jit(added, target="cuda")
    for k in range(3):
        a, b = torch.Tensor(np.arange(40.0) + k), torch.Tensor(np.ones(40))
        total = compiled(a, b)
        np.testing.assert_array_equal(a.host, np.arange(40.0) + k + 1)
        assert float(total.host) == a.host.sum() and type(total) is torch.Tensor
        assert (a.version, b.version) == (1, 0)
    assert len(general) == 1
    given = nt.jit(scaled, target="cuda")
    for k in (2.0, 3.0):
        out, x = torch.Tensor(np.zeros(40)), torch.Tensor(np.arange(40.0))
        assert given(x, k, out=out) is out
        np.testing.assert_array_equal(out.host, np.arange(40.0) * k)
        assert (out.version, x.version) == (1, 0)
    assert len(general) == 2


def pairs(pair, k):
    return {"scaled": pair[0] * k, "pair": pair, "sum": pair[0] + pair[1]}


def test_tensors_in_structures(cupy, torch, general):
    compiled = nt.jit(pairs, target="cuda")
    for k in (2.0, 3.0):
        pair = torch.Tensor(np.ones(5)), torch.Tensor(np.arange(5.0))
        got = compiled(pair, k)
        assert all(one is other for one, other in zip(got["pair"], pair, strict=True))
        assert type(got["sum"]) is torch.Tensor
        np.testing.assert_array_equal(got["sum"].host, np.arange(5.0) + 1)
        np.testing.assert_array_equal(got["scaled"].host, np.full(5, k))
    assert len(general) == 1


def total(x, y):
    return x + y


def test_the_first_array_of_the_device_decides(cupy, torch):
    compiled = nt.jit(total, target="cuda")
    x, ours = torch.Tensor(np.ones(5)), cupy.asarray(np.ones(5))
    for _ in range(2):
        assert type(compiled(x, ours)) is torch.Tensor
        assert type(compiled(ours, x)) is fake_cupy.Array
        assert type(compiled(np.ones(5), x)) is torch.Tensor
        assert type(compiled(CudaTensor(np.ones(5)), x)) is fake_cupy.Array  # says no more of its library
        assert type(compiled(np.ones(5), np.ones(5))) is np.ndarray


class OfLibrary(Tensor):
    """An array of a library of the array API standard, which is its own namespace here."""

    def __init__(self, host, kind=2):
        super().__init__(host, kind)

    def __array_namespace__(self):
        return types.SimpleNamespace(__name__="library", from_dlpack=lambda array: OfLibrary(array.host))


def test_libraries_of_the_array_api_standard(cupy, general):
    compiled = nt.jit(several, target="cuda")
    for k in range(3):
        x = OfLibrary(np.arange(6.0).reshape(2, 3) + k)
        got = compiled(x)
        assert got["same"] is x and type(got["flat"]) is OfLibrary
        np.testing.assert_array_equal(got["flat"].host, x.host.reshape(-1))
        assert not np.shares_memory(got["view"].host, x.host)  # its arrays are constant: it gets copies
    assert len(general) == 1


def reversed_rows(x):
    return x[::-1]


def test_what_is_refused(cupy, torch, monkeypatch):
    compiled = nt.jit(scaled, target="cuda")
    program = nt.jit(scaled).lower(np.ones(3), 2.0).compile("cuda", arch="sm_90")
    for call in (compiled, program):
        with pytest.raises(
            nt.NestorError, match=r"argument 'x', a torch\..*Tensor is on GPU 1, and the current device"
        ):
            call(torch.Tensor(np.ones(3), number=1), 2.0)
        assert type(call(torch.Tensor(np.ones(3)), 2.0)) is torch.Tensor
    with pytest.raises(nt.NestorError, match="negative stride, which tensors of torch cannot have"):
        nt.jit(reversed_rows, target="cuda")(torch.Tensor(np.ones(3)))

    def refuse(tensor):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

    monkeypatch.setattr(cupy, "from_dlpack", refuse)
    for _ in range(2):
        with pytest.raises(nt.NestorError, match=r"argument 'x', this torch.* cannot be used without a copy"):
            compiled(torch.Tensor(np.ones(3), requires_grad=True), 2.0)


def test_without_compilation_the_function_has_the_tensors(cupy, torch):
    class Doubling(torch.Tensor):
        def __mul__(self, k):
            return "its own"

    with nt.disable_jit():
        assert nt.jit(scaled, target="cuda")(Doubling(np.ones(3)), 2.0) == "its own"


def test_tensors_in_host_memory_are_copied_and_come_back():
    torch = pytest.importorskip("torch", reason="PyTorch is in no extra: pip install torch")
    with pytest.MonkeyPatch.context() as patch:
        fake_cupy.install(patch)
        compiled = nt.jit(scaled, target="cuda")
        for k in (2.0, 3.0):
            result = compiled(torch.arange(5.0), k)
            assert type(result) is torch.Tensor and result.tolist() == [k * n for n in range(5)]
