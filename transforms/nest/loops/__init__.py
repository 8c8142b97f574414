"""Primitives that change loops: one per file, with its legality check. Called by schedules, passes and the schedulers."""
