// Barriers, votes and shuffles: scheduler points of the runtime. Part of cuda_on_cpu.h.
#pragma once

#define __syncthreads() ((void)sim_barrier(__LINE__, 0))
#define __syncthreads_count(predicate) sim_barrier(__LINE__, (predicate) != 0)
#define __syncthreads_or(predicate) ((int)(sim_barrier(__LINE__, (predicate) != 0) != 0))
#define __syncthreads_and(predicate) ((int)(sim_barrier(__LINE__, (predicate) == 0) == 0))
#define __syncwarp(...) sim_syncwarp(__LINE__ __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(...) sim_shfl(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) sim_shfl_xor(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) sim_shfl_down(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) sim_shfl_up(__LINE__, __VA_ARGS__)
#define __ballot_sync(...) sim_ballot(__LINE__, __VA_ARGS__)
#define __any_sync(...) sim_any(__LINE__, __VA_ARGS__)
#define __all_sync(...) sim_all(__LINE__, __VA_ARGS__)
#define __uni_sync(...) sim_uni(__LINE__, __VA_ARGS__)
#define __match_any_sync(...) sim_match_any(__LINE__, __VA_ARGS__)
#define __match_all_sync(...) sim_match_all(__LINE__, __VA_ARGS__)
#define __reduce_add_sync(...) sim_reduce(__LINE__, [](auto a, auto b) { return a + b; }, __VA_ARGS__)
#define __reduce_min_sync(...) sim_reduce(__LINE__, [](auto a, auto b) { return b < a ? b : a; }, __VA_ARGS__)
#define __reduce_max_sync(...) sim_reduce(__LINE__, [](auto a, auto b) { return a < b ? b : a; }, __VA_ARGS__)
#define __reduce_and_sync(...) sim_reduce(__LINE__, [](auto a, auto b) { return a & b; }, __VA_ARGS__)
#define __reduce_or_sync(...) sim_reduce(__LINE__, [](auto a, auto b) { return a | b; }, __VA_ARGS__)
#define __reduce_xor_sync(...) sim_reduce(__LINE__, [](auto a, auto b) { return a ^ b; }, __VA_ARGS__)

static inline void sim_syncwarp(int site, unsigned mask = 0xffffffffu) { sim_warp_barrier(site, mask); }

struct SimExchange {  // what the lanes of a warp operation put in
  SimSlot slots[32];
  unsigned present;

  template <class T>
  SIM_QUIET T get(int lane) const {
    T value;
    memcpy(&value, slots[lane].bytes, sizeof value);
    return value;
  }
};

template <class T>
static SIM_QUIET void sim_exchange(int site, unsigned mask, T value, SimExchange &all) {
  static_assert(sizeof(T) <= sizeof(SimSlot), "a lane exchanges at most 16 bytes");
  SimSlot in = {};
  memcpy(in.bytes, &value, sizeof value);
  sim_warp_exchange(site, mask, &in, all.slots, &all.present);
}

// Shuffles: a lane outside of its segment of `width` lanes is the calling lane itself.

template <class T>
static SIM_QUIET T sim_shuffle(int site, unsigned mask, T value, int source) {
  SimExchange all;
  sim_exchange(site, mask, value, all);
  if (!(all.present >> source & 1)) sim_absent_lane(site, source);
  return all.get<T>(source);
}

template <class T>
static SIM_QUIET T sim_shfl(int site, unsigned mask, T value, int source, int width = 32) {
  const int lane = sim_lane();
  return sim_shuffle(site, mask, value, (lane & -width) + (source & (width - 1)));
}

template <class T>
static SIM_QUIET T sim_shfl_xor(int site, unsigned mask, T value, int bits, int width = 32) {
  const int lane = sim_lane(), source = lane ^ bits;
  return sim_shuffle(site, mask, value, source >= 32 || source / width > lane / width ? lane : source);
}

template <class T>
static SIM_QUIET T sim_shfl_down(int site, unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = sim_lane();
  return sim_shuffle(site, mask, value, lane % width + (int)delta >= width ? lane : lane + (int)delta);
}

template <class T>
static SIM_QUIET T sim_shfl_up(int site, unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = sim_lane();
  return sim_shuffle(site, mask, value, lane % width < (int)delta ? lane : lane - (int)delta);
}

// Votes, over the lanes of the mask that are still running.

static SIM_QUIET unsigned sim_ballot(int site, unsigned mask, int predicate) {
  SimExchange all;
  unsigned votes = 0;
  sim_exchange(site, mask, (int)(predicate != 0), all);
  for (int lane = 0; lane < 32; lane++)
    if (all.present >> lane & 1 && all.get<int>(lane)) votes |= 1u << lane;
  return votes;
}

static inline int sim_any(int site, unsigned mask, int predicate) { return sim_ballot(site, mask, predicate) != 0; }
static inline int sim_all(int site, unsigned mask, int predicate) { return sim_ballot(site, mask, !predicate) == 0; }

static SIM_QUIET int sim_uni(int site, unsigned mask, int predicate) {
  SimExchange all;
  sim_exchange(site, mask, (int)(predicate != 0), all);
  for (int lane = 0; lane < 32; lane++)
    if (all.present >> lane & 1 && all.get<int>(lane) != (predicate != 0)) return 0;
  return 1;
}

template <class T>
static SIM_QUIET unsigned sim_match_any(int site, unsigned mask, T value) {
  SimExchange all;
  unsigned same = 0;
  sim_exchange(site, mask, value, all);
  for (int lane = 0; lane < 32; lane++)  // bits are compared: 0.0 and -0.0 differ, a NaN matches itself
    if (all.present >> lane & 1 && memcmp(all.slots[lane].bytes, &value, sizeof value) == 0) same |= 1u << lane;
  return same;
}

template <class T>
static SIM_QUIET unsigned sim_match_all(int site, unsigned mask, T value, int *all_equal) {
  SimExchange all;
  sim_exchange(site, mask, value, all);
  *all_equal = 1;
  for (int lane = 0; lane < 32; lane++)
    if (all.present >> lane & 1 && memcmp(all.slots[lane].bytes, &value, sizeof value) != 0) *all_equal = 0;
  return *all_equal ? all.present : 0;
}

template <class Combine, class T>
static SIM_QUIET T sim_reduce(int site, Combine combine, unsigned mask, T value) {
  SimExchange all;
  sim_exchange(site, mask, value, all);
  const int first = __builtin_ctz(all.present);
  T total = all.get<T>(first);
  for (int lane = first + 1; lane < 32; lane++)
    if (all.present >> lane & 1) total = combine(total, all.get<T>(lane));
  return total;
}

SIM_RUNTIME unsigned sim_active_lanes();
static inline unsigned __activemask() { return sim_active_lanes(); }
