"""Tests compile what they test: nothing comes from the disk, unless a test asks for that with a directory of its own."""

import os

os.environ["NESTOR_CACHE"] = os.environ.get("NESTOR_TEST_CACHE", "0")
