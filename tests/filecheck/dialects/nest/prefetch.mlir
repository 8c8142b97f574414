// Prefetches read back as they are printed, in the normal form of their indices, and nothing takes them away.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s
// RUN: opt-tool %s -p canonicalize,cse,dce,nest-eliminate-dead | filecheck %s

// CHECK-LABEL: @f
func.func @f(%n: index, %x: memref<?x?xf32>, %s: memref<f32>) {
  nest.for "i" %i = 1 to %n {
    // CHECK: nest.prefetch %x[2 * %i - %n + 3, %i mod 4] : memref<?x?xf32>
    nest.prefetch %x[3 + %i * 2 - %n, %i mod 4] : memref<?x?xf32>
    // CHECK-NEXT: nest.prefetch %s[] {nestor.mark} : memref<f32>
    nest.prefetch %s[] {nestor.mark} : memref<f32>
    // CHECK-NEXT: nest.prefetch %s[] : memref<f32>
    nest.prefetch %s[] : memref<f32>
  }
  func.return
}
