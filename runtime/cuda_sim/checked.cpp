// Mode `checked`: races, reads before any write, and accesses to memory that an asynchronous copy is still writing.
//
// Every element of an array that a kernel may write has a cell: who wrote it last, and two of those who have read it
// since. Two accesses of different threads, one of them a write and not both atomic, are a race unless one is ordered
// before the other:
//
//   threads of a block   by a barrier that both have passed since;
//   lanes of a warp      by a __syncwarp of both since; neither lockstep nor a shuffle orders memory;
//   blocks of a grid     by __threadfence and then an atomic operation of the first one, whose element the second one
//                        has updated or read atomically since. Nothing else.
//
// A clock of the block that runs, which ticks at each of these events, says what came before them.
#include "hooks.h"

#include <sys/mman.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

extern "C" char __ehdr_start[] __attribute__((visibility("hidden")));

namespace {

enum : uint16_t { kAtomic = 1, kWrite = 2, kUnderWay = 4 };  // Mark::flags

struct Mark {  // an access
  uint32_t run;  // of the block: which one since the process started; 0: no access
  uint32_t time;
  uint32_t pc;   // relative to the library
  uint16_t thread, flags;
};

struct Cell {
  Mark write, reads[2];
};

using Times = std::vector<uint32_t>;  // for each block of the launch, in the order in which they ran

Cell *cells;
size_t cells_bytes;
std::vector<size_t> first_cell[2];  // of each array; those that nobody may write have none
constexpr size_t kNoCells = ~(size_t)0;

uint32_t run, first_run;           // of the block that runs; of the first one of the launch
uint32_t oldest_run;               // whose accesses count: `run` for shared memory, `first_run` for global memory
std::vector<uint32_t> block_of_run;  // from first_run on
uint32_t now = 1, barrier_time, fence_time;
uint32_t warp_time[32];            // when all lanes of a warp last passed a __syncwarp
uint32_t lane_time[32][32][32];    // and pairs of lanes: [warp][lane][before which accesses of that lane]
Times known;                       // what of other blocks is ordered before the one that runs
std::unordered_map<size_t, Times> released;  // by cell: what is ordered before a block that updates it

bool is_ordered(const Mark &mark) {
  if (mark.run < oldest_run) return true;
  if (mark.run != run) {
    const size_t k = mark.run - first_run;
    return k < known.size() && mark.time < known[k];
  }
  if (mark.thread == sim_running.thread || mark.time < barrier_time) return true;
  const uint32_t warp = sim_running.warp;
  if (mark.thread >> 5 != warp) return false;
  return mark.time < warp_time[warp] || mark.time < lane_time[warp][sim_running.lane][mark.thread & 31];
}

SimParty party_of(const Mark &mark) {
  const uint32_t access = (mark.flags & (kAtomic | kWrite)) == (kAtomic | kWrite) ? 2 : mark.flags & kWrite ? 1 : 0;
  return {__ehdr_start + mark.pc, 0, mark.thread, block_of_run[mark.run - first_run], access};
}

void report(SimFaultKind kind, const SimAccess &access, const SimPlace &place, uint64_t element, const Mark *other) {
  const SimRegion &array = *place.array;
  const uint64_t offset = element * array.element_bytes;
  sim_report({kind, 1, sim_party(access), other == nullptr ? SimParty{} : party_of(*other),
              (uint64_t)(array.base + offset), access.size, place.space, place.region, offset});
}

Mark mark_of(const SimAccess &access, uint16_t more = 0) {
  const uint16_t flags = (access.atomic ? kAtomic : 0) | (access.write ? kWrite : 0) | more;
  return {run, now, (uint32_t)((const char *)access.pc - __ehdr_start), (uint16_t)sim_running.thread, flags};
}

bool conflicts(const Mark &before, const SimAccess &access) {
  return !(before.flags & kAtomic && access.atomic) && !is_ordered(before);
}

void note_read(Cell &cell, const Mark &mark) {
  for (Mark &read : cell.reads)
    if (is_ordered(read)) {  // whoever comes before this read comes before whatever comes after it
      read = mark;
      return;
    }
  cell.reads[mark.run == cell.reads[0].run && mark.thread >> 5 == cell.reads[0].thread >> 5 ? 0 : 1] = mark;
}

void check_cell(Cell &cell, const SimAccess &access, const SimPlace &place, uint64_t element, const Mark &mark) {
  if (cell.write.flags & kUnderWay && cell.write.run == run) {
    report(kSimPendingCopy, access, place, element, &cell.write);
    return;
  }
  if (conflicts(cell.write, access)) report(kSimRace, access, place, element, &cell.write);
  if (!access.write) {
    note_read(cell, mark);
    return;
  }
  for (Mark &read : cell.reads) {
    if (conflicts(read, access)) report(kSimRace, access, place, element, &read);
    read = {};
  }
  cell.write = mark;
}

// The elements that an access covers, from `first` to `last`.
struct Elements {
  uint64_t first, last;
};

Elements elements_of(const SimPlace &place, uint32_t size) {
  const uint32_t unit = place.array->element_bytes;
  return {place.offset / unit, (place.offset + size - 1) / unit};
}

void synchronise_blocks(size_t cell, bool reads_only) {
  const auto found = released.find(cell);
  const auto join = [](Times &to, const Times &from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t k = 0; k < from.size(); k++) to[k] = std::max(to[k], from[k]);
  };
  if (found != released.end()) join(known, found->second);
  if (reads_only || fence_time == 0) return;
  Times &times = released[cell];
  join(times, known);
  const size_t own = run - first_run;
  if (times.size() <= own) times.resize(own + 1);
  times[own] = fence_time;
}

}  // namespace

