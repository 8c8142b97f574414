"""Vector kernels touch their arrays and nothing beside them: programs on arrays between pages that fault."""

import os
import subprocess
import sys

import pytest
from guarded_programs import FAMILIES
from places import UNIT

pytestmark = pytest.mark.one_of(3)

SCRIPT = UNIT / "guard_pages.py"


def run(tmp_path, *arguments):
    """In a process of its own: the number of trials. A crash fails with the trial that was on."""
    note = tmp_path / "note"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments, "--note", str(note)],
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
    )
    case = note.read_text().strip() if note.exists() else "before the first trial"
    assert done.returncode >= 0, f"signal {-done.returncode} in {case}"
    assert done.returncode == 0, f"{case}\n{done.stderr}"
    return int(done.stdout)


@pytest.mark.parametrize("family", FAMILIES)
def test_sampled_sizes_and_places(family, tmp_path):
    """An eighth of the programs, at some sizes; the slow test has all programs, sizes and places."""
    assert run(tmp_path, family) > 40


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_size_and_place(family, tmp_path):
    assert run(tmp_path, family, "--full") > 1000


def test_an_access_outside_is_found_and_named(tmp_path):
    with pytest.raises(AssertionError, match=r"signal 11 in overrun: Place\(at_end=True"):
        run(tmp_path, "overrun")
    with pytest.raises(AssertionError, match="bytes beside the array were changed"):
        run(tmp_path, "overwrite")
