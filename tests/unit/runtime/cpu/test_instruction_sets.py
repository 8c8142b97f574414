"""The instruction sets that code may use, which a loaded program is asked for."""

from nestor.analysis.machine import cpu
from nestor.runtime.cpu.instruction_sets import SETS, lacking, needed


def test_code_for_another_kind_of_processor_needs_none_of_these():
    arm = cpu("x86-64-v4")._replace(name="arm", llvm="neoverse-n1", triple="aarch64-unknown-linux-gnu")
    assert needed(arm, tiles=True) == ()


def test_code_for_a_level_needs_what_the_level_has():
    assert needed(cpu("x86-64"), tiles=False) == ()
    wide = needed(cpu("x86-64-v4"), tiles=False)
    assert {"avx2", "fma", "avx512f"} <= set(wide) <= SETS.keys() and list(wide) == sorted(wide)


def test_code_for_this_processor_needs_what_it_has():
    here = needed(None, tiles=True)
    assert lacking(here) == [] and not any(name.startswith("amx") for name in needed(None, tiles=False))
