// The last iteration that writes an element is looked for, then each element takes what that one writes.
// RUN: opt-tool %s -p 'nest-last-write{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @rows
// CHECK: %y_last = nest.alloc "y_last" : memref<16xi64>
// CHECK: nest.for "y.start.ax0" %ax0 = 0 to 16 {
// CHECK: %[[NONE:.*]] = arith.constant -1 : i64
// CHECK: nest.store "last" %[[NONE]], %y_last[%ax0]
// CHECK: nest.for "i" %i = 0 to %n {
// CHECK: %[[I:.*]] = arith.index_cast %i : index to i64
// CHECK: nest.accumulate "last" maxsi %[[I]], %y_last[%k] : memref<16xi64>
// CHECK: nest.for "y.end.ax0" %[[AX:.*]] = 0 to 16 {
// CHECK: %last = nest.load %y_last[%[[AX]]]
// CHECK: %[[WRITTEN:.*]] = arith.cmpi sge, %last
// CHECK: %[[P:.*]] = arith.maxsi %last
// CHECK: %[[AT:.*]] = arith.index_cast %[[P]] : i64 to index
// CHECK-NEXT: %a = nest.load %v[%[[AT]]] : memref<?xf32>
// CHECK-NEXT: nest.store "y" %a, %y[%[[AX]]] mask %[[WRITTEN]] : memref<16xf32>
func.func @rows(%v: memref<?xf32>, %b: memref<?xi32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %b, %c0 : memref<?xi32>
  nest.for "i" %i = 0 to %n {
    %w = nest.load %b[%i] : memref<?xi32>
    %k = arith.index_cast %w : i32 to index
    %a = nest.load %v[%i] : memref<?xf32>
    nest.store "y" %a, %y[%k] : memref<16xf32>
  }
  func.return
}

// -----

// Loops around the store count as one; a buffer of unknown extents has places for as many.
// CHECK-LABEL: @pairs
// CHECK: %y_last = nest.alloc "y_last"(%{{.*}}) : memref<?x9xi64>
// CHECK: nest.for "i"
// CHECK: %[[PRODUCT:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: %[[NUMBER:.*]] = arith.addi %[[PRODUCT]], %{{.*}} : i64
// CHECK: nest.accumulate "last" maxsi %[[NUMBER]], %y_last[%k, %j]
// CHECK: nest.for "y.end.ax0"
// CHECK: nest.for "y.end.ax1"
// CHECK: arith.remui
// CHECK: arith.divui
// CHECK: nest.store "y"
func.func @pairs(%v: memref<8x9xf32>, %b: memref<8xi32>, %y: memref<?x9xf32>) {
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 9 {
      %w = nest.load %b[%i] : memref<8xi32>
      %k = arith.index_cast %w : i32 to index
      %a = nest.load %v[%i, %j] : memref<8x9xf32>
      nest.store "y" %a, %y[%k, %j] : memref<?x9xf32>
    }
  }
  func.return
}
