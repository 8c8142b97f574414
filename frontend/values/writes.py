"""What may be written, and whether what is read has been written since: views, copies that NumPy would share, arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..interface.errors import ReadOnlyError, Respecialise, UnsupportedError
from .graph import Graph
from .values import Buffer


def check_writable(graph: Graph, buffer: Buffer) -> None:
    """Raise for a write to what must not or cannot be written."""
    if buffer.argument is not None and not graph.may_write:
        raise Respecialise(writes=True, why=f"it writes to '{buffer.name}'")
    if buffer.through is not None:
        check_writable(graph, buffer.through.buffer)
    if buffer.read_only:
        raise graph.error(
            ReadOnlyError, "assignment destination is read-only", "write to a copy (x.copy()), and return it"
        )
    if buffer.frozen is not None:
        raise graph.error(
            UnsupportedError,
            f"writing through {buffer.frozen} is not supported",
            "write to the array itself, or make a copy first: x.copy()",
        )
    check_fresh(graph, buffer)


def check_fresh(graph: Graph, buffer: Buffer, written: Collection[Buffer] = ()) -> None:
    """Raise for a copy that NumPy would share, once its source has been written.

    `written` are arrays whose new contents are not known outside of where they are written.
    """

    def is_newer(source: Buffer, age: int) -> bool:
        return source.age != age or any(b in written for b in (source, *source.overlapping))

    subject = f"'{buffer.name}'" if buffer.name else "this array"
    for lender, age in buffer.lenders:
        if is_newer(lender, age):
            raise graph.error(
                UnsupportedError,
                f"{subject}, which is '{lender.name or 'another array'}' on some paths only, "
                f"is read after {_written(lender)}; the update would be missed",
                f"make a copy where it is chosen: {lender.name or 'x'}.copy()",
            )
    if buffer.origin is None:
        return
    source, age = buffer.origin
    check_fresh(graph, source, written)
    if buffer.through is not None:
        age = source.age  # it is looked at anew
    if is_newer(source, age):
        raise graph.error(
            UnsupportedError,
            f"{buffer.frozen or 'a reshaped view'} is read after {_written(source)}; the update would be missed",
            "take it again after the write, or copy it before: x.copy()",
        )


def _written(buffer: Buffer) -> str:
    or_another = ", or an argument that overlaps it," if buffer.shared is not None else ""
    return f"'{buffer.name or 'its array'}'{or_another} was written"


def memory_among(buffers: Iterable[Buffer]) -> set[Buffer]:
    """These arrays and all that share memory with one of them, or may: arrays that views and copies in the place of views
    show, that an array is on some paths, arguments that overlap."""
    found: set[Buffer] = set()
    todo = list(buffers)
    while todo:
        buffer = todo.pop()
        if buffer in found:
            continue
        found.add(buffer)
        todo += [*buffer.overlapping, *[lender for lender, _ in buffer.lenders]]
        todo += [] if buffer.through is None else [buffer.through.buffer]
        todo += [] if buffer.origin is None else [buffer.origin[0]]
    return found
