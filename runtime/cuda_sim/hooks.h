// What happens in a kernel whose accesses are seen, and where: the interface of the modes `checked` and `profile`.
//
// scheduler.cpp says who runs and when barriers release threads, hooks.cpp turns the calls that -fsanitize=thread
// inserts into SimAccess and finds the array that an address belongs to; a mode defines the functions under
// "what a mode defines".
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cuda_on_cpu.h"

// -- who runs ------------------------------------------------------------------------------------------

struct SimRunning {
  uint32_t block;                      // linear: x + grid.x * (y + grid.y * z); its index, and which launch it is, in sim_context
  uint32_t thread, warp, lane;         // of the block, linear
  char *stack;                         // of the running thread
  uint64_t stack_bytes;
  bool has_stopped;                    // a thread of the block ended at a fault: others may miss what it would write
};

SIM_RUNTIME SimRunning sim_running;

// -- memory ----------------------------------------------------------------------------------------------

enum SimSpace : uint32_t { kSimGlobal, kSimShared, kSimNoMemory };

enum : uint32_t { kSimReadOnly = 1 };                        // SimRegion::flags
enum : uint8_t { kSimIsElement = 1, kSimIsWritten = 2 };     // SimRegion::state

struct SimRegion {         // an array that kernels may touch, or several that overlap
  char *base;
  uint64_t bytes;
  uint32_t element_bytes;
  uint32_t flags;
  uint8_t *state;          // a byte for each element; null: all are elements and written
};

struct SimPlace {
  SimSpace space;
  int32_t region;          // its position among sim_regions(space)
  const SimRegion *array;
  uint64_t offset;         // bytes from its base
};

struct SimAccess {
  const char *address;
  uint32_t size;
  bool write, atomic;
  const void *pc;          // the return address of the hook: in the statement that accesses
  bool update;             // an atomic operation, which reads and writes; other atomic accesses are volatile ones
};

// The arrays of a space, in the order of their addresses.
SIM_RUNTIME const SimRegion *sim_regions(SimSpace space, uint32_t *count);

// Where an access goes; false for local variables and constant tables. One that no array holds, that is not aligned to
// its size or that writes what is constant is reported here and ends the thread.
SIM_RUNTIME bool sim_find(const SimAccess &access, bool is_aligned, SimPlace &place);

// -- reports ---------------------------------------------------------------------------------------------

enum SimFaultKind : uint32_t {
  kSimOutOfBounds,
  kSimMisaligned,
  kSimReadOnlyWrite,
  kSimUninitialised,
  kSimRace,
  kSimPendingCopy,
  kSimDivergentBarrier,
  kSimMissedBarrier,
  kSimDivergentWarp,
  kSimMasksDiffer,
  kSimNotInMask,
  kSimAbsentLane,
  kSimDeadlock,
  kSimIndexOutside,   // `address` is the name of the array's type, `value` the index
};

struct SimParty {
  const void *pc;   // of an access, or
  int32_t site;     // the line of a barrier or warp operation
  uint32_t thread, block;
  uint32_t access;  // 0 read, 1 write, 2 atomic, 3 none
};

struct SimReport {
  uint32_t kind, count;
  SimParty first, second;  // `first` is who runs, or came later
  uint64_t address;
  uint32_t size;
  uint32_t space;
  int32_t region;
  uint64_t value;          // the offset in the region, or the lane of kSimAbsentLane
};

// Keep a report; one with the same kind and places as an earlier one is only counted.
SIM_RUNTIME void sim_report(const SimReport &report);
SIM_RUNTIME void sim_report_access(SimFaultKind kind, const SimAccess &access, const SimPlace &place);
SIM_RUNTIME SimParty sim_party(const SimAccess &access);

// End the running thread here: nothing after this point of it happens, and no barrier waits for it.
SIM_RUNTIME void sim_stop_thread() __attribute__((noreturn));

// Let the other threads run: this one reads the same value over and over. A block in which all do so is a deadlock.
SIM_RUNTIME void sim_wait_for_others(const SimAccess &access);

// -- what a mode defines -------------------------------------------------------------------------------

SIM_RUNTIME void sim_on_launch_start();
SIM_RUNTIME void sim_on_launch_end();
SIM_RUNTIME void sim_on_block_start();
SIM_RUNTIME void sim_on_block_end();
// Before memory is touched, and only for addresses in an array, aligned as CUDA asks for.
SIM_RUNTIME void sim_on_access(const SimAccess &access, const SimPlace &place);
// All threads of the block that are still running wait at a barrier and go on now.
SIM_RUNTIME void sim_on_barrier();
// The lanes of `mask` go on after a warp operation; `is_barrier` for __syncwarp, which orders memory.
SIM_RUNTIME void sim_on_warp_operation(uint32_t warp, uint32_t mask, bool is_barrier);
SIM_RUNTIME void sim_on_device_fence();

// -- for the shim ----------------------------------------------------------------------------------------

// An access that the shim makes for a kernel (SIM_QUIET functions are not instrumented); `pc` is
// __builtin_return_address(0) of a function that is not inlined. May stop the thread.
SIM_RUNTIME void sim_on_shim_access(const void *address, unsigned size, bool write, const void *pc);
// An asynchronous copy has started to write; it lands when the thread waits for it. Until then nobody may touch the
// bytes; from then on they count as written by this thread.
SIM_RUNTIME void sim_on_copy_start(const void *target, unsigned size, const void *pc);
SIM_RUNTIME void sim_on_copy_landed(const void *target, unsigned size, const void *pc);
