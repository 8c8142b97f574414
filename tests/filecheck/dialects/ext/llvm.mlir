// The llvm operations that xDSL lacks read back in both forms.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

llvm.func @f(%x: f64, %n: i64, %v: vector<4xf32>, %b: i1, %p: !llvm.ptr) {
  // CHECK: llvm.fptosi
  %0 = "llvm.fptosi"(%x) : (f64) -> i64
  // CHECK: llvm.fptoui
  %1 = "llvm.fptoui"(%x) : (f64) -> i32
  // CHECK: llvm.freeze %{{.*}} : i32
  %frozen = llvm.freeze %1 : i32
  // CHECK: llvm.uitofp
  %2 = "llvm.uitofp"(%n) : (i64) -> f32
  // CHECK: llvm.mlir.poison
  %3 = "llvm.mlir.poison"() : () -> vector<4xf32>
  // CHECK: llvm.extractelement
  %4 = "llvm.extractelement"(%v, %n) : (vector<4xf32>, i64) -> f32
  // CHECK: llvm.intr.maximum
  %5 = "llvm.intr.maximum"(%v, %v) {fastmathFlags = #llvm.fastmath<nsz>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: llvm.intr.smax
  %6 = "llvm.intr.smax"(%n, %n) : (i64, i64) -> i64
  // CHECK: llvm.atomicrmw add %p, %n monotonic : !llvm.ptr, i64
  %7 = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr, i64
  // CHECK: llvm.atomicrmw _and %p, %n acq_rel : !llvm.ptr, i64
  %8 = "llvm.atomicrmw"(%p, %n) <{bin_op = 3 : i64, ordering = 6 : i64}> : (!llvm.ptr, i64) -> i64
  llvm.return
}
