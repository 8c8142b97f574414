// The calls that -fsanitize=thread inserts before every access, as SimAccess of an array. Linked in place of libtsan.
//
// An access that leaves its array or is not aligned is reported and ends its thread before memory is touched.
#include "hooks.h"

#include <vector>

SimRunning sim_running = {};

extern "C" char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" char _end[] __attribute__((visibility("hidden")));
extern "C" char __start_nestor_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_nestor_shared[] __attribute__((weak, visibility("hidden")));

namespace {

constexpr size_t kMostReports = 64;

std::vector<SimRegion> arrays[2];  // global, shared; by address
std::vector<SimReport> reports;
uint16_t array_of_pc[256];  // where the last access of an instruction was found: mostly where the next one is

bool holds(const SimRegion &array, const char *address) {
  return (uint64_t)(address - array.base) < array.bytes;
}

// The array with the largest base that is not above the address, which need not reach as far as it.
int find(const std::vector<SimRegion> &among, const char *address) {
  size_t low = 0, high = among.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (among[middle].base <= address) low = middle + 1;
    else high = middle;
  }
  return (int)low - 1;
}

bool is_shared(const char *address) {
  const size_t bytes = (size_t)(__stop_nestor_shared - __start_nestor_shared);
  return (size_t)(address - __start_nestor_shared) < bytes ||
         (size_t)(address - (const char *)sim_dynamic_shared) < (228u << 10);
}

bool locate(const char *address, const void *pc, SimPlace &place) {
  const size_t key = ((size_t)pc ^ (size_t)pc >> 8) & 255;
  const SimSpace space = is_shared(address) ? kSimShared : kSimGlobal;
  const std::vector<SimRegion> &among = arrays[space];
  int k = array_of_pc[key];
  if ((size_t)k >= among.size() || !holds(among[k], address)) {
    k = find(among, address);
    if (k >= 0) array_of_pc[key] = (uint16_t)k;
  }
  place.space = space;
  place.region = k;
  place.array = k < 0 ? nullptr : &among[k];
  place.offset = k < 0 ? 0 : (uint64_t)(address - among[k].base);
  return k >= 0;
}

bool is_element(const SimPlace &place, uint32_t size) {
  const SimRegion &array = *place.array;
  if (place.offset + size > array.bytes) return false;
  if (array.state == nullptr) return true;
  const uint64_t last = (place.offset + size - 1) / array.element_bytes;
  for (uint64_t k = place.offset / array.element_bytes; k <= last; k++)
    if (!(array.state[k] & kSimIsElement)) return false;
  return true;
}

// Volatile reads and atomic operations of one instruction that find the same value again and again: a thread that waits
// for another one.
struct Spin {
  const char *address;
  const void *pc;
  uint32_t thread, times;
  uint64_t value;
};
Spin spin;
constexpr uint32_t kPatience = 256;

void notice_waiting(const SimAccess &access) {
  uint64_t value = 0;
  memcpy(&value, access.address, access.size < 8 ? access.size : 8);
  if (spin.address != access.address || spin.pc != access.pc || spin.thread != sim_running.thread ||
      spin.value != value)
    spin = {access.address, access.pc, sim_running.thread, 0, value};
  if (++spin.times % kPatience == 0) sim_wait_for_others(access);
}

void check_access(const SimAccess &access, bool is_vector) {
  SimPlace place;
  if (!sim_find(access, is_vector, place)) return;
  if (access.atomic) notice_waiting(access);
  sim_on_access(access, place);
}

bool is_same_place(const SimParty &a, const SimParty &b) { return a.pc == b.pc && a.site == b.site; }

}  // namespace

SIM_RUNTIME bool sim_find(const SimAccess &access, bool is_aligned, SimPlace &place) {
  const char *address = access.address;
  if ((size_t)(address - sim_running.stack) < sim_running.stack_bytes) return false;  // a local variable
  const bool found = locate(address, access.pc, place);
  if (place.space == kSimGlobal && (!found || !holds(*place.array, address)) &&
      (size_t)(address - __ehdr_start) < (size_t)(_end - __ehdr_start))
    return false;  // a constant table
  if (!found || !is_element(place, access.size)) {
    sim_report_access(kSimOutOfBounds, access, place);
    sim_stop_thread();
  }
  if (is_aligned && (size_t)address % access.size != 0) {
    sim_report_access(kSimMisaligned, access, place);
    sim_stop_thread();
  }
  if (access.write && place.array->flags & kSimReadOnly) {
    sim_report_access(kSimReadOnlyWrite, access, place);
    sim_stop_thread();
  }
  return true;
}

