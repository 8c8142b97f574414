"""Which elements iterations touch, and in which order: accesses, dependences, regions, as sets where indices are affine."""
