"""LLVM, called in llvmlite's library directly: code of explicit vectors to an object without llvmlite's Python.

    library = load()                                # None where the library is another than the one known here
    code = library.compile(text, cpu, features, "small")

A first call needs forty functions of the library; llvmlite's binding is thirty modules, and what it imports to find the
library is as many again (20 of 450 ms of a first call; 80 ms where nothing has imported `zipfile` and `tempfile` before).
Modules with loops for LLVM to vectorize, assembly and engines go the usual way (`cpu.py`). Nothing here is shared with
llvmlite: every module has a context of its own.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ctypes import byref, c_bool, c_char_p, c_int, c_size_t, c_void_p
from importlib.machinery import PathFinder
from typing import Any

_KNOWN = "0.50."
"""The versions of llvmlite whose library has these functions."""

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "GetHostCPUFeatures": (c_int, c_void_p),
    "GetHostCPUName": (None, c_void_p),
    "GetDefaultTargetTriple": (None, c_void_p),
    "GetTargetFromTriple": (c_void_p, c_char_p, c_void_p),
    "CreateTargetMachine": (
        *(c_void_p, c_void_p, c_char_p, c_char_p, c_char_p, c_int),
        *(c_char_p, c_char_p, c_int, c_int, c_char_p),
    ),
    "GetTargetMachineTriple": (None, c_void_p, c_void_p),
    "CreateTargetMachineData": (c_void_p, c_void_p),
    "CopyStringRepOfTargetData": (None, c_void_p, c_void_p),
    "ContextCreate": (c_void_p,),
    "ParseAssembly": (c_void_p, c_void_p, c_char_p, c_void_p),
    "SetTarget": (None, c_void_p, c_char_p),
    "SetDataLayout": (None, c_void_p, c_char_p),
    "VerifyModule": (c_bool, c_void_p, c_void_p),
    "CreatePipelineTuningOptions": (c_void_p,),
    "PTOSetLoopVectorization": (None, c_void_p, c_bool),
    "PTOSetSLPVectorization": (None, c_void_p, c_bool),
    "PTOSetLoopInterleaving": (None, c_void_p, c_bool),
    "PTOSetLoopUnrolling": (None, c_void_p, c_bool),
    "CreatePassBuilder": (c_void_p, c_void_p, c_void_p),
    "CreateNewFunctionPassManager": (c_void_p,),
    "function_AddSROAPass": (None, c_void_p),
    "function_AddInstCombinePass": (None, c_void_p),
    "function_AddNewGVNPass": (None, c_void_p),
    "function_AddSimplifyCFGPass": (None, c_void_p),
    "ModuleFunctionsIter": (c_void_p, c_void_p),
    "FunctionsIterNext": (c_void_p, c_void_p),
    "IsDeclaration": (c_int, c_void_p),
    "RunNewFunctionPassManager": (None, c_void_p, c_void_p, c_void_p),
    "TargetMachineEmitToMemory": (c_void_p, c_void_p, c_void_p, c_int, c_void_p),
    "GetBufferStart": (c_void_p, c_void_p),
    "GetBufferSize": (c_size_t, c_void_p),
    "DisposeString": (None, c_void_p),
    "DisposeTargetMachine": (None, c_void_p),
    "DisposeTargetData": (None, c_void_p),
    "ContextDispose": (None, c_void_p),
    "DisposeModule": (None, c_void_p),
    "DisposePipelineTuningOptions": (None, c_void_p),
    "DisposePassBuilder": (None, c_void_p),
    "DisposeNewFunctionPassManger": (None, c_void_p),  # as llvmlite spells it
    "DisposeFunctionsIter": (None, c_void_p),
    "DisposeMemoryBuffer": (None, c_void_p),
}
"""What each function `LLVMPY_...` returns and takes."""


def path() -> str | None:
    """Where the library is, if it is the one known here."""
    spec = PathFinder.find_spec("llvmlite") if sys.platform == "linux" else None
    for folder in (spec and spec.submodule_search_locations) or ():
        found = os.path.join(folder, "binding", "libllvmlite.so")
        if os.path.exists(found):
            return found
    return None


@functools.cache
def load() -> Library | None:
    """The library; None on a system, or with a version of llvmlite, that is not known here."""
    import llvmlite

    found = path() if llvmlite.__version__.startswith(_KNOWN) else None
    return None if found is None else Library(found)


class Library:
    """The functions of the library by their names without `LLVMPY_`, and what is made of them."""

    def __init__(self, file: str):
        library = ctypes.CDLL(file)
        self._calls: dict[str, Callable[..., Any]] = {}
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, f"LLVMPY_{name}")
            function.restype, function.argtypes = result, arguments
            self._calls[name] = function
        self._calls["InitializeNativeTarget"]()
        self._calls["InitializeNativeAsmPrinter"]()

    def host(self) -> tuple[str, dict[str, bool]]:
        """What LLVM calls this CPU, and for each feature whether it has it."""
        features = self._text("GetHostCPUFeatures")
        signs = [feature for feature in features.split(",") if feature]
        return self._text("GetHostCPUName"), {feature[1:]: feature[0] == "+" for feature in signs}

    def compile(self, text: str, cpu: str, features: str, model: str) -> bytes:
        """Relocatable object code of a module, tidied by the passes that `cpu.py` has for explicit vectors.

        Raises RuntimeError when the text is not valid.
        """
        calls = self._calls
        with ExitStack() as stack:

            def owned(made: int, dispose: str) -> int:
                stack.callback(calls[dispose], made)
                return made

            machine = owned(self._machine(cpu, features, model), "DisposeTargetMachine")
            module = owned(self._module(text, machine, owned), "DisposeModule")
            self._tidy(module, machine, owned)
            with self._said() as said:
                buffer = calls["TargetMachineEmitToMemory"](machine, module, 1, byref(said))
                if not buffer:
                    raise RuntimeError(_decoded(said))
            owned(buffer, "DisposeMemoryBuffer")
            return ctypes.string_at(calls["GetBufferStart"](buffer), calls["GetBufferSize"](buffer))

    def _machine(self, cpu: str, features: str, model: str) -> int:
        triple = self._text("GetDefaultTargetTriple").encode()
        with self._said() as said:
            target = self._calls["GetTargetFromTriple"](triple, byref(said))
            if not target:
                raise RuntimeError(_decoded(said))
        machine = self._calls["CreateTargetMachine"](
            *(target, triple, cpu.encode(), features.encode(), 1, b"pic", model.encode(), 0, 1, b"")
        )
        if not machine:
            raise RuntimeError("Cannot create target machine")
        return machine

    def _module(self, text: str, machine: int, owned: Callable[[int, str], int]) -> int:
        calls = self._calls
        context = owned(calls["ContextCreate"](), "ContextDispose")
        with self._said() as said:
            module = calls["ParseAssembly"](context, text.encode(), byref(said))
            if not module or said:
                raise RuntimeError(f"LLVM IR parsing error\n{_decoded(said)}")
        calls["SetTarget"](module, self._text("GetTargetMachineTriple", machine).encode())
        data = calls["CreateTargetMachineData"](machine)
        calls["SetDataLayout"](module, self._text("CopyStringRepOfTargetData", data).encode())
        calls["DisposeTargetData"](data)
        with self._said() as said:
            if calls["VerifyModule"](module, byref(said)):
                calls["DisposeModule"](module)
                raise RuntimeError(_decoded(said))
        return module

    def _tidy(self, module: int, machine: int, owned: Callable[[int, str], int]) -> None:
        calls = self._calls
        options = owned(calls["CreatePipelineTuningOptions"](), "DisposePipelineTuningOptions")
        for name in ("LoopVectorization", "SLPVectorization", "LoopInterleaving", "LoopUnrolling"):
            calls[f"PTOSet{name}"](options, False)
        builder = owned(calls["CreatePassBuilder"](machine, options), "DisposePassBuilder")
        passes = owned(calls["CreateNewFunctionPassManager"](), "DisposeNewFunctionPassManger")
        for name in ("SROA", "InstCombine", "NewGVN", "SimplifyCFG"):
            calls[f"function_Add{name}Pass"](passes)
        functions = owned(calls["ModuleFunctionsIter"](module), "DisposeFunctionsIter")
        while function := calls["FunctionsIterNext"](functions):
            if not calls["IsDeclaration"](function):
                calls["RunNewFunctionPassManager"](passes, function, builder)

    def _text(self, name: str, *arguments: int) -> str:
        with self._said() as said:
            self._calls[name](*arguments, byref(said))
            return _decoded(said)

    @contextmanager
    def _said(self) -> Iterator[c_char_p]:
        """A text that a function leaves behind."""
        said = c_char_p(None)
        try:
            yield said
        finally:
            if said:
                self._calls["DisposeString"](said)


def _decoded(said: c_char_p) -> str:
    return (said.value or b"").decode("latin1")
