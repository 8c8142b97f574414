"""Tests compile what they test: nothing comes from the disk, unless a test asks for that with a directory of its own."""

import os

os.environ["NESTOR_CACHE"] = os.environ.get("NESTOR_TEST_CACHE", "0")


def pytest_configure(config):
    """Where slow tests are left out, random ones draw a third (`sampling.py`)."""
    if config.getoption("markexpr", "") == "not slow":
        os.environ["NESTOR_TEST_SAMPLES"] = "few"
