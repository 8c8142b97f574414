// The threads of a block as fibers: they run one at a time and switch at barriers and warp operations.
//
// A block makes progress in rounds. Each round runs every runnable thread until it finishes or waits; then
// warp operations whose lanes have all arrived, and the barrier if all live threads wait at it, release
// their threads. A round without progress is a deadlock, and is reported as the fault it is.
#include "cuda_on_cpu.h"

#include <sys/mman.h>

#include <stdint.h>
#include <stdio.h>

#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

SIM_RUNTIME SimContext sim_context = {};

// The bounds of the kernels' shared memory, made by the linker; absent when no kernel has any.
extern "C" char __start_nestor_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_nestor_shared[] __attribute__((weak, visibility("hidden")));

namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;

#if defined(__x86_64__)

using Continuation = void *;  // the stack pointer under which the callee-saved registers lie

extern "C" void sim_switch(void **save, void *load) __attribute__((visibility("hidden")));
asm(R"(.text
.globl sim_switch
.hidden sim_switch
.type sim_switch, @function
sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

void prepare(Continuation &continuation, char *stack, void (*entry)()) {
  void **top = reinterpret_cast<void **>(stack + kStackBytes) - 2;
  *--top = nullptr;  // the return address of `entry`, which never returns: aligns its frame to 16 bytes
  *--top = reinterpret_cast<void *>(entry);
  for (int saved = 0; saved < 6; saved++) *--top = nullptr;
  continuation = top;
}

void transfer(Continuation &from, Continuation &to) { sim_switch(&from, to); }

#else

using Continuation = ucontext_t;

void prepare(Continuation &continuation, char *stack, void (*entry)()) {
  getcontext(&continuation);
  continuation.uc_stack.ss_sp = stack;
  continuation.uc_stack.ss_size = kStackBytes;
  continuation.uc_link = nullptr;
  makecontext(&continuation, entry, 0);
}

void transfer(Continuation &from, Continuation &to) { swapcontext(&from, &to); }

#endif

enum class State { kRunnable, kAtBarrier, kInWarp, kDone };

struct Fiber {
  Continuation continuation;
  SimIndex thread;
  State state;
  unsigned mask;  // the lanes of the warp operation it waits in
};

struct Warp {
  SimSlot in[32], out[32];
  unsigned arrived, present;
};

std::vector<char *> stacks;  // reused from block to block
std::vector<Fiber> fibers;
std::vector<Warp> warps;
Continuation scheduler;
unsigned current;
void (*thread_body)(void **);
void **thread_arguments;
char fault_text[256];

char *new_stack() {
  void *memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(memory, kGuardBytes, PROT_NONE);
  return static_cast<char *>(memory) + kGuardBytes;
}

void wait_as(State state) {
  Fiber &fiber = fibers[current];
  fiber.state = state;
  transfer(fiber.continuation, scheduler);
}

void run_thread() {
  thread_body(thread_arguments);
  wait_as(State::kDone);
}

bool run_runnable(unsigned &done) {
  bool progress = false;
  for (unsigned k = 0; k < fibers.size(); k++) {
    if (fibers[k].state != State::kRunnable) continue;
    current = k;
    sim_context.thread = fibers[k].thread;
    transfer(scheduler, fibers[k].continuation);
    done += fibers[k].state == State::kDone;
    progress = true;
  }
  return progress;
}

unsigned live_lanes(unsigned warp) {
  unsigned live = 0;
  for (unsigned lane = 0; lane < 32 && warp * 32 + lane < fibers.size(); lane++)
    if (fibers[warp * 32 + lane].state != State::kDone) live |= 1u << lane;
  return live;
}

bool release_warp(unsigned index) {
  Warp &warp = warps[index];
  const unsigned live = live_lanes(index);
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!(warp.arrived >> lane & 1)) continue;
    const unsigned mask = fibers[index * 32 + lane].mask & live;
    if ((warp.arrived & mask) != mask) continue;
    for (unsigned other = 0; other < 32; other++) {
      if (!(mask >> other & 1)) continue;
      Fiber &fiber = fibers[index * 32 + other];
      if ((fiber.mask & live) != mask) sim_fault("lanes of a warp operation disagree on its mask");
      warp.out[other] = warp.in[other];
      fiber.state = State::kRunnable;
    }
    warp.present = mask;
    warp.arrived &= ~mask;
    return true;
  }
  return false;
}

