"""What the programs of the GPU target cost on the GPU of this machine: `python -m benchmarks.gpu` (`make bench-gpu`)."""
