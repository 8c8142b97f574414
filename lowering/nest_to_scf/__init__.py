"""convert-nest-to-scf: loop nests become `scf`, `vector`, `memref` and `arith` for the CPU."""