bool release_barrier(unsigned done) {
  unsigned waiting = 0;
  for (const Fiber &fiber : fibers) waiting += fiber.state == State::kAtBarrier;
  if (waiting == 0 || waiting + done != fibers.size()) return false;
  for (Fiber &fiber : fibers)
    if (fiber.state == State::kAtBarrier) fiber.state = State::kRunnable;
  return true;
}

bool make_fibers() {
  const SimIndex count = sim_context.block_dim;
  fibers.resize(count.x * count.y * count.z);
  warps.assign((fibers.size() + 31) / 32, Warp{});
  while (stacks.size() < fibers.size()) {
    char *stack = new_stack();
    if (stack == nullptr) return false;
    stacks.push_back(stack);
  }
  for (unsigned k = 0; k < fibers.size(); k++) {
    fibers[k].thread = {k % count.x, k / count.x % count.y, k / (count.x * count.y)};
    fibers[k].state = State::kRunnable;
    prepare(fibers[k].continuation, stacks[k], run_thread);
  }
  return true;
}

void poison_shared_memory() {  // a float read before it is written is a NaN
  if (__start_nestor_shared != nullptr)
    memset(__start_nestor_shared, 0xff, (size_t)(__stop_nestor_shared - __start_nestor_shared));
}

}  // namespace

SIM_RUNTIME void sim_fault(const char *what) {
  if (fault_text[0]) return;  // the first fault is the cause of the others
  const SimIndex &t = sim_context.thread, &b = sim_context.block;
  snprintf(fault_text, sizeof fault_text, "%s (block %u,%u,%u thread %u,%u,%u)", what, b.x, b.y, b.z, t.x, t.y,
           t.z);
}

SIM_RUNTIME int sim_lane() { return (int)(current & 31); }

SIM_RUNTIME void sim_barrier() { wait_as(State::kAtBarrier); }

SIM_RUNTIME void sim_warp_exchange(unsigned mask, const SimSlot *in, SimSlot *out32, unsigned *present) {
  const unsigned me = current, lane = me & 31;
  Warp &warp = warps[me >> 5];
  if (!(mask >> lane & 1)) sim_fault("a thread calls a warp operation without being in its mask");
  if (in != nullptr) warp.in[lane] = *in;
  warp.arrived |= 1u << lane;
  fibers[me].mask = mask | 1u << lane;
  wait_as(State::kInWarp);
  if (out32 == nullptr) return;
  memcpy(out32, warp.out, sizeof warp.out);
  *present = warp.present;
}

SIM_RUNTIME int sim_run_fibers(void (*thread)(void **), void **arguments) {
  thread_body = thread;
  thread_arguments = arguments;
  poison_shared_memory();
  if (!make_fibers()) {
    sim_fault("no memory for the stacks of the threads");
    return 1;
  }
  unsigned done = 0;
  while (done < fibers.size() && !fault_text[0]) {
    bool progress = run_runnable(done);
    for (unsigned k = 0; k < warps.size(); k++)
      if (warps[k].arrived) progress = release_warp(k) || progress;
    progress = release_barrier(done) || progress;
    if (!progress) sim_fault("deadlock: a barrier or warp operation is not reached by all threads");
  }
  return fault_text[0] != 0;
}

extern "C" __attribute__((visibility("default"))) const char *sim_take_fault() {
  static char taken[sizeof fault_text];
  memcpy(taken, fault_text, sizeof taken);
  fault_text[0] = 0;
  return taken;
}
