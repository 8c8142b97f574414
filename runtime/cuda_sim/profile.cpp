// Mode `profile`: what the accesses of a kernel cost.
#include "hooks.h"

SIM_RUNTIME void sim_on_launch_start() {}
SIM_RUNTIME void sim_on_launch_end() {}
SIM_RUNTIME void sim_on_block_start() {}
SIM_RUNTIME void sim_on_block_end() {}
SIM_RUNTIME void sim_on_access(const SimAccess &, const SimPlace &) {}
SIM_RUNTIME void sim_on_barrier() {}
SIM_RUNTIME void sim_on_warp_operation(uint32_t, uint32_t, bool) {}
SIM_RUNTIME void sim_on_device_fence() {}
SIM_RUNTIME void sim_on_copy_start(const void *target, unsigned size, const void *pc) {
  sim_on_shim_access(target, size, true, pc);
}
SIM_RUNTIME void sim_on_copy_landed(const void *, unsigned, const void *) {}
