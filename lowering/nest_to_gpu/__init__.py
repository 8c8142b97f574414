"""convert-nest-to-gpu and what tidies its kernels: loop nests become `gpu` kernels and a host function."""