SIM_RUNTIME const SimRegion *sim_regions(SimSpace space, uint32_t *count) {
  *count = (uint32_t)arrays[space].size();
  return arrays[space].data();
}

SIM_RUNTIME SimParty sim_party(const SimAccess &access) {
  return {access.pc, 0, sim_running.thread, sim_running.block, access.atomic && access.write ? 2u : access.write ? 1u : 0u};
}

SIM_RUNTIME void sim_report(const SimReport &report) {
  for (SimReport &known : reports)
    if (known.kind == report.kind && is_same_place(known.first, report.first) &&
        is_same_place(known.second, report.second)) {
      known.count++;
      return;
    }
  if (reports.size() < kMostReports) reports.push_back(report);
}

SIM_RUNTIME void sim_report_access(SimFaultKind kind, const SimAccess &access, const SimPlace &place) {
  const SimParty nobody = {};
  sim_report({kind, 1, sim_party(access), nobody, (uint64_t)access.address, access.size, place.space, place.region,
              place.offset});
}

SIM_RUNTIME void sim_on_atomic(const volatile void *address, unsigned size, const void *pc) {
  check_access({(const char *)address, size, true, true, pc, true}, true);
}

SIM_RUNTIME void sim_on_fence(int scope) {
  if (scope == 1) sim_on_device_fence();
}

SIM_RUNTIME void sim_on_shim_access(const void *address, unsigned size, bool write, const void *pc) {
  check_access({(const char *)address, size, write, false, pc}, true);
}

// -- the calls that the compiler inserts -----------------------------------------------------------------

// A volatile access is one that other threads may see at once: as an atomic one, it races with ordinary ones only.
#define SIM_HOOK(name, size, write, atomic)                \
  SIM_RUNTIME void __tsan_##name(const void *address) {    \
    check_access({(const char *)address, size, write, atomic, __builtin_return_address(0)}, true); \
  }
#define SIM_HOOKS(size)                                     \
  SIM_HOOK(read##size, size, false, false)                  \
  SIM_HOOK(write##size, size, true, false)                  \
  SIM_HOOK(unaligned_read##size, size, false, false)        \
  SIM_HOOK(unaligned_write##size, size, true, false)        \
  SIM_HOOK(volatile_read##size, size, false, true)          \
  SIM_HOOK(volatile_write##size, size, true, true)          \
  SIM_HOOK(unaligned_volatile_read##size, size, false, true) \
  SIM_HOOK(unaligned_volatile_write##size, size, true, true)
SIM_HOOKS(1)
SIM_HOOKS(2)
SIM_HOOKS(4)
SIM_HOOKS(8)
SIM_HOOKS(16)

SIM_RUNTIME void __tsan_read_range(const void *address, size_t size) {
  check_access({(const char *)address, (uint32_t)size, false, false, __builtin_return_address(0)}, false);
}
SIM_RUNTIME void __tsan_write_range(const void *address, size_t size) {
  check_access({(const char *)address, (uint32_t)size, true, false, __builtin_return_address(0)}, false);
}
SIM_RUNTIME void __tsan_init() {}
SIM_RUNTIME void __tsan_func_entry(void *) {}
SIM_RUNTIME void __tsan_func_exit() {}
SIM_RUNTIME void __tsan_vptr_update(void **, void *) {}
SIM_RUNTIME void __tsan_vptr_read(void **) {}

// -- for Python ------------------------------------------------------------------------------------------

#define SIM_API extern "C" __attribute__((visibility("default")))

SIM_API const char *sim_image_base() { return __ehdr_start; }

SIM_API void sim_shared_bounds(const char **bounds) {  // of `__shared__`, then where `extern __shared__` starts
  bounds[0] = __start_nestor_shared;
  bounds[1] = __stop_nestor_shared;
  bounds[2] = (const char *)sim_dynamic_shared;
}

// The arrays that the next launch may touch: of global (0) or shared (1) memory, in the order of their addresses.
SIM_API void sim_set_arrays(int space, const SimRegion *regions, uint32_t count) {
  arrays[space].assign(regions, regions + count);
}

SIM_API uint32_t sim_report_count() { return (uint32_t)reports.size(); }
SIM_API const SimReport *sim_report_list() { return reports.data(); }
SIM_API void sim_forget_reports() { reports.clear(); }
