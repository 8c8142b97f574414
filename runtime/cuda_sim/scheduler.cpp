// The threads of a block as fibers: they run one at a time and switch at barriers and warp operations.
//
// A block makes progress in rounds. Each round runs every runnable thread, in the order asked for, until it
// finishes or waits; then warp operations whose lanes have all arrived, and the barrier if all live threads wait
// at it, release their threads. A round without progress is a deadlock, and is reported as the fault it is.
//
// Compiled twice: as it is, and with SIM_INSTRUMENTED, where it tells the hooks who runs and what is ordered.
#include "cuda_on_cpu.h"

#include "fibers.h"
#ifdef SIM_INSTRUMENTED
#include "hooks.h"
#endif

#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <vector>

constexpr size_t kMostDynamicShared = 227 << 10;

SimContext sim_context = {};
alignas(1024) unsigned char sim_dynamic_shared[kMostDynamicShared + 1024] = {};

// The bounds of the kernels' shared memory, made by the linker; absent when no kernel has any.
extern "C" char __start_nestor_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_nestor_shared[] __attribute__((weak, visibility("hidden")));

namespace {

enum class State { kRunnable, kAtBarrier, kInWarp, kDone, kStopped };
enum class Order { kForward, kReverse, kRandom };

struct Fiber {
  Continuation continuation;
  SimIndex thread;
  State state;
  unsigned mask;   // the lanes of the warp operation it waits in
  int site;        // the line where it waits
  bool predicate;  // what it passed to the barrier
  bool waits;      // in a loop, for what another thread writes
};

constexpr unsigned kMostIdleRounds = 4096;

struct Warp {
  SimSlot in[32], out[32];
  unsigned arrived, present;
};

Stacks stacks;
std::vector<Fiber> fibers;
std::vector<Warp> warps;
std::vector<unsigned> turns;  // the threads in the order in which a round runs them
std::vector<unsigned> block_turns;
Continuation scheduler;
unsigned current;
int barrier_votes;
void (*thread_body)(void **);
void **thread_arguments;
char fault_text[256];
Order order = Order::kForward;
uint64_t random_state;
size_t dynamic_bytes;

unsigned random_below(unsigned limit) {  // xorshift64*
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return (unsigned)((random_state * 0x2545f4914f6cdd1dull >> 32) * limit >> 32);
}

void shuffle(std::vector<unsigned> &values) {
  for (unsigned k = (unsigned)values.size(); k > 1; k--) std::swap(values[k - 1], values[random_below(k)]);
}

void fill_turns(std::vector<unsigned> &turns, size_t count) {
  turns.resize(count);
  for (size_t k = 0; k < count; k++) turns[k] = (unsigned)(order == Order::kReverse ? count - 1 - k : k);
  if (order == Order::kRandom) shuffle(turns);
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

bool has_ended(const Fiber &fiber) { return fiber.state == State::kDone || fiber.state == State::kStopped; }

bool is_runnable(const Fiber &fiber) { return fiber.state == State::kRunnable; }

bool run_runnable(unsigned &ended) {
  bool progress = false;
  if (order == Order::kRandom) shuffle(turns);
  for (const unsigned k : turns) {
    if (fibers[k].state != State::kRunnable) continue;
    current = k;
    fibers[k].waits = false;
    sim_context.thread = fibers[k].thread;
#ifdef SIM_INSTRUMENTED
    sim_running.thread = k;
    sim_running.warp = k >> 5;
    sim_running.lane = k & 31;
    sim_running.stack = stacks[k];
    sim_running.stack_bytes = kStackBytes;
#endif
    transfer(scheduler, fibers[k].continuation);
    if (!stacks.is_intact(k)) sim_fault("a thread needs more than 256 KiB of local memory");
    ended += has_ended(fibers[k]);
    progress = progress || !fibers[k].waits;
  }
  return progress;
}

unsigned live_lanes(unsigned warp) {
  unsigned live = 0;
  for (unsigned lane = 0; lane < 32 && warp * 32 + lane < fibers.size(); lane++)
    if (!has_ended(fibers[warp * 32 + lane])) live |= 1u << lane;
  return live;
}

#ifdef SIM_INSTRUMENTED
std::vector<SimParty> awaited;  // by thread: the access of a loop that waits for another thread

SimParty at_site(unsigned thread) {
  if (fibers[thread].waits) return awaited[thread];
  const int site = fibers[thread].state == State::kDone ? 0 : fibers[thread].site;
  return {nullptr, site, thread, sim_running.block, 0};
}

void report_sites(SimFaultKind kind, unsigned first, unsigned second) {
  sim_report({kind, 1, at_site(first), at_site(second), 0, 0, kSimNoMemory, -1, 0});
}
#endif

bool release_warp(unsigned index) {
  Warp &warp = warps[index];
  const unsigned live = live_lanes(index), base = index * 32;
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!(warp.arrived >> lane & 1)) continue;
    const unsigned mask = fibers[base + lane].mask & live;
    if ((warp.arrived & mask) != mask) continue;
    for (unsigned other = 0; other < 32; other++) {
      if (!(mask >> other & 1)) continue;
      Fiber &fiber = fibers[base + other];
#ifdef SIM_INSTRUMENTED
      if ((fiber.mask & live) != mask) report_sites(kSimMasksDiffer, base + lane, base + other);
      if (fiber.site != fibers[base + lane].site) report_sites(kSimDivergentWarp, base + lane, base + other);
#else
      if ((fiber.mask & live) != mask) sim_fault("lanes of a warp operation disagree on its mask");
#endif
      warp.out[other] = warp.in[other];
      fiber.state = State::kRunnable;
    }
    warp.present = mask;
    warp.arrived &= ~mask;
#ifdef SIM_INSTRUMENTED
    sim_on_warp_operation(index, mask, fibers[base + lane].predicate);
#endif
    return true;
  }
  return false;
}

