"""What `f.explain(...)` gives: a text that a prompt prints as it is, and a notebook shows as the page."""

from __future__ import annotations

from .explanation import Explanation


class Text(str):
    """The text for people, which a notebook shows as the page: in a frame, where styles stay among themselves."""

    __slots__ = ("_said",)

    def __new__(cls, said: Explanation) -> Text:
        made = super().__new__(cls, said.text())
        made._said = said
        return made

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)

    def _repr_html_(self) -> str:
        from .page import framed

        return framed(self._said)
