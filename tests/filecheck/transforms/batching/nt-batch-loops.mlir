// nt-batch and islands: a loop over the slices around the loops that there are.
// RUN: opt-tool %s -p nt-batch --split-input-file | filecheck %s

func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>, %k: tensor<i64>) -> tensor<4xf32> {
  %n = nt.to_scalar %k : tensor<i64> -> i64
  %m = arith.index_cast %n : i64 to index
  %0 = nt.empty : tensor<4xf32>
  %1 = nt.loops ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%a: memref<4xf32>, %b: memref<4xf32>, %o: memref<4xf32>):
    nest.for "i" %i = 0 to 4 {
      %2 = nest.load %a[%i] : memref<4xf32>
      %3 = nest.load %b[%i] : memref<4xf32>
      %4 = arith.mulf %2, %3 : f32
      nest.store "o" %4, %o[%i] where (%i < %m) : memref<4xf32>
    }
  }
  func.return %1 : tensor<4xf32>
}
func.func @islands(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %k: tensor<?xi64>) -> tensor<?x4xf32> {
  %r = nt.batch @f(%x, %w, %k : tensor<?x4xf32>, tensor<4xf32>, tensor<?xi64>) along [0, -1, 0] -> (tensor<?x4xf32>)
  func.return %r : tensor<?x4xf32>
}
// CHECK: %[[N:.*]] = nt.dim %x[0]
// CHECK: %[[E:.*]] = nt.empty sizes(%[[N]]) : tensor<?x4xf32>
// CHECK: nt.loops ins(%x, %w, %{{.*}} : tensor<?x4xf32>, tensor<4xf32>, tensor<?xi64>) outs(%[[E]] : tensor<?x4xf32>)
// CHECK: nest.for "slice" %[[S:.*]] = 0 to %[[N]] {
// CHECK:   %[[K:.*]] = nest.load %{{.*}}[%[[S]]] : memref<?xi64>
// CHECK:   %[[M:.*]] = arith.index_cast %[[K]] : i64 to index
// CHECK:   nest.for "i" %[[I:.*]] = 0 to 4 {
// CHECK:     nest.load %{{.*}}[%[[S]], %[[I]]] : memref<?x4xf32>
// CHECK:     nest.load %{{.*}}[%[[I]]] : memref<4xf32>
// CHECK:     nest.store "o" %{{.*}}, %{{.*}}[%[[S]], %[[I]]] where (%[[I]] < %[[M]])

// -----

// A window that starts elsewhere in each slice.
func.func private @f(%x: tensor<9xf32>, %k: tensor<i64>) -> tensor<3xf32> {
  %n = nt.to_scalar %k : tensor<i64> -> i64
  %m = arith.index_cast %n : i64 to index
  %0 = nt.slice %x[%m + 1] strides [2] : tensor<9xf32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
func.func @windows(%x: tensor<9xf32>, %k: tensor<8xi64>) -> tensor<8x3xf32> {
  %r = nt.batch @f(%x, %k : tensor<9xf32>, tensor<8xi64>) along [-1, 0] -> (tensor<8x3xf32>)
  func.return %r : tensor<8x3xf32>
}
// CHECK-LABEL: @windows
// CHECK: nt.loops ins(%x, %{{.*}} : tensor<9xf32>, tensor<8xi64>)
// CHECK: nest.for "slice" %[[S:.*]] = 0 to 8 {
// CHECK:   nest.for "i" %[[I:.*]] = 0 to 3 {
// CHECK:     nest.load %{{.*}}[%{{.*}} + 2 * %[[I]] + 1] : memref<9xf32>
// CHECK:     nest.store "slice" %{{.*}}, %{{.*}}[%[[S]], %[[I]]]

// -----

// Operations on scalars that differ are in one island, which keeps what others use.
func.func private @f(%x: tensor<9xf32>, %k: tensor<i64>, %n: index) -> tensor<1xf32> {
  %0 = nt.to_scalar %k : tensor<i64> -> i64
  %1 = arith.index_cast %0 : i64 to index
  %c2 = arith.constant 2 : index
  %2 = arith.muli %1, %c2 : index
  %3 = arith.addi %n, %c2 : index
  %4 = nest.index %2 of %3 axis 0 of "x"
  %5 = nt.slice %x[%4] strides [1] : tensor<9xf32> -> tensor<1xf32>
  func.return %5 : tensor<1xf32>
}
func.func @scalars(%x: tensor<9xf32>, %k: tensor<8xi64>, %n: index) -> tensor<8x1xf32> {
  %r = nt.batch @f(%x, %k, %n : tensor<9xf32>, tensor<8xi64>, index) along [-1, 0, -1] -> (tensor<8x1xf32>)
  func.return %r : tensor<8x1xf32>
}
// CHECK-LABEL: @scalars
// CHECK: arith.addi %n
// CHECK: %[[K:.*]] = nt.loops ins(%k : tensor<8xi64>) outs(%{{.*}} : tensor<8xi64>)
// CHECK: nest.for "slice"
// CHECK: arith.muli
// CHECK: nest.index
// CHECK-NOT: nt.loops
// CHECK: }
// CHECK: nt.loops ins(%x, %[[K]] :

// -----

// What each slice needs another length of stays inside of a slice: the function runs for one slice after the other, but
// for what depends on none.
func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>, %k: tensor<i64>) -> tensor<f32> {
  %n = nt.to_scalar %k : tensor<i64> -> i64
  %m = arith.index_cast %n : i64 to index
  %s = nt.sin %w : tensor<4xf32>
  %0 = nt.slice %x[0] strides [1] sizes(%m) : tensor<4xf32> -> tensor<?xf32>
  %1 = nt.reduce add %0 over [0] : tensor<?xf32> -> tensor<f32>
  %2 = nt.reduce add %s over [0] : tensor<4xf32> -> tensor<f32>
  %3 = nt.add %1, %2 : tensor<f32>
  func.return %3 : tensor<f32>
}
func.func @lengths(%x: tensor<8x4xf32>, %w: tensor<4xf32>, %k: tensor<8xi64>) -> tensor<8xf32> {
  %r = nt.batch @f(%x, %w, %k : tensor<8x4xf32>, tensor<4xf32>, tensor<8xi64>) along [0, -1, 0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: func.func @lengths
// CHECK:         %[[SIN:.*]] = nt.sin %w : tensor<4xf32>
// CHECK:         %[[SUM:.*]] = nt.reduce add %[[SIN]] over [0]
// CHECK:         %[[R:.*]] = scf.for %[[S:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[STACK:.*]] = %{{.*}}) -> (tensor<8xf32>) {
// CHECK:           %[[ONE:.*]] = nt.slice %x[%[[S]], 0]
// CHECK:           nt.slice %{{.*}}[0] strides [1] sizes(%{{.*}}) : tensor<4xf32> -> tensor<?xf32>
// CHECK:           nt.add %{{.*}}, %[[SUM]] : tensor<f32>
// CHECK:           scf.yield
// CHECK:         func.return %[[R]] : tensor<8xf32>
