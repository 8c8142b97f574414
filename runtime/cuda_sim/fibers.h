// Continuations with stacks of their own, and the switch between two of them.
#pragma once
#include <stddef.h>
#include <sys/mman.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;

char *new_stack() {
  void *memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(memory, kGuardBytes, PROT_NONE);
  return static_cast<char *>(memory) + kGuardBytes;
}

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
