"""What the lowerings of nest to CPU and GPU share: statements, index arithmetic, runs of one domain, calls of Python."""
