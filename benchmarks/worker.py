"""A process that times one peer on one program: prints a line of JSON for every line it reads.

`check` answers with what the program computes, `time` with the seconds of one sample.
"""

from __future__ import annotations

import json
import sys
import time

from .peers import PEERS
from .programs import PROGRAMS


def main(peer: str, name: str) -> None:
    program = PROGRAMS[name]
    function = PEERS[peer](name)
    first = program.inputs()
    sample = program.sample(function(*first), first)
    inputs = program.inputs()
    for line in sys.stdin:
        if line.strip() == "check":
            print(json.dumps(sample.astype(float).tolist()), flush=True)
            continue
        start = time.perf_counter()
        for _ in range(program.repeat):
            function(*inputs)
        print(json.dumps((time.perf_counter() - start) / program.repeat), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
