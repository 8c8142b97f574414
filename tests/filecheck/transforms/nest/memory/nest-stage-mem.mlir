// An iteration works on a copy of a window, which is what it touches or what is stated, and stores it back.
// RUN: opt-tool %s -p 'nest-stage-mem{buffer=x loop=o}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-stage-mem{buffer=x loop=o window="4*o:4*o+n, 1" label=tile axes=1,0}' --split-input-file | filecheck %s --check-prefix=STATED

// CHECK-LABEL: @squares
// CHECK: nest.for "o" [[O:%\S+]] = 1 to 8 {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "x_local" : memref<4xf32>
// CHECK-NEXT: nest.for "x_local.load.ax0" [[A:%\S+]] = 0 to min(4, [[N:%\S+]] - 4 * [[O]]) {
// CHECK-NEXT: nest.load %x[4 * [[O]] + [[A]], 1]
// CHECK: nest.for "j" [[J:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.load [[C]]{{\[}}[[J]]]
// CHECK: nest.store "x" {{%\S+}}, [[C]]{{\[}}[[J]]]
// CHECK: nest.for "x_local.back.ax0" [[B:%\S+]] = 0 to min(4, [[N]] - 4 * [[O]]) {
// CHECK-NEXT: [[E:%\S+]] = nest.load [[C]]{{\[}}[[B]]]
// CHECK-NEXT: nest.store "x" [[E]], %x[4 * [[O]] + [[B]], 1]
// The window that is stated is larger, of an extent that is known at run time only.
// STATED-LABEL: @squares
// STATED: [[C:%\S+]] = nest.alloc "tile"(%n) : memref<?xf32>
// STATED-NEXT: nest.for "tile.load.ax0" {{%\S+}} = 0 to min(%n, {{.*}}) {
func.func @squares(%k: index, %x: memref<?x3xf32>) {
  %c8 = arith.constant 8 : index
  %n = arith.maxsi %k, %c8 : index
  nest.for "o" %o = 1 to 8 {
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[4 * %o + %j, 1] : memref<?x3xf32>
      %b = arith.mulf %a, %a : f32
      nest.store "x" %b, %x[4 * %o + %j, 1] : memref<?x3xf32>
    }
  }
  func.return
}

// -----

// Only read: nothing goes back.
// CHECK-LABEL: @reads
// CHECK: x_local.load
// CHECK-NOT: x_local.back
func.func @reads(%k: index, %x: memref<40x3xf32>, %y: memref<?xf32>) {
  %c8 = arith.constant 8 : index
  %n = arith.maxsi %k, %c8 : index
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[4 * %o + %j, 1] : memref<40x3xf32>
      nest.store "y" %a, %y[%j] where (%j < 3) : memref<?xf32>
    }
  }
  func.return
}

// -----

// A symbolic number of windows, from 2 on.
// CHECK-LABEL: @symbolic
// CHECK: nest.for "o" [[O:%\S+]] = 2 to %n {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "x_local" : memref<4xf32>
// STATED-LABEL: @symbolic
func.func @symbolic(%k: index, %x: memref<?x3xf32>) {
  %c8 = arith.constant 8 : index
  %n = arith.maxsi %k, %c8 : index
  nest.for "o" %o = 2 to %n {
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[4 * %o + %j, 1] : memref<?x3xf32>
      %b = arith.mulf %a, %a : f32
      nest.store "x" %b, %x[4 * %o + %j, 1] : memref<?x3xf32>
    }
  }
  func.return
}
