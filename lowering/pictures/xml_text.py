"""Texts in pictures and pages: characters that XML cannot hold are replaced, those that mean something in it escaped."""

from __future__ import annotations

import re
from html import escape

_NOT_XML = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str, quote: bool = False) -> str:
    """Text as XML holds it; with `quote` as an attribute does."""
    return escape(_NOT_XML.sub("\ufffd", text), quote=quote)


def svg_text(style: str, x: float, y: float, text: str) -> str:
    """A line of text of a picture."""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{xml_text(text)}</text>'
