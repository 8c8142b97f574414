// An unrolled loop that may end early, but runs at most a known number of times: each copy in a branch of its own.
// RUN: opt-tool %s -p convert-nest-to-scf,canonicalize,cse | filecheck %s

// CHECK-LABEL: func.func @ends_early
// CHECK: [[A:%.+]] = arith.cmpi sge, %n, %c2 : index
// CHECK: scf.if [[A]] {
// CHECK:   memref.store %v, %y[%c1]
// CHECK: [[B:%.+]] = arith.cmpi sge, %n, %c4 : index
// CHECK: scf.if [[B]] {
// CHECK:   memref.store %v, %y[%c3]
// CHECK-NOT: scf.if
func.func @ends_early(%y: memref<?xf32>, %v: f32, %n: index) {
  nest.for "i" %i = 1 to min(%n, 5) step 2 unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @known
// CHECK-NOT: scf.if
// CHECK: memref.store %v, %y[%c0]
// CHECK: memref.store %v, %y[%c1]
// CHECK-NOT: memref.store
func.func @known(%y: memref<?xf32>, %v: f32) {
  nest.for "i" %i = max(0, -3) to min(2, 7) unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}
