// A call of Python at the levels of memory: a declared function that fills buffers, a check that may fail, slots on the stack.
// RUN: opt-tool %s -p to-nest --verify-diagnostics | filecheck %s
// RUN: opt-tool %s -p nt-fuse | filecheck %s --check-prefix=FUSE
// RUN: opt-tool %s -p cpu | filecheck %s --check-prefix=LLVM

// CHECK: func.func private @numpy.sort.[[H:[0-9a-f]+]](memref<?xf32, strided<[?]>>, memref<?xf32>) -> ()
// CHECK-SAME: nestor.custom_call = {target = "numpy.sort", arguments = {axis = 0 : i64}, elements = [f32, f32], inputs = 1 : i64}
// CHECK-LABEL: func.func @sorted
// CHECK: %y = nest.alloc "y"(%n) : memref<?xf32>
// CHECK-NEXT: func.call @numpy.sort.[[H]](%x, %y) {nestor.kind = "CallError"}
// CHECK-NEXT: nest.for
// LLVM: llvm.func internal @sorted.kernel
// LLVM: %slots = llvm.alloca {{.*}}!llvm.array<6 x i64>
// LLVM: %[[S:.*]] = llvm.call @numpy.sort.{{[0-9a-f]+}}(%slots) : (!llvm.ptr) -> i32
// LLVM: llvm.icmp "eq" %[[S]]
func.func @sorted(%x: tensor<?xf32> {nt.layout = "strided"}) -> tensor<?xf32> {
  %n = nt.dim %x[0] : tensor<?xf32>
  // expected-warning @below {{call to numpy.sort: it is not compiled, NumPy runs it}}
  %y = nt.custom_call "numpy.sort"(%x) sizes(%n) {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  %z = nt.add %y, %y : tensor<?xf32>
  func.return %z : tensor<?xf32>
}

// What is before a call and what is after it are two fusions.
// FUSE-LABEL: func.func @between
// FUSE: nt.fusion
// FUSE-NOT: custom_call
// FUSE: }
// FUSE: nt.custom_call "program.f"
// FUSE: nt.fusion
func.func @between(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = nt.add %x, %x : tensor<8xf32>
  %b = nt.multiply %a, %x : tensor<8xf32>
  %c = nt.custom_call "program.f"(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %d = nt.add %c, %b : tensor<8xf32>
  %e = nt.multiply %d, %d : tensor<8xf32>
  func.return %e : tensor<8xf32>
}

// In a loop, what it carries is not overwritten while the function reads it; equal calls are of one function.
// CHECK-LABEL: func.func @carried
// CHECK: nest.for "t"
// CHECK: func.call @program.step.[[K:[0-9a-f]+]](%[[A:.*]], %[[B:.*]]) {nestor.kind = "CallError"}
// CHECK-NEXT: nest.for
func.func @carried(%h0: tensor<4xf64>) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  // expected-remark @below {{a copy of 'h0' remains}}
  %r = scf.for %t = %c0 to %c9 step %c1 iter_args(%h = %h0) -> (tensor<4xf64>) {
    %h1 = nt.custom_call "program.step"(%h) : (tensor<4xf64>) -> tensor<4xf64>
    scf.yield %h1 : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}

// Code of the user's gets dense buffers: an operand that may be strided is copied; it is called as Python is.
// CHECK-LABEL: func.func @code
// CHECK: %[[D:.*]] = nest.alloc "x"(%n) : memref<?xf32>
// CHECK: nest.store "copy" %{{.*}}, %[[D]]
// CHECK: func.call @program.f.[[F:[0-9a-f]+]](%[[D]], %{{.*}}) {nestor.kind = "CallError"} : (memref<?xf32>, memref<?xf32>) -> ()
// LLVM: llvm.call @program.f.{{[0-9a-f]+}}(%slots
func.func @code(%x: tensor<?xf32> {nt.layout = "strided"}) -> tensor<?xf32> {
  %n = nt.dim %x[0] : tensor<?xf32>
  %y = nt.custom_call "program.f"(%x) sizes(%n) {entry = "f", kinds = ["array"], language = "c", several = false, source = "void f(...);"} : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