bool release_barrier(unsigned ended) {
  unsigned waiting = 0;
  int votes = 0;
  for (const Fiber &fiber : fibers) {
    waiting += fiber.state == State::kAtBarrier;
    votes += fiber.state == State::kAtBarrier && fiber.predicate;
  }
  if (waiting == 0 || waiting + ended != fibers.size()) return false;
#ifdef SIM_INSTRUMENTED
  unsigned first = 0;
  while (fibers[first].state != State::kAtBarrier) first++;
  const auto done = std::find_if(fibers.begin(), fibers.end(), [](const Fiber &f) { return f.state == State::kDone; });
  if (done != fibers.end()) report_sites(kSimMissedBarrier, first, (unsigned)(done - fibers.begin()));
  for (unsigned k = 0; k < fibers.size(); k++) {
    if (fibers[k].state == State::kAtBarrier && fibers[k].site != fibers[first].site)
      report_sites(kSimDivergentBarrier, first, k);
  }
  sim_on_barrier();
#endif
  barrier_votes = votes;
  for (Fiber &fiber : fibers)
    if (fiber.state == State::kAtBarrier) fiber.state = State::kRunnable;
  return true;
}

void report_deadlock() {
#ifdef SIM_INSTRUMENTED
  unsigned first = 0, second = 0;
  for (unsigned k = (unsigned)fibers.size(); k-- > 0;)
    if (!has_ended(fibers[k])) first = k;
  second = first;
  for (unsigned k = (unsigned)fibers.size(); k-- > first + 1;)
    if (!has_ended(fibers[k]) && (fibers[k].site != fibers[first].site || fibers[k].state != fibers[first].state))
      second = k;
  report_sites(kSimDeadlock, first, second);
#endif
  sim_fault("deadlock: a barrier, warp operation or value that threads wait for does not come");
}

