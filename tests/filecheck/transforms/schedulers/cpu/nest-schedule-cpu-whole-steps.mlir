// A loop of many operations takes three or two vectors a step instead of four where they leave no rest: a rest is as much code again.
// RUN: opt-tool %s -p nest-schedule-cpu{vector-bits=512} | filecheck %s

// CHECK-LABEL: func.func @three
// CHECK:       nest.for "i.o" %{{.*}} = 0 to 101 {
// CHECK-NEXT:    nest.for "i.i" %{{.*}} = 0 to 48 vectorized(48) {
// CHECK-NOT:   nest.for
func.func @three(%x: memref<4848xf32>, %y: memref<4848xf32>, %z: memref<4848xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 4848 {
    %a = nest.load %x[%i] : memref<4848xf32>
    %b = nest.load %y[%i] : memref<4848xf32>
    %s0 = arith.addf %a, %b : f32
    %s1 = arith.mulf %s0, %b : f32
    %s2 = arith.addf %s1, %b : f32
    %s3 = arith.mulf %s2, %b : f32
    %s4 = arith.addf %s3, %b : f32
    %s5 = arith.mulf %s4, %b : f32
    %s6 = arith.addf %s5, %b : f32
    %s7 = arith.mulf %s6, %b : f32
    %s8 = arith.addf %s7, %b : f32
    %s9 = arith.mulf %s8, %b : f32
    %s10 = arith.addf %s9, %b : f32
    %s11 = arith.mulf %s10, %b : f32
    %s12 = arith.addf %s11, %b : f32
    %s13 = arith.mulf %s12, %b : f32
    %s14 = arith.addf %s13, %b : f32
    %s15 = arith.mulf %s14, %b : f32
    nest.store "z" %s15, %z[%i] : memref<4848xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @two
// CHECK:       nest.for "i.o" %{{.*}} = 0 to 77 {
// CHECK-NEXT:    nest.for "i.i" %{{.*}} = 0 to 32 vectorized(32) {
// CHECK-NOT:   nest.for
func.func @two(%x: memref<2464xf32>, %y: memref<2464xf32>, %z: memref<2464xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 2464 {
    %a = nest.load %x[%i] : memref<2464xf32>
    %b = nest.load %y[%i] : memref<2464xf32>
    %s0 = arith.addf %a, %b : f32
    %s1 = arith.mulf %s0, %b : f32
    %s2 = arith.addf %s1, %b : f32
    %s3 = arith.mulf %s2, %b : f32
    %s4 = arith.addf %s3, %b : f32
    %s5 = arith.mulf %s4, %b : f32
    %s6 = arith.addf %s5, %b : f32
    %s7 = arith.mulf %s6, %b : f32
    %s8 = arith.addf %s7, %b : f32
    %s9 = arith.mulf %s8, %b : f32
    %s10 = arith.addf %s9, %b : f32
    %s11 = arith.mulf %s10, %b : f32
    %s12 = arith.addf %s11, %b : f32
    %s13 = arith.mulf %s12, %b : f32
    %s14 = arith.addf %s13, %b : f32
    %s15 = arith.mulf %s14, %b : f32
    nest.store "z" %s15, %z[%i] : memref<2464xf32>
  }
  func.return
}

// One vector a step would leave none here: a rest is better.
// CHECK-LABEL: func.func @one
// CHECK:       nest.for "i.o" %{{.*}} = 0 to 37 {
// CHECK-NEXT:    nest.for "i.i" %{{.*}} = 0 to 64 vectorized(64) {
// CHECK:       nest.for "i.t" %{{.*}} = 0 to 48 vectorized(48) {
func.func @one(%x: memref<2416xf32>, %y: memref<2416xf32>, %z: memref<2416xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 2416 {
    %a = nest.load %x[%i] : memref<2416xf32>
    %b = nest.load %y[%i] : memref<2416xf32>
    %s0 = arith.addf %a, %b : f32
    %s1 = arith.mulf %s0, %b : f32
    %s2 = arith.addf %s1, %b : f32
    %s3 = arith.mulf %s2, %b : f32
    %s4 = arith.addf %s3, %b : f32
    %s5 = arith.mulf %s4, %b : f32
    %s6 = arith.addf %s5, %b : f32
    %s7 = arith.mulf %s6, %b : f32
    %s8 = arith.addf %s7, %b : f32
    %s9 = arith.mulf %s8, %b : f32
    %s10 = arith.addf %s9, %b : f32
    %s11 = arith.mulf %s10, %b : f32
    %s12 = arith.addf %s11, %b : f32
    %s13 = arith.mulf %s12, %b : f32
    %s14 = arith.addf %s13, %b : f32
    %s15 = arith.mulf %s14, %b : f32
    nest.store "z" %s15, %z[%i] : memref<2416xf32>
  }
  func.return
}

// A rest of few operations costs little.
// CHECK-LABEL: func.func @short
// CHECK:       nest.for "i.o" %{{.*}} = 0 to 38 {
// CHECK-NEXT:    nest.for "i.i" %{{.*}} = 0 to 64 vectorized(64) {
// CHECK:       nest.for "i.t" %{{.*}} = 0 to 32 vectorized(32) {
func.func @short(%x: memref<2464xf32>, %y: memref<2464xf32>, %z: memref<2464xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 2464 {
    %a = nest.load %x[%i] : memref<2464xf32>
    %b = nest.load %y[%i] : memref<2464xf32>
    %s0 = arith.addf %a, %b : f32
    nest.store "z" %s0, %z[%i] : memref<2464xf32>
  }
  func.return
}
