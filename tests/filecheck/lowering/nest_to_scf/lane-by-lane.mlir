// What lanes do one after the other: those that are off are skipped.
// RUN: opt-tool %s -p convert-nest-to-scf --split-input-file | filecheck %s

// CHECK-LABEL: func.func @masked_diagonal
func.func @masked_diagonal(%x: memref<?x?xf32>, %y: memref<?xf32>, %n: index) {
  nest.for "i" %i = 0 to %n vectorized(2) {
    // CHECK: [[mask:%.*]] = vector.create_mask
    // CHECK: [[on:%.*]] = vector.extract [[mask]][0] : i1 from vector<2xi1>
    // CHECK-NEXT: [[a:%.*]] = scf.if [[on]] -> (f32) {
    // CHECK-NEXT:   memref.load %x[%c0, %c0] : memref<?x?xf32>
    // CHECK: } else {
    // CHECK-NEXT: scf.yield
    // CHECK: vector.insert [[a]], {{.*}} [0] : f32 into vector<2xf32>
    // CHECK: vector.extract [[mask]][1] : i1 from vector<2xi1>
    // CHECK: scf.if
    // CHECK: vector.maskedstore %y
    %a = nest.load %x[%i, %i] : memref<?x?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Elements that lanes may share: update after update.
// CHECK-LABEL: func.func @histogram
func.func @histogram(%k: memref<2xi64>, %h: memref<16xi64>) {
  %one = arith.constant 1 : i64
  nest.for "i" %i = 0 to 2 vectorized(2) {
    // CHECK: vector.load %k
    // CHECK: memref.load %h
    // CHECK: memref.store
    // CHECK: memref.load %h
    // CHECK: memref.store
    %r = nest.load %k[%i] : memref<2xi64>
    %p = arith.index_cast %r : i64 to index
    nest.accumulate "h" add %one, %h[%p] : memref<16xi64>
  }
  func.return
}

// -----

// CHECK-LABEL: func.func @custom_of_some_lanes
func.func @custom_of_some_lanes(%x: memref<?xf32>, %s: memref<f32>, %n: index) {
  nest.for "i" %i = 0 to %n vectorized(2) {
    // CHECK: [[a:%.*]] = vector.maskedload %x
    // CHECK: vector.extract {{.*}}[0] : i1 from vector<2xi1>
    // CHECK-NEXT: scf.if
    // CHECK-NEXT:   memref.load %s
    // CHECK-NEXT:   vector.extract [[a]][0]
    // CHECK-NEXT:   arith.mulf
    // CHECK-NEXT:   memref.store
    // CHECK: vector.extract {{.*}}[1] : i1 from vector<2xi1>
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" custom (%a), (%s)[] {
    ^bb0(%old: f32, %new: f32):
      %both = arith.mulf %old, %new : f32
      nest.yield %both : f32
    } : memref<f32>
  }
  func.return
}

// -----

// What nothing needs is left out, with the constants that only it uses.
// CHECK-LABEL: func.func @dead
func.func @dead(%x: memref<8xf32>, %y: memref<8xf32>) {
  %two = arith.constant 2.0 : f32
  // CHECK-NOT: arith.mulf
  // CHECK-NOT: vector.load
  // CHECK: vector.store
  // CHECK-NEXT: func.return
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 8 vectorized(8) {
    %a = nest.load %x[%i] : memref<8xf32>
    %b = arith.mulf %a, %two : f32
    nest.store "y" %zero, %y[%i] : memref<8xf32>
  }
  func.return
}
