"""Where things of the repository are, for tests that look at files."""

from __future__ import annotations

from pathlib import Path

UNIT = Path(__file__).resolve().parent
TESTS = UNIT.parent
ROOT = TESTS.parent
FILECHECK = TESTS / "filecheck"
