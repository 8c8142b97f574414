// The PTX helpers of the prelude (lowering/cuda_c/tensor_cores.py) for the simulator, by what the PTX ISA says of
// cp.async, ldmatrix and mma.sync.
//
// A copy that is on its way arrives when the thread waits for its group, and no earlier: what a kernel reads without
// waiting is what was there before.
#pragma once
#include <stdint.h>
#include <stdlib.h>

// -- cp.async --------------------------------------------------------------------------------------------

struct SimCopy {
  void *shared;
  const void *global;
  int bytes, bytes_read;
  unsigned group;
  const void *pc;
};

struct SimCopies {  // of one thread, the oldest first; plain memory, whose accesses no hook sees
  SimIndex block;
  unsigned launch;
  unsigned groups;  // how many it has committed
  SimCopy *under_way;
  unsigned count, room;
};

#ifdef SIM_INSTRUMENTED
SIM_RUNTIME void sim_on_shim_access(const void *address, unsigned size, bool write, const void *pc);
SIM_RUNTIME void sim_on_copy_start(const void *target, unsigned size, const void *pc);
SIM_RUNTIME void sim_on_copy_landed(const void *target, unsigned size, const void *pc);
#define SIM_COPY_HOOK(name, ...) sim_on_##name(__VA_ARGS__)
#else
#define SIM_COPY_HOOK(name, ...)
#endif

static SIM_QUIET SimCopies &sim_copies() {
  static SimCopies all[1024];
  const SimIndex t = threadIdx, d = blockDim, b = blockIdx;
  SimCopies &own = all[t.x + d.x * (t.y + d.y * t.z)];
  if (own.block.x != b.x || own.block.y != b.y || own.block.z != b.z || own.launch != sim_context.launch) {
    own.block = b;
    own.launch = sim_context.launch;
    own.groups = own.count = 0;
  }
  return own;
}

template <class Word>
static SIM_QUIET void sim_copy_words(const SimCopy &copy) {
  for (int k = 0; k < copy.bytes / (int)sizeof(Word); k++)
    ((Word *)copy.shared)[k] = k * (int)sizeof(Word) < copy.bytes_read ? ((const Word *)copy.global)[k] : Word(0);
}

static SIM_QUIET void sim_copy_async(void *shared, const void *global, int bytes, int bytes_read, const void *pc) {
  if ((uintptr_t)shared % bytes || (uintptr_t)global % bytes)
    sim_fault("an asynchronous copy is not aligned to its size");
  if (bytes_read < 0 || bytes_read > bytes) sim_fault("an asynchronous copy reads more than it writes");
  if (bytes_read > 0) SIM_COPY_HOOK(shim_access, global, bytes_read, false, pc);
  SIM_COPY_HOOK(copy_start, shared, bytes, pc);
  SimCopies &own = sim_copies();
  if (own.count == own.room) {
    own.room = own.room ? 2 * own.room : 8;
    own.under_way = (SimCopy *)realloc(own.under_way, own.room * sizeof(SimCopy));
  }
  own.under_way[own.count++] = {shared, global, bytes, bytes_read, own.groups, pc};
}

static SIM_QUIET void sim_wait_copies(unsigned groups) {
  SimCopies &own = sim_copies();
  unsigned arrived = 0;
  for (; arrived < own.count; arrived++) {
    const SimCopy &copy = own.under_way[arrived];
    if (copy.group + groups >= own.groups) break;
    copy.bytes_read % 4 ? sim_copy_words<uint16_t>(copy) : sim_copy_words<uint32_t>(copy);
    SIM_COPY_HOOK(copy_landed, copy.shared, copy.bytes, copy.pc);
  }
  own.count -= arrived;
  memmove(own.under_way, own.under_way + arrived, own.count * sizeof(SimCopy));
}

static SIM_QUIET void nt_copy_async16(void *shared, const void *global, int bytes = 16) {
  sim_copy_async(shared, global, 16, bytes, __builtin_return_address(0));
}
static SIM_QUIET void nt_copy_async8(void *shared, const void *global, int bytes = 8) {
  sim_copy_async(shared, global, 8, bytes, __builtin_return_address(0));
}
static SIM_QUIET void nt_copy_async4(void *shared, const void *global, int bytes = 4) {
  sim_copy_async(shared, global, 4, bytes, __builtin_return_address(0));
}
static SIM_QUIET void nt_commit_copies() { sim_copies().groups++; }

template <int N>
static SIM_QUIET void nt_wait_copies() {
  sim_wait_copies(N);
}

// -- ldmatrix --------------------------------------------------------------------------------------------

// Lanes 8 * m to 8 * m + 7 say where the rows of matrix m are. Lane l gets of each matrix the elements 2 * (l % 4) and the
// next one of row l / 4; transposed: the elements l / 4 of the rows 2 * (l % 4) and the next one.
struct SimWords {  // the registers of a fragment, or of two
  unsigned *first, *second;
};
template <int N>
static SIM_QUIET SimWords sim_words(unsigned (&fragment)[N]) { return {fragment, fragment + N / 2}; }
static SIM_QUIET SimWords sim_words(unsigned (&first)[2], unsigned (&second)[2]) { return {first, second}; }

