// Programs on rows: a warp or a block computes a row, whose elements stay in registers; barriers where warps meet.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' --split-input-file | filecheck %s

// Rows of 200 elements: eight warps a block, a row each. No barrier: what the lanes of a warp have in common they shuffle.
// CHECK-LABEL: @centred
// CHECK:       nest.for "i.o" {{%\S+}} = 0 to 13 bind "block.x" {
// CHECK-NEXT:    nest.for "i.i" {{%\S+}} = 0 to min(8, 100 - 8 * %i_o) bind "thread.x" {
// CHECK-NEXT:      [[ROW:%\S+]] = nest.alloc "x_row" : memref<32x2x4xf32, 5 : i64>
// CHECK-NEXT:      nest.for "lane" [[L:%\S+]] = 0 to 32 bind "lane" {
// CHECK-NEXT:        nest.for "k" [[K:%\S+]] = 0 to 2 attributes {nestor.unroll} {
// CHECK-NEXT:          nest.for "k.i" [[V:%\S+]] = 0 to 4 vectorized(4) {
// CHECK:                 nest.store "x_row" {{%\S+}}, [[ROW]][[[L]], [[K]], [[V]]] where (32 * [[K]] + [[L]] < 50)
// CHECK:           [[S:%\S+]] = nest.alloc "s" : memref<f32, 5 : i64>
// CHECK:           nest.for "lane.1" {{%\S+}} = 0 to 32 bind "lane" {
// CHECK-NEXT:        [[OWN:%\S+]] = nest.alloc "s_lane" : memref<f32, 5 : i64>
// CHECK:               nest.accumulate "s" add {{%\S+}}, [[OWN]][]
// CHECK:             nest.accumulate "s" add {{%\S+}}, [[S]][]
// CHECK-NOT:   nest.barrier
func.func @centred(%x: memref<100x200xf32>, %y: memref<100x200xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 100 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 200 {
      %a = nest.load %x[%i, %j] : memref<100x200xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    %t = nest.load %s[] : memref<f32>
    nest.for "j.1" %j = 0 to 200 {
      %a = nest.load %x[%i, %j] : memref<100x200xf32>
      %b = arith.subf %a, %t : f32
      nest.store "y" %b, %y[%i, %j] : memref<100x200xf32>
    }
  }
  func.return
}

// -----

// Rows of unknown length: a block of eight warps each; one barrier before all threads combine what the warps have.
// CHECK-LABEL: @sums
// CHECK:       nest.for "i" {{%\S+}} = 0 to %n bind "block.x" {
// CHECK:         [[PARTS:%\S+]] = nest.alloc "s_parts" : memref<8xf32, 3 : i64>
// CHECK:         nest.for "warp" {{%\S+}} = 0 to 8 bind "thread.x" {
// CHECK:           nest.for "lane" {{%\S+}} = 0 to 32 bind "lane" {
// CHECK:             nest.for "j" {{%\S+}} = 0 to %m ceildiv 256 {
// CHECK:           nest.store "s" {{%\S+}}, [[PARTS]]
// CHECK:         nest.barrier
// CHECK-NEXT:    nest.for {{.*}} = 0 to 8 unrolled {
// CHECK-NOT:   nest.barrier
func.func @sums(%x: memref<?x?xf32>, %y: memref<?xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    %t = nest.load %s[] : memref<f32>
    nest.store "y" %t, %y[%i] : memref<?xf32>
  }
  func.return
}
