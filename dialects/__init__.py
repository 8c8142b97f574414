"""IR of Nestor: the `nt`, `nest` dialects and extensions of upstream dialects. Imports nothing else of ours."""