SIM_RUNTIME void sim_on_launch_start() {
  size_t count = 0;
  for (const SimSpace space : {kSimGlobal, kSimShared}) {
    uint32_t regions = 0;
    const SimRegion *arrays = sim_regions(space, &regions);
    first_cell[space].assign(regions, kNoCells);
    for (uint32_t k = 0; k < regions; k++) {
      if (arrays[k].flags & kSimReadOnly) continue;
      first_cell[space][k] = count;
      count += (arrays[k].bytes + arrays[k].element_bytes - 1) / arrays[k].element_bytes;
    }
  }
  cells_bytes = count * sizeof(Cell);
  void *memory = count == 0 ? nullptr
                            : mmap(nullptr, cells_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  cells = memory == MAP_FAILED ? nullptr : static_cast<Cell *>(memory);
  if (memory == MAP_FAILED) {
    for (std::vector<size_t> &first : first_cell) first.assign(first.size(), kNoCells);
    sim_fault("no memory to follow the accesses of this launch");
  }
  first_run = run + 1;
  block_of_run.clear();
  released.clear();
}

SIM_RUNTIME void sim_on_launch_end() {  // a process may hold many libraries
  if (cells != nullptr) munmap(cells, cells_bytes);
  cells = nullptr;
  cells_bytes = 0;
}

SIM_RUNTIME void sim_on_block_start() {
  run++;
  block_of_run.push_back(sim_running.block);
  barrier_time = ++now;
  fence_time = 0;
  known.clear();
}

SIM_RUNTIME void sim_on_block_end() {}

SIM_RUNTIME void sim_on_barrier() { barrier_time = ++now; }

SIM_RUNTIME void sim_on_warp_operation(uint32_t warp, uint32_t mask, bool is_barrier) {
  if (!is_barrier) return;
  now++;
  if (mask == 0xffffffffu) {
    warp_time[warp] = now;
    return;
  }
  uint32_t latest[32] = {};
  for (int lane = 0; lane < 32; lane++)
    if (mask >> lane & 1)
      for (int other = 0; other < 32; other++) latest[other] = std::max(latest[other], lane_time[warp][lane][other]);
  for (int lane = 0; lane < 32; lane++)
    if (mask >> lane & 1)
      for (int other = 0; other < 32; other++) lane_time[warp][lane][other] = mask >> other & 1 ? now : latest[other];
}

SIM_RUNTIME void sim_on_device_fence() { fence_time = ++now; }

SIM_RUNTIME void sim_on_access(const SimAccess &access, const SimPlace &place) {
  const SimRegion &array = *place.array;
  const Elements elements = elements_of(place, access.size);
  const bool wants_values = (!access.write || access.update) && !sim_running.has_stopped;
  if (array.state != nullptr)
    for (uint64_t k = elements.first; k <= elements.last; k++) {
      if (wants_values && !(array.state[k] & kSimIsWritten)) report(kSimUninitialised, access, place, k, nullptr);
      if (access.write) array.state[k] |= kSimIsWritten;
    }
  const size_t first = first_cell[place.space][place.region];
  if (first == kNoCells) return;
  if (access.atomic && place.space == kSimGlobal) synchronise_blocks(first + elements.first, !access.write);
  oldest_run = place.space == kSimShared ? run : first_run;
  const Mark mark = mark_of(access);
  for (uint64_t k = elements.first; k <= elements.last; k++) {
    Cell &cell = cells[first + k];
    if (wants_values && place.space == kSimShared && cell.write.run != run)
      report(kSimUninitialised, access, place, k, nullptr);
    check_cell(cell, access, place, k, mark);
  }
}

SIM_RUNTIME void sim_on_copy_start(const void *target, unsigned size, const void *pc) {
  const SimAccess access = {(const char *)target, size, true, false, pc};
  SimPlace place;
  if (!sim_find(access, true, place)) return;
  const size_t first = first_cell[place.space][place.region];
  if (first == kNoCells) return;
  const Elements elements = elements_of(place, size);
  oldest_run = run;
  for (uint64_t k = elements.first; k <= elements.last; k++)
    check_cell(cells[first + k], access, place, k, mark_of(access, kUnderWay));
}

SIM_RUNTIME void sim_on_copy_landed(const void *target, unsigned size, const void *pc) {
  const SimAccess access = {(const char *)target, size, true, false, pc};
  SimPlace place;
  if (!sim_find(access, true, place)) return;
  const size_t first = first_cell[place.space][place.region];
  if (first == kNoCells) return;
  const Elements elements = elements_of(place, size);
  for (uint64_t k = elements.first; k <= elements.last; k++) cells[first + k].write = mark_of(access);
}

// -- the calls of -fsanitize=bounds-strict ----------------------------------------------------------------
//
// Arrays of known extents: those in registers, rows of tiles, fragments.

namespace {

struct Location {
  const char *file;
  uint32_t line, column;
};
struct Type {
  uint16_t kind, info;
  char name[1];
};
struct IndexOutside {
  Location at;
  const Type *array, *index;
};

}  // namespace

SIM_RUNTIME void __ubsan_handle_out_of_bounds(const IndexOutside *data, uint64_t index) {
  const SimParty nobody = {};
  const SimParty who = {__builtin_return_address(0), (int32_t)data->at.line, sim_running.thread, sim_running.block, 3};
  sim_report({kSimIndexOutside, 1, who, nobody, (uint64_t)data->array->name, 0, kSimNoMemory, -1, index});
  sim_stop_thread();
}