bool make_fibers() {
  const SimIndex count = sim_context.block_dim;
  fibers.resize((size_t)count.x * count.y * count.z);
  warps.assign((fibers.size() + 31) / 32, Warp{});
  if (!stacks.grow_to(fibers.size())) return false;
  for (unsigned k = 0; k < fibers.size(); k++) {
    fibers[k].thread = {k % count.x, k / count.x % count.y, k / (count.x * count.y)};
    fibers[k].state = State::kRunnable;
    fibers[k].site = 0;
    fibers[k].waits = false;
    stacks.mark(k);
    prepare(fibers[k].continuation, stacks[k], run_thread);
  }
  fill_turns(turns, fibers.size());
#ifdef SIM_INSTRUMENTED
  awaited.resize(fibers.size());
#endif
  return true;
}

void poison_shared_memory() {  // a float read before it is written is a NaN
  if (__start_nestor_shared != nullptr)
    memset(__start_nestor_shared, 0xff, (size_t)(__stop_nestor_shared - __start_nestor_shared));
  memset(sim_dynamic_shared, 0xff, dynamic_bytes);
}

bool run_block() {
  poison_shared_memory();
  if (!make_fibers()) {
    sim_fault("no memory for the stacks of the threads");
    return false;
  }
#ifdef SIM_INSTRUMENTED
  sim_running.has_stopped = false;
#endif
  unsigned ended = 0, idle_rounds = 0;
  while (ended < fibers.size() && !fault_text[0]) {
    bool progress = run_runnable(ended);
    for (unsigned k = 0; k < warps.size(); k++)
      if (warps[k].arrived) progress = release_warp(k) || progress;
    progress = release_barrier(ended) || progress;
    const bool some_wait = std::any_of(fibers.begin(), fibers.end(), is_runnable);
    idle_rounds = progress ? 0 : idle_rounds + 1;
    if (!progress && (!some_wait || idle_rounds == kMostIdleRounds)) report_deadlock();
  }
  return !fault_text[0];
}

}  // namespace

SIM_RUNTIME void sim_fault(const char *what) {
  if (fault_text[0]) return;  // the first fault is the cause of the others
  const SimIndex &t = sim_context.thread, &b = sim_context.block;
  snprintf(fault_text, sizeof fault_text, "%s (block %u,%u,%u thread %u,%u,%u)", what, b.x, b.y, b.z, t.x, t.y,
           t.z);
}

SIM_RUNTIME int sim_lane() { return (int)(current & 31); }

SIM_RUNTIME unsigned sim_active_lanes() { return live_lanes(current >> 5); }

SIM_RUNTIME int sim_barrier(int site, int predicate) {
  fibers[current].site = site;
  fibers[current].predicate = predicate != 0;
  wait_as(State::kAtBarrier);
  return barrier_votes;
}

namespace {

void arrive(int site, unsigned mask, bool orders_memory) {
  const unsigned me = current, lane = me & 31;
  Fiber &fiber = fibers[me];
  fiber.site = site;
  fiber.predicate = orders_memory;
#ifdef SIM_INSTRUMENTED
  if (!(mask >> lane & 1)) report_sites(kSimNotInMask, me, me);
#else
  if (!(mask >> lane & 1)) sim_fault("a thread calls a warp operation without being in its mask");
#endif
  warps[me >> 5].arrived |= 1u << lane;
  fiber.mask = mask | 1u << lane;
  wait_as(State::kInWarp);
}

}  // namespace

SIM_RUNTIME void sim_warp_barrier(int site, unsigned mask) { arrive(site, mask, true); }

SIM_RUNTIME void sim_warp_exchange(int site, unsigned mask, const SimSlot *in, SimSlot *out32, unsigned *present) {
  Warp &warp = warps[current >> 5];
  warp.in[current & 31] = *in;
  arrive(site, mask, false);
  memcpy(out32, warp.out, sizeof warp.out);
  *present = warp.present;
}

