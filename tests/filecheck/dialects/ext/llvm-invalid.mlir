// An atomic update that there is not, or that is not ordered, is refused.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

llvm.func @update(%p: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{bin_op is none of xchg, add, sub}}
  %0 = "llvm.atomicrmw"(%p, %n) <{bin_op = 40 : i64, ordering = 2 : i64}> : (!llvm.ptr, i64) -> i64
  llvm.return
}

// -----

llvm.func @ordering(%p: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{the ordering has to be monotonic or stronger}}
  %0 = "llvm.atomicrmw"(%p, %n) <{bin_op = 1 : i64, ordering = 1 : i64}> : (!llvm.ptr, i64) -> i64
  llvm.return
}

// -----

llvm.func @number(%p: !llvm.ptr, %n: i64) {
  // expected-error@+1 {{the ordering has to be monotonic or stronger}}
  %0 = "llvm.atomicrmw"(%p, %n) <{bin_op = 1 : i64, ordering = 3 : i64}> : (!llvm.ptr, i64) -> i64
  llvm.return
}
