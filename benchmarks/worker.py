"""A process of one peer: answers every line of JSON on its standard input with one on its standard output.

{"do": "prepare", "row": name}               -> {"forms": {form: seconds of a call}} | {"missing": why}
{"do": "check", "form": f, "file": path}     -> {"error": largest difference from the reference}
{"do": "time", "form": f, "calls": n}        -> {"seconds": of a call, the mean over n}
{"do": "during", "form": f, "long": s}       -> {"seconds": of a call, the mean over as many as take s}
{"do": "forget"}                             frees the row
"""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any

import numpy as np

from . import roofs
from .peers import PEERS, Form, NotWritten, Peer
from .yardstick import BUSY_ROWS, ROWS
from .yardstick.row import Row, error_of


class Roof(Peer):
    """Not a peer: what no program can beat."""

    name = "roof"
    package = "numpy"

    def __init__(self, threads: int):
        super().__init__(threads)
        self.library = roofs.load()

    def prepare(self, row, arguments, small):
        return {name: Form(call) for name, call in roofs.forms(self.library, row, self.threads).items()}


class Worker:
    def __init__(self, peer: Peer):
        self.peer = peer
        self.row: Row | None = None
        self.arguments: list[np.ndarray] = []
        self.forms: dict[str, Form] = {}

    def prepare(self, row: str) -> dict[str, Any]:
        self.row = (ROWS | BUSY_ROWS)[row]
        try:
            self.peer.load()
            self.arguments = self.row.make()
            self.forms = self.peer.prepare(self.row, self.arguments, False)
            return {"forms": {name: self._first_timing(name) for name in self.forms}}
        except NotWritten:
            self.forget()
            return {"missing": ""}
        except ModuleNotFoundError as error:
            self.forget()
            return {"missing": f"not installed: no module {error.name}"}
        except Exception as error:  # whatever a peer raises is its row's result, and the next row goes on
            self.forget()
            text = str(error).strip()
            return {"missing": f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:300]}

    def _first_timing(self, form: str) -> float:
        self.forms[form].call()
        seconds = self.time(form, 1)["seconds"]
        return self.time(form, 3)["seconds"] if seconds < 0.02 else seconds

    def check(self, form: str, file: str) -> dict[str, Any]:
        with np.load(file) as stored:
            expected = [stored[name] for name in stored.files]
        chosen = self.forms[form]
        return {"error": error_of(chosen.results(chosen.call()), expected)}

    def time(self, form: str, calls: int) -> dict[str, Any]:
        self.forms[form].call()  # after another peer's turn, the caches are warm again
        return {"seconds": self.forms[form].timer().timeit(calls) / calls}

    def during(self, form: str, long: float) -> dict[str, Any]:
        self.forms[form].call()
        timer, calls, following, gone = self.forms[form].timer(), 0, 1, 0.0
        while gone < long:
            gone += timer.timeit(following)
            calls += following
            following = max(1, min(calls, int(calls * (long - gone) / gone)))
        return {"seconds": gone / calls}

    def forget(self) -> dict[str, Any]:
        self.forms, self.arguments, self.row = {}, [], None
        gc.collect()
        return {}


def main(name: str, threads: int) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a peer prints is no answer
    peer = (Roof if name == Roof.name else PEERS[name])(threads)
    worker = Worker(peer)
    gc.disable()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("do"))(**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
