"""Complex numbers as pairs of real ones: the pass that takes them apart, and what functions of them are.

Below it every level has real numbers only. It imports dialects and `nt_to_nest`'s conventions, and schedules nothing.
"""
