"""Passes, one per file; `pipelines.py` states the whole pipelines, `registry.py` the names."""
