"""Benchmarks of several tables, each of which can be asked for by its name: `python -m benchmarks.executor forks small`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path


def run_parts(
    name: str,
    parts: Mapping[str, Callable[[bool], list[str]]],
    arguments: list[str],
    results: Path,
    head: Callable[[], str],
) -> int:
    """Print the tables that the arguments name, all where they name none: these are then written to `results`.

    With "small" each is made of little data, to try it, and nothing is written. The exit status: 2 for an unknown name.
    """
    small = "small" in arguments
    chosen = [part for part in arguments if part != "small"]
    if unknown := [part for part in chosen if part not in parts]:
        print(f"{name}: no part '{unknown[0]}'; parts: {', '.join(parts)}", file=sys.stderr)
        return 2
    texts = []
    for title, part in parts.items():
        if not chosen or title in chosen:
            texts.append("\n".join([f"## {title.capitalize()}\n", *part(small)]))
            print(texts[-1] + "\n", flush=True)
    if not chosen and not small:
        results.write_text(head() + "\n\n".join(texts) + "\n")
    return 0
