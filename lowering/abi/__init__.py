"""What compiled code and the runtime agree on: codes, names, signatures of kernels. Plain data: imports no IR."""
