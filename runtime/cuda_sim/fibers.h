// Continuations with stacks of their own, and the switch between two of them.
#pragma once
#include <stddef.h>
#include <sys/mman.h>

#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;
constexpr size_t kStacksAtOnce = 128;
constexpr unsigned long long kUntouched = 0x6e6573746f726e65ull;

// Stacks, reused from block to block. A process may have few mappings (65530 as a rule) and many libraries: there is
// one for many stacks, and a word at the low end of each says whether it was large enough.
class Stacks {
 public:
  bool grow_to(size_t count) {
    while (lows_.size() < count) {
      const size_t bytes = kGuardBytes + kStacksAtOnce * kStackBytes;
      void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) return false;
      mprotect(memory, kGuardBytes, PROT_NONE);
      for (size_t k = 0; k < kStacksAtOnce; k++) lows_.push_back((char *)memory + kGuardBytes + k * kStackBytes);
    }
    return true;
  }
  char *operator[](size_t k) const { return lows_[k]; }
  void mark(size_t k) { *(unsigned long long *)lows_[k] = kUntouched; }
  bool is_intact(size_t k) const { return *(const unsigned long long *)lows_[k] == kUntouched; }
  void forget() {  // gives the pages back, and keeps the addresses
    for (size_t k = 0; k < lows_.size(); k += kStacksAtOnce) madvise(lows_[k], kStacksAtOnce * kStackBytes, MADV_DONTNEED);
  }

 private:
  std::vector<char *> lows_;
};

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

}  // namespace
