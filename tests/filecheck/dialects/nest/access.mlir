// Loads, stores, buffers and checked indices read back as they are printed, in the normal form of their indices.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @accesses
func.func @accesses(%n: index, %x: memref<?x?xf32>, %s: memref<f32>, %c: i1) {
  nest.for "i" %i = 1 to %n {
    // CHECK: nest.load %x[2 * %i - %n + 3, (%i + 1) mod 4] : memref<?x?xf32>
    %a = nest.load %x[3 + %i * 2 - %n, (%i + 1) mod 4] : memref<?x?xf32>
    // CHECK-NEXT: nest.load %s[] {nestor.mark} : memref<f32>
    %b = nest.load %s[] {nestor.mark} : memref<f32>
    // CHECK-NEXT: nest.store %a, %x[%i, 0] : memref<?x?xf32>
    nest.store %a, %x[%i, 0] : memref<?x?xf32>
    // CHECK-NEXT: nest.store "b" %b, %x[%i, %i floordiv 2] where (%i < %n - 1, %i >= 2) mask %c {nestor.nontemporal} : memref<?x?xf32>
    nest.store "b" %b, %x[%i, %i floordiv 2] where (%i < %n - 1, %i >= 2) mask %c {nestor.nontemporal} : memref<?x?xf32>
    // CHECK-NEXT: nest.alloc "t"(%n) : memref<?x4xf32>
    %t = nest.alloc "t"(%n) : memref<?x4xf32>
    // CHECK-NEXT: nest.alloc "u" : memref<4xf32, 3 : i32>
    %u = nest.alloc "u" : memref<4xf32, 3 : i32>
    // CHECK-NEXT: [[K:%\S+]] = nest.index %i - 1 of %n axis 0 of "x"
    %k = nest.index %i - 1 of %n axis 0 of "x"
    // CHECK-NEXT: nest.load %x{{\[}}[[K]], [[K]]]
    %d = nest.load %x[%k, %k] : memref<?x?xf32>
    %v = arith.index_cast %i : index to i64
    %end = arith.index_cast %n : index to i64
    // CHECK: [[L:%\S+]] = nest.lookup %v of %end axis 1 of "x"
    %l = nest.lookup %v of %end axis 1 of "x"
    // CHECK-NEXT: nest.load %x{{\[}}%i, [[L]]]
    %e = nest.load %x[%i, %l] : memref<?x?xf32>
  }
  func.return
}
