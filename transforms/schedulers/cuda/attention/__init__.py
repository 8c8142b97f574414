"""Products of products, one kernel: scores stay in registers or shared memory. Called by schedule_cuda; no others."""
