// Sums of floating-point numbers at indices as sums of integers: the largest of each element first.
// RUN: opt-tool %s -p 'nest-exact-sum{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @sums
// CHECK: %y_largest = nest.alloc "y_largest" : memref<16xi32>
// CHECK: %y_high = nest.alloc "y_high" : memref<16xi64>
// CHECK: %y_low = nest.alloc "y_low" : memref<16xi64>
// CHECK: nest.for "y.start.ax0"
// CHECK: nest.store "y_largest"
// CHECK: nest.store "y_high"
// CHECK: nest.store "y_low"
// CHECK: nest.for "i.largest" %i = 2 to %n {
// CHECK: %[[BITS:.*]] = arith.bitcast %a : f32 to i32
// CHECK: %[[SIZE:.*]] = arith.andi %[[BITS]]
// CHECK: nest.accumulate "largest" maxui %[[SIZE]], %y_largest[%k] : memref<16xi32>
// CHECK: nest.for "i" %[[I:.*]] = 2 to %n {
// CHECK: %largest = nest.load %y_largest[%[[K:.*]]]
// CHECK: %[[ROUNDED:.*]] = math.roundeven %scaled : f32
// CHECK: arith.fptosi %[[ROUNDED]] : f32 to i64
// CHECK: %[[REST:.*]] = arith.subf %scaled, %[[ROUNDED]] : f32
// CHECK: nest.accumulate "y_high" add %{{.*}}, %y_high[%[[K]]] : memref<16xi64>
// CHECK: arith.mulf %[[REST]]
// CHECK: nest.accumulate "y_low" add %{{.*}}, %y_low[%[[K]]] : memref<16xi64>
// CHECK: nest.for "y.end.ax0" %[[AX:.*]] = 0 to 16 {
// CHECK: nest.accumulate "y" add %{{.*}}, %y[%[[AX]]] mask %{{.*}} : memref<16xf32>
func.func @sums(%v: memref<?xf32>, %b: memref<?xi32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %b, %c0 : memref<?xi32>
  nest.for "i" %i = 2 to %n {
    %w = nest.load %b[%i] : memref<?xi32>
    %k = arith.index_cast %w : i32 to index
    %a = nest.load %v[%i] : memref<?xf32>
    nest.accumulate "y" add %a, %y[%k] : memref<16xf32>
  }
  func.return
}

// -----

// Of f64 in three parts; the domain of an update is that of each part.
// CHECK-LABEL: @rows
// CHECK: %y_high = nest.alloc "y_high"(%{{.*}}) : memref<?x9xi64>
// CHECK: %y_middle = nest.alloc "y_middle"(%{{.*}}) : memref<?x9xi64>
// CHECK: %y_low = nest.alloc "y_low"(%{{.*}}) : memref<?x9xi64>
// CHECK: nest.for "i.largest"
// CHECK: nest.for "j.largest"
// CHECK: nest.accumulate "largest" maxui %{{.*}}, %y_largest[%k, %j] where (%i >= 1) : memref<?x9xi64>
// CHECK: nest.accumulate "y_high" add %{{.*}} where
// CHECK: nest.accumulate "y_middle" add %{{.*}} where
// CHECK: nest.accumulate "y_low" add %{{.*}} where
// CHECK: nest.for "y.end.ax0"
// CHECK: nest.for "y.end.ax1"
func.func @rows(%v: memref<8x9xf64>, %b: memref<8xi32>, %y: memref<?x9xf64>) {
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 9 {
      %w = nest.load %b[%i] : memref<8xi32>
      %k = arith.index_cast %w : i32 to index
      %a = nest.load %v[%i, %j] : memref<8x9xf64>
      nest.accumulate "y" add %a, %y[%k, %j] where (%i >= 1) : memref<?x9xf64>
    }
  }
  func.return
}
