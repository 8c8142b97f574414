"""The CUDA C emitter: a `gpu.module` as text. Reads IR, changes none."""