template <int N>
static SIM_QUIET void sim_load_matrix(int site, bool transposed, SimWords words, const void *row) {
  const int lane = sim_lane();
  if (lane < 8 * N) SIM_COPY_HOOK(shim_access, row, 16, false, __builtin_return_address(0));
  if (lane < 8 * N && (uintptr_t)row % 16) sim_fault("a row of ldmatrix is not aligned to 16 bytes");
  SimSlot in = {}, out[32];
  unsigned present = 0;
  memcpy(in.bytes, &row, sizeof row);
  sim_warp_exchange(site, 0xffffffffu, &in, out, &present);
  if (present != 0xffffffffu) return sim_fault("ldmatrix is not reached by all lanes of the warp");
  for (int m = 0; m < N; m++) {
    unsigned word = 0;
    for (int e = 0; e < 2; e++) {
      const int r = transposed ? 2 * (lane % 4) + e : lane / 4, c = transposed ? lane / 4 : 2 * (lane % 4) + e;
      const uint16_t *elements;
      memcpy(&elements, out[8 * m + r].bytes, sizeof elements);
      word |= (unsigned)elements[c] << 16 * e;
    }
    (m < N / 2 ? words.first : words.second)[m % (N / 2)] = word;
  }
}

#define nt_load_matrix_x4(fragment, ...) sim_load_matrix<4>(__LINE__, false, sim_words(fragment), __VA_ARGS__)
#define nt_load_matrix_x2(fragment, ...) sim_load_matrix<2>(__LINE__, false, sim_words(fragment), __VA_ARGS__)
#define nt_load_matrix_x4_trans(fragment, ...) sim_load_matrix<4>(__LINE__, true, sim_words(fragment), __VA_ARGS__)
#define nt_load_matrix_x2_trans(fragment, ...) sim_load_matrix<2>(__LINE__, true, sim_words(fragment), __VA_ARGS__)
#define nt_load_matrix_x4_pair(first, second, ...) \
  sim_load_matrix<4>(__LINE__, false, sim_words(first, second), __VA_ARGS__)
#define nt_load_matrix_x4_pair_trans(first, second, ...) \
  sim_load_matrix<4>(__LINE__, true, sim_words(first, second), __VA_ARGS__)

// -- mma.sync --------------------------------------------------------------------------------------------

struct SimF16 {
  static constexpr int bits = 16;
  static SIM_QUIET float value(unsigned x) { return (float)sim_bits<_Float16>((uint16_t)x); }
};
struct SimBf16 {
  static constexpr int bits = 16;
  static SIM_QUIET float value(unsigned x) { return __uint_as_float(x << 16); }
};
struct SimTf32 {  // the low 13 bits are not looked at
  static constexpr int bits = 32;
  static SIM_QUIET float value(unsigned x) { return __uint_as_float(x & 0xffffe000u); }
};
struct SimS8 {
  static constexpr int bits = 8;
  static SIM_QUIET int value(unsigned x) { return (signed char)x; }
};

// Element e of register r, counted from the least significant bits, stands in lane l for
//   of a (16 x K): row l / 4 + 8 * (r % 2), column per * (l % 4) + e + K / 2 * (r / 2)
//   of b (K x 8):  row per * (l % 4) + e + K / 2 * r, column l / 4
// where `per` elements are in a register; and of sum (16 x 8) element [r][e] is row l / 4 + 8 * r, column 2 * (l % 4) + e.
template <class Element, int K, class Sum>
static SIM_QUIET void sim_mma(int site, Sum (&sum)[2][2], const unsigned (&a)[4], const unsigned (&b)[2]) {
  constexpr int per = 32 / Element::bits;
  SimSlot in = {}, as[32], bs[32];
  unsigned present = 0;
  memcpy(in.bytes, a, sizeof a);
  sim_warp_exchange(site, 0xffffffffu, &in, as, &present);
  memcpy(in.bytes, b, sizeof b);
  sim_warp_exchange(site, 0xffffffffu, &in, bs, &present);
  if (present != 0xffffffffu) return sim_fault("mma.sync is not reached by all lanes of the warp");
  const auto element = [](const SimSlot &slot, int r, int e) SIM_THREAD_BODY {
    unsigned word;
    memcpy(&word, slot.bytes + 4 * r, sizeof word);
    return Element::value(word >> Element::bits * e);
  };
  const int lane = sim_lane();
  for (int r = 0; r < 2; r++)
    for (int e = 0; e < 2; e++) {
      const int row = lane / 4 + 8 * r, column = 2 * (lane % 4) + e;
      for (int k = 0; k < K; k++) {
        const int half = k / (K / 2), rest = k % (K / 2);
        const SimSlot &of_a = as[row % 8 * 4 + rest / per], &of_b = bs[column * 4 + rest / per];
        sum[r][e] += element(of_a, row / 8 + 2 * half, rest % per) * element(of_b, half, rest % per);
      }
    }
}

// cvt.rna.tf32.f32: to 10 bits after the point, ties away from zero; a NaN is the canonical one.
template <int N>
static SIM_QUIET void nt_round_tf32(unsigned (&fragment)[N]) {
  for (int k = 0; k < N; k++) {
    const unsigned bits = fragment[k], magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) fragment[k] = 0x7fffffffu;
    if (magnitude < 0x7f800000u) fragment[k] = (bits + 0x1000u) & 0xffffe000u;
  }
}

#define nt_mma_m16n8k16_f16(...) sim_mma<SimF16, 16>(__LINE__, __VA_ARGS__)
#define nt_mma_m16n8k16_bf16(...) sim_mma<SimBf16, 16>(__LINE__, __VA_ARGS__)
#define nt_mma_m16n8k8_tf32(...) sim_mma<SimTf32, 8>(__LINE__, __VA_ARGS__)
#define nt_mma_m16n8k32_s8(...) sim_mma<SimS8, 32>(__LINE__, __VA_ARGS__)
