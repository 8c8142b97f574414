"""Products of products, one kernel: scores that a block computes, and uses in registers or shared memory. Called by schedule_cuda."""
