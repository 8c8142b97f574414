// Profile mode: what the memory accesses of a launch cost, counted as a GPU serves them.
//
// A GPU serves the accesses of a warp together: one instruction of its active lanes is one request. Here
// threads run one after the other, so requests are put together afterwards: accesses of a warp belong to the
// same request when they come from the same instruction in the same iteration of every loop around it. Which
// iteration a thread is in is found by following its basic blocks (`LoopPosition`), so lanes that leave a loop
// early meet the others again behind it, as they do on a GPU.
//
// Global memory: a request costs the 32-byte sectors it touches. Shared memory: it costs one pass for every
// word that a bank must deliver besides the first; accesses of 8 and 16 bytes go by halves and quarters of a
// warp, and a word that several lanes read is delivered once. Caches, multicast and the serialisation of
// atomics on one address are not modelled.
#include <stdint.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "hooks.h"

namespace {

constexpr unsigned kLanes = 32;
constexpr uintptr_t kSectorBytes = 32;
constexpr unsigned kBanks = 32;

uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 29);
}

// -- where a thread is in its loops -----------------------------------------------------------------------

// The basic blocks that a thread has passed through, without those of iterations that are over: coming to a block
// again is the next iteration of the loop that begins there. That loop is the code up to the block from which
// control came back (its latch); of two loops that begin at the same block the outer one has the higher latch.
class LoopPosition {
 public:
  void clear() {
    trace_.clear();
    key_ = 0;
  }

  // Equal for threads that are in the same iterations of the same loops, reached by the same calls.
  uint64_t key() const { return key_; }

  // `frame` tells functions apart: that of a called function is lower.
  void enter(uintptr_t code, uintptr_t frame) {
    while (!trace_.empty() && trace_.back().frame < frame) trace_.pop_back();
    size_t first = trace_.size(), again = SIZE_MAX;
    for (; first > 0 && trace_[first - 1].frame == frame; first--)
      if (trace_[first - 1].code == code) again = first - 1;
    if (again != SIZE_MAX) {
      trace_[again].come_back(trace_.back().code);
      trace_.resize(again + 1);
    } else {
      trace_.push_back({code, frame, 0, 0, {}});
    }
    key_ = first > 0 ? mixed(trace_[first - 1].key, trace_[first - 1].code) : 0;  // and the call
    for (size_t k = first; k < trace_.size(); k++) key_ = trace_[k].add_loops(key_, code);
    trace_.back().key = key_;
  }

 private:
  struct Loop {
    uintptr_t latch;
    uint64_t iteration;
  };

  struct Passed {
    uintptr_t code, frame;
    uint64_t key;  // of the position when it was entered
    unsigned loops;
    Loop loop[4];  // that begin here and have come back; the outermost first

    void come_back(uintptr_t latch) {
      while (loops > 0 && loop[loops - 1].latch < latch) loops--;
      if (loops > 0 && loop[loops - 1].latch == latch)
        loop[loops - 1].iteration++;
      else if (loops < 4)
        loop[loops++] = {latch, 1};
    }

    uint64_t add_loops(uint64_t key, uintptr_t at) const {
      for (unsigned k = 0; k < loops && at <= loop[k].latch; k++)
        key = mixed(mixed(key, loop[k].latch), loop[k].iteration);
      return key;
    }
  };

  std::vector<Passed> trace_;
  uint64_t key_ = 0;
};

std::vector<LoopPosition> positions;  // by thread of the block

// -- bytes that a launch touches ---------------------------------------------------------------------------

// A set of bytes of an array, a bit each.
class ByteSet {
 public:
  explicit ByteSet(uint64_t bytes) : bits_(bytes / 64 + 2) {}

  void add(uint64_t offset, unsigned size) {
    for (; size > 16; size -= 16, offset += 16) add(offset, 16);
    const unsigned shift = offset & 63;
    const uint64_t mask = (1ull << size) - 1;
    bits_[offset >> 6] |= mask << shift;
    if (shift + size > 64) bits_[(offset >> 6) + 1] |= mask >> (64 - shift);
  }

  bool has(uint64_t offset) const { return bits_[offset >> 6] >> (offset & 63) & 1; }

  const uint64_t *data() const { return bits_.data(); }

 private:
  std::vector<uint64_t> bits_;
};

struct TouchedBytes {
  ByteSet read, written;
  ByteSet needed;  // read before this launch wrote them
};

std::vector<TouchedBytes> touched;  // by array of global memory

