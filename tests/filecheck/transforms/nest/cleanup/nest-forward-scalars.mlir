// Elements that are stored and read at once are not stored.
// RUN: opt-tool %s -p 'nest-forward-scalars' --split-input-file | filecheck %s

// CHECK-LABEL: @condition
// CHECK-NOT: nest.alloc
// CHECK: %[[C:.*]] = arith.cmpf olt
// CHECK-NEXT: scf.condition(%[[C]])
func.func @condition(%x: memref<8xf32>, %limit: f32) {
  %t = nest.alloc "t" : memref<i1>
  scf.while () : () -> () {
    %a = nest.load %x[0] : memref<8xf32>
    %p = arith.cmpf olt, %a, %limit : f32
    nest.store "less" %p, %t[] : memref<i1>
    %q = nest.load %t[] : memref<i1>
    scf.condition(%q)
  } do {
    %a = nest.load %x[0] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    nest.store "x" %b, %x[0] : memref<8xf32>
    scf.yield
  }
  func.return
}

// -----

// Something is done between them, or one of them is elsewhere, or there are more: they stay.
// CHECK-LABEL: @others
// CHECK-COUNT-4: nest.store
// CHECK-NOT: nest.store
func.func @others(%x: memref<8xf32>, %v: f32) {
  %t = nest.alloc "t" : memref<f32>
  nest.store "t" %v, %t[] : memref<f32>
  nest.store "x" %v, %x[0] : memref<8xf32>
  %a = nest.load %t[] : memref<f32>
  %u = nest.alloc "u" : memref<f32>
  nest.store "u" %a, %u[] : memref<f32>
  nest.for "i" %i = 0 to 8 {
    %b = nest.load %u[] : memref<f32>
    nest.store "x.1" %b, %x[%i] : memref<8xf32>
  }
  func.return
}

// -----

// So does an element that is not stored in all iterations, and an array.
// CHECK-LABEL: @kept
// CHECK-COUNT-2: nest.store
func.func @kept(%x: memref<8xf32>, %v: f32) {
  %s = nest.alloc "s" : memref<1xf32>
  nest.store "s" %v, %s[0] : memref<1xf32>
  %a = nest.load %s[0] : memref<1xf32>
  nest.store "x" %a, %x[0] : memref<8xf32>
  func.return
}
