"""The packages of a wheel: `nestor` is this folder, its packages are the folders below. All else is in pyproject.toml."""

from setuptools import find_packages, setup

ROOMS = ("analysis", "dialects", "frontend", "lowering", "runtime", "tools", "transforms")

DATA = ("docs", "docs.decisions", "docs.guides", "docs.how-to", "docs.levels", "docs.reference", "examples")
"""Folders without a package: the pages that messages point to, and programs."""

found = find_packages(include=[*ROOMS, *[f"{room}.*" for room in ROOMS]])
# The name keeps this file itself out of the package.
setup(script_name="setup.py", packages=["nestor", *[f"nestor.{name}" for name in (*found, *DATA)]])
