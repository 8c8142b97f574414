// Reductions with named and custom combiners, orders and identities read back as they are printed.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @reductions
func.func @reductions(%n: index, %x: f32, %k: i32, %s: memref<?xf32>, %t: memref<f32>, %at: memref<?xi32>, %c: i1) {
  nest.for "i" %i = 0 to %n {
    // CHECK: nest.accumulate "s" add %x, %s[%i] where (%i >= 1) mask %c : memref<?xf32>
    nest.accumulate "s" add %x, %s[%i] where (%i >= 1) mask %c : memref<?xf32>
    // CHECK-NEXT: nest.accumulate maximum %x, %t[] order(fixed-tree) : memref<f32>
    nest.accumulate maximum %x, %t[] order(fixed-tree) : memref<f32>
    // CHECK-NEXT: nest.accumulate xor %k, %at[0] order(sequential) attributes {nestor.mark} : memref<?xi32>
    nest.accumulate xor %k, %at[0] order(sequential) attributes {nestor.mark} : memref<?xi32>
    // CHECK-NEXT: nest.accumulate "best" custom (%x, %k), (%s, %at)[%i] identity [0xff800000 : f32, 0 : i32] {
    nest.accumulate "best" custom (%x, %k), (%s, %at)[%i] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%old: f32, %old_at: i32, %new: f32, %new_at: i32):
      %later = arith.cmpf ogt, %new, %old : f32
      %best = arith.select %later, %new, %old : f32
      %where = arith.select %later, %new_at, %old_at : i32
      // CHECK: nest.yield {{%\S+}}, {{%\S+}} : f32, i32
      nest.yield %best, %where : f32, i32
    // CHECK-NEXT: } : memref<?xf32>, memref<?xi32>
    } : memref<?xf32>, memref<?xi32>
  }
  func.return
}
