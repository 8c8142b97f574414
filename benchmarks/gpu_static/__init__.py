"""What machine code the GPU target becomes, without a GPU: `python -m benchmarks.gpu_static` (`make bench-gpu-static`)."""
