"""What compiled code and the runtime agree on: codes, names, numbers of checks, signatures of kernels."""
