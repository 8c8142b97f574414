"""What the machine code of the GPU target looks like, without a GPU: `python -m benchmarks.gpu_static` (`make bench-gpu-static`)."""