void note_bytes(TouchedBytes &bytes, const SimAccess &access, uint64_t offset) {
  if (!access.write || access.atomic) {
    bytes.read.add(offset, access.size);
    if (!bytes.written.has(offset)) bytes.needed.add(offset, access.size);
  }
  if (access.write || access.atomic) bytes.written.add(offset, access.size);
}

}  // namespace

// -- requests ---------------------------------------------------------------------------------------------

// What an instruction did to an array. Python reads these (profile.py): the layout is part of the interface.
struct SimSite {
  uint64_t code;            // the return address of its hook
  int32_t space, array;     // a SimSpace, and a position among its regions
  uint64_t kind;            // 0 load, 1 store, 2 atomic
  uint64_t size;            // bytes a lane
  uint64_t requests, lanes; // warps that executed it, and their active lanes in all
  uint64_t cost, ideal;     // sectors, or passes over the banks: taken, and needed for the bytes at best
};

namespace {

enum Kind { kLoad, kStore, kAtomic };

struct Request {
  uint64_t key;
  unsigned site;
  unsigned lanes;
  uintptr_t addresses[kLanes];
};

// The requests of a warp since its block began, in the order of the first lane that took part.
class WarpRequests {
 public:
  void clear() {
    requests_.clear();
    index_.assign(index_.size(), 0);
    std::fill(next_, next_ + kLanes, 0);
  }

  const std::vector<Request> &all() const { return requests_; }

  void add(unsigned lane, unsigned site, uint64_t key, uintptr_t address) {
    const unsigned bit = 1u << lane;
    // Lanes do the same things in the same order, mostly.
    unsigned at = next_[lane];
    if (at >= requests_.size() || !fits(requests_[at], site, key, bit)) at = find(site, key, bit);
    requests_[at].lanes |= bit;
    requests_[at].addresses[lane] = address;
    next_[lane] = at + 1;
  }

 private:
  static bool fits(const Request &request, unsigned site, uint64_t key, unsigned bit) {
    return request.key == key && request.site == site && !(request.lanes & bit);
  }

  unsigned find(unsigned site, uint64_t key, unsigned bit) {
    if ((requests_.size() + 1) * 2 > index_.size()) grow();
    size_t k = slot(site, key);
    for (; index_[k] != 0; k = (k + 1) & (index_.size() - 1))
      if (fits(requests_[index_[k] - 1], site, key, bit)) return index_[k] - 1;
    requests_.push_back({key, site, 0, {}});
    index_[k] = (unsigned)requests_.size();
    return index_[k] - 1;
  }

  size_t slot(unsigned site, uint64_t key) const { return mixed(key, site) & (index_.size() - 1); }

  void grow() {
    index_.assign(std::max<size_t>(256, index_.size() * 2), 0);
    for (size_t r = 0; r < requests_.size(); r++) {
      size_t k = slot(requests_[r].site, requests_[r].key);
      while (index_[k] != 0) k = (k + 1) & (index_.size() - 1);
      index_[k] = (unsigned)r + 1;
    }
  }

