"""Tests compile what they test: nothing comes from the disk, unless a test asks for that with a directory of its own."""

import gc
import os

import pytest

pytest_plugins = ["sampling", "skip_report", "slow_parts", "file_times"]

os.environ["NESTOR_CACHE"] = os.environ.get("NESTOR_TEST_CACHE", "0")


def pytest_configure(config):
    """Where slow tests are left out, random ones draw a third (`sampling.py`)."""
    if config.getoption("markexpr", "") == "not slow":
        os.environ["NESTOR_TEST_SAMPLES"] = "few"
    # IR is many small objects that live for a test: looking through them at every 700 costs 5% of all the time.
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish(session):
    """The modules and the tests themselves stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def collected_quickly():
    """For tests that collect garbage: what other tests have left is not looked through, which takes seconds each time.

    It stays frozen: to unfreeze would give the modules and tests back to the collector, which then collects seldom.
    """
    gc.collect()
    gc.freeze()
