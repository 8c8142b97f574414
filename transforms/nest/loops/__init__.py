"""Primitives that change loops: one a file, its legality check beside it. Called by schedules, passes and the schedulers."""