SIM_RUNTIME void sim_absent_lane([[maybe_unused]] int site, [[maybe_unused]] int source) {
#ifdef SIM_INSTRUMENTED
  const unsigned thread = (current & ~31u) + (unsigned)source;
  if (thread < fibers.size() && fibers[thread].state == State::kStopped) sim_stop_thread();
  fibers[current].site = site;
  sim_report({kSimAbsentLane, 1, at_site(current), {nullptr, 0, thread, sim_running.block, 0}, 0, 0, kSimNoMemory, -1,
              (uint64_t)source});
#else
  sim_fault("a shuffle reads a lane that does not take part in it");
#endif
}

SIM_RUNTIME void sim_start_launch(const unsigned *grid, const unsigned *block) {
  sim_context.launch++;
  sim_context.grid_dim = {grid[0], grid[1], grid[2]};
  sim_context.block_dim = {block[0], block[1], block[2]};
  block_turns.clear();
  if (order == Order::kRandom) fill_turns(block_turns, sim_block_count());
#ifdef SIM_INSTRUMENTED
  sim_on_launch_start();
#endif
}

SIM_RUNTIME int sim_end_launch() {
#ifdef SIM_INSTRUMENTED
  stacks.forget();
  sim_on_launch_end();
#endif
  return fault_text[0] != 0;
}

SIM_RUNTIME unsigned long long sim_block_count() {
  const SimIndex &grid = sim_context.grid_dim;
  return (unsigned long long)grid.x * grid.y * grid.z;
}

SIM_RUNTIME void sim_go_to_block(unsigned long long position) {
  const SimIndex &grid = sim_context.grid_dim;
  unsigned long long block = position;
  if (order == Order::kReverse) block = sim_block_count() - 1 - position;
  if (order == Order::kRandom) block = block_turns[position];
  sim_context.block = {(unsigned)(block % grid.x), (unsigned)(block / grid.x % grid.y),
                       (unsigned)(block / grid.x / grid.y)};
#ifdef SIM_INSTRUMENTED
  sim_running.block = (uint32_t)block;
#endif
}

SIM_RUNTIME int sim_run_grid(void (*thread)(void **), void **arguments) {
  thread_body = thread;
  thread_arguments = arguments;
  const unsigned long long blocks = sim_block_count();
  for (unsigned long long k = 0; k < blocks; k++) {
    sim_go_to_block(k);
#ifdef SIM_INSTRUMENTED
    sim_on_block_start();
#endif
    if (!run_block()) return 1;
#ifdef SIM_INSTRUMENTED
    sim_on_block_end();
#endif
  }
  return 0;
}

#define SIM_API extern "C" __attribute__((visibility("default")))

SIM_API const char *sim_take_fault() {
  static char taken[sizeof fault_text];
  memcpy(taken, fault_text, sizeof taken);
  fault_text[0] = 0;
  return taken;
}

// Before a launch: the order of threads and blocks (0 forward, 1 reverse, 2 random), and the bytes of `extern
// __shared__` memory. Returns 0, or 1 if there is not that much of it.
SIM_API int sim_prepare(int order_asked, uint64_t seed, uint64_t shared_bytes) {
  order = static_cast<Order>(order_asked);
  random_state = (seed + 1) * 0x9e3779b97f4a7c15ull | 1;
  dynamic_bytes = shared_bytes;
  return shared_bytes > kMostDynamicShared;
}

#ifdef SIM_INSTRUMENTED
SIM_RUNTIME SimIndex sim_thread_index() { return sim_context.thread; }
SIM_RUNTIME SimIndex sim_block_index() { return sim_context.block; }
SIM_RUNTIME SimIndex sim_block_extents() { return sim_context.block_dim; }
SIM_RUNTIME SimIndex sim_grid_extents() { return sim_context.grid_dim; }

SIM_RUNTIME void sim_wait_for_others(const SimAccess &access) {
  fibers[current].waits = true;
  awaited[current] = sim_party(access);
  wait_as(State::kRunnable);
}

SIM_RUNTIME void sim_stop_thread() {
  sim_running.has_stopped = true;
  wait_as(State::kStopped);
  __builtin_unreachable();
}
#endif