  std::vector<Request> requests_;
  std::vector<unsigned> index_;  // one more than a position in requests_; 0: empty
  unsigned next_[kLanes] = {};
};

std::vector<SimSite> sites;
std::unordered_map<uint64_t, std::vector<unsigned>> sites_of_code;  // mostly one
std::vector<WarpRequests> warps;

unsigned site_of(const SimAccess &access, const SimPlace &place) {
  const uint64_t code = reinterpret_cast<uintptr_t>(access.pc);
  const Kind kind = access.atomic ? kAtomic : access.write ? kStore : kLoad;
  std::vector<unsigned> &here = sites_of_code[code];
  for (unsigned k : here) {
    const SimSite &site = sites[k];
    if (site.array == place.region && site.space == (int32_t)place.space && site.size == access.size &&
        site.kind == kind)
      return k;
  }
  const unsigned made = (unsigned)sites.size();
  sites.push_back({code, (int32_t)place.space, place.region, kind, access.size, 0, 0, 0, 0});
  here.push_back(made);
  return made;
}

// The addresses of a request, each once and in ascending order.
unsigned distinct(const Request &request, unsigned from, unsigned to, uintptr_t *into) {
  unsigned count = 0;
  for (unsigned lane = from; lane < to; lane++)
    if (request.lanes >> lane & 1) into[count++] = request.addresses[lane];
  std::sort(into, into + count);
  return (unsigned)(std::unique(into, into + count) - into);
}

void count_sectors(SimSite &site, const Request &request) {
  uintptr_t addresses[kLanes], end = 0, bytes = 0, next_sector = 0;
  const unsigned count = distinct(request, 0, kLanes, addresses);
  for (unsigned k = 0; k < count; k++) {
    const uintptr_t start = addresses[k], stop = start + site.size;
    bytes += stop - std::max(start, std::min(end, stop));
    end = stop;
    const uintptr_t first = std::max(start / kSectorBytes, next_sector);
    next_sector = (stop - 1) / kSectorBytes + 1;
    site.cost += next_sector - std::min(first, next_sector);
  }
  site.ideal += (bytes + kSectorBytes - 1) / kSectorBytes;
}

void count_passes(SimSite &site, const Request &request) {
  const unsigned words = std::max(1u, (unsigned)site.size / 4);
  const unsigned together = std::max(1u, kLanes / words);
  for (unsigned from = 0; from < kLanes; from += together) {
    uintptr_t addresses[kLanes];
    unsigned count = distinct(request, from, from + together, addresses);
    if (count == 0) continue;
    for (unsigned k = 0; k < count; k++) addresses[k] /= 4;
    count = (unsigned)(std::unique(addresses, addresses + count) - addresses);
    unsigned load[kBanks] = {};
    for (unsigned k = 0; k < count; k++)
      for (unsigned word = 0; word < words; word++) load[(addresses[k] + word) % kBanks]++;
    site.cost += *std::max_element(load, load + kBanks);
    site.ideal += 1;
  }
}

void finish_block() {
  for (WarpRequests &warp : warps) {
    for (const Request &request : warp.all()) {
      SimSite &site = sites[request.site];
      site.requests++;
      site.lanes += (unsigned)__builtin_popcount(request.lanes);
      if (site.space == kSimShared)
        count_passes(site, request);
      else
        count_sectors(site, request);
    }
    warp.clear();
  }
}

}  // namespace

SIM_RUNTIME void sim_on_launch_start() {
  const SimIndex &block = sim_context.block_dim;
  const size_t threads = (size_t)block.x * block.y * block.z;
  positions.assign(threads, LoopPosition{});
  warps.assign((threads + kLanes - 1) / kLanes, WarpRequests{});
  sites.clear();
  sites_of_code.clear();
  touched.clear();
  uint32_t count;
  const SimRegion *regions = sim_regions(kSimGlobal, &count);
  for (uint32_t k = 0; k < count; k++) {
    const uint64_t bytes = regions[k].bytes;
    touched.push_back({ByteSet(bytes), ByteSet(bytes), ByteSet(bytes)});
  }
}

SIM_RUNTIME void sim_on_launch_end() { positions.clear(); }

SIM_RUNTIME void sim_on_block_start() {
  for (LoopPosition &position : positions) position.clear();
}

SIM_RUNTIME void sim_on_block_end() { finish_block(); }

SIM_RUNTIME void sim_on_access(const SimAccess &access, const SimPlace &place) {
  if (place.space == kSimGlobal) note_bytes(touched[place.region], access, place.offset);
  const uint32_t thread = sim_running.thread;
  warps[thread / kLanes].add(thread % kLanes, site_of(access, place), positions[thread].key(),
                             reinterpret_cast<uintptr_t>(access.address));
}

SIM_RUNTIME void sim_on_barrier() {}
SIM_RUNTIME void sim_on_warp_operation(uint32_t, uint32_t, bool) {}
SIM_RUNTIME void sim_on_device_fence() {}

// An asynchronous copy writes as a store does, when it starts.
SIM_RUNTIME void sim_on_copy_start(const void *target, unsigned size, const void *pc) {
  sim_on_shim_access(target, size, true, pc);
}
SIM_RUNTIME void sim_on_copy_landed(const void *, unsigned, const void *) {}

// -fsanitize-coverage=trace-pc calls it at the start of every basic block.
SIM_RUNTIME void __sanitizer_cov_trace_pc() {
  if (sim_running.thread >= positions.size()) return;  // the library is being loaded, or a launch begins
  positions[sim_running.thread].enter(reinterpret_cast<uintptr_t>(__builtin_return_address(0)),
                                      reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}

// -- for Python: what the last launch did -----------------------------------------------------------------

#define SIM_API extern "C" __attribute__((visibility("default")))

SIM_API const SimSite *sim_profile_sites(size_t *count) {
  *count = sites.size();
  return sites.data();
}

// The bytes of an array of global memory that the launch read, wrote, and read before it wrote them, a bit each.
SIM_API void sim_profile_bytes(size_t array, const uint64_t **sets) {
  sets[0] = touched[array].read.data();
  sets[1] = touched[array].written.data();
  sets[2] = touched[array].needed.data();
}
