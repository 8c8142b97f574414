"""`-t nest-tree`: functions at the nest level as trees of loops and statements, drawn with lines.

func @f(x: f32[n, m], out y: f32[n, m])
└─ for i = 0 to n  parallel
   ├─ buffer sum: f32[], 4 bytes
   └─ for j = 0 to m
      ├─ read x[i, j]
      └─ update sum[] by add  "sum"
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from .nest_outline import Node, label_text, outline


def emit_nest_tree(module: ModuleOp, places: bool = False) -> str:
    """The trees of all functions; with the places in the source (`places`), where they are known."""
    return "\n".join(_tree(node, places) for node in outline(module, "nest-tree"))


def _tree(root: Node, places: bool) -> str:
    rows: list[tuple[str, str]] = [(root.text, root.place)]
    _add_children(root, "", rows)
    if not places:
        return "".join(f"{text}\n" for text, _ in rows)
    width = max(len(text) for text, _ in rows) + 2
    return "".join(f"{text:{width}}{place}".rstrip() + "\n" for text, place in rows)


def _add_children(node: Node, lead: str, rows: list[tuple[str, str]]) -> None:
    for child in node.children:
        last = child is node.children[-1]
        details = "  ".join(filter(None, (child.text, child.mark, label_text(child))))
        rows.append((f"{lead}{'└─' if last else '├─'} {details}", child.place))
        _add_children(child, f"{lead}{'   ' if last else '│  '}", rows)
