// The variable runs over other numbers, and its uses take the difference off: indices, domains, inner bounds, plain values.
// RUN: opt-tool %s -p 'nest-shift{loop=i by=-2}' --split-input-file | filecheck %s

// CHECK-LABEL: @uses
// CHECK: nest.for "i" [[I:%\S+]] = 0 to %n - 2 {
// CHECK-NEXT: [[C:%\S+]] = arith.constant 2 : index
// CHECK-NEXT: [[V:%\S+]] = arith.addi [[I]], [[C]] : index
// CHECK-NEXT: nest.load %x[[[I]]]
// CHECK-NEXT: arith.index_cast [[V]] : index to i64
// CHECK: nest.store "y" {{.*}}[[[I]] + 2] where ([[I]] < %n - 3)
func.func @uses(%x: memref<?xi64>, %y: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xi64>
  nest.for "i" %i = 2 to %n {
    %a = nest.load %x[%i - 2] : memref<?xi64>
    %k = arith.index_cast %i : index to i64
    %b = arith.addi %a, %k : i64
    nest.store "y" %b, %y[%i] where (%i < %n - 1) : memref<?xi64>
  }
  func.return
}

// -----

// CHECK-LABEL: @lists
// CHECK: nest.for "i" [[I:%\S+]] = max(%m - 2, 3) to min(%n - 2, 98) step 3 parallel {
// CHECK-NEXT: nest.for "j" {{%\S+}} = 0 to [[I]] + 2 {
func.func @lists(%n: index, %m: index, %x: f32, %y: memref<100x100xf32>) {
  nest.for "i" %i = max(%m, 5) to min(%n, 100) step 3 parallel {
    nest.for "j" %j = 0 to %i {
      nest.store "y" %x, %y[%i, %j] : memref<100x100xf32>
    }
  }
  func.return
}

// -----

// A mark stays, since the iterations do; the extent stays a constant.
// CHECK-LABEL: @lanes
// CHECK: nest.for "i" [[I:%\S+]] = -2 to 6 vectorized(8) {
// CHECK-NEXT: nest.store "y" {{.*}}[[[I]] + 2]
func.func @lanes(%x: f32, %y: memref<8xf32>) {
  nest.for "i" %i = 0 to 8 vectorized(8) {
    nest.store "y" %x, %y[%i] : memref<8xf32>
  }
  func.return
}
