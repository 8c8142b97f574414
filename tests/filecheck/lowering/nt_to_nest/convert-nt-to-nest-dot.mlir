// Products become loops over the batch, the rows, the columns and what is summed over, perfectly nested.
// RUN: opt-tool %s -p to-nest | filecheck %s

// The extents are those of the arguments; views of a product's operands are read through.
// CHECK-LABEL: func.func @matmul
// CHECK:       nest.store "c" %{{.*}}, %c[%{{.*}}, %{{.*}}] : memref<?x?xf32>
// CHECK:       nest.for "i{{.*}}" %[[I:.*]] = 0 to %m {
// CHECK-NEXT:    nest.for "j{{.*}}" %[[J:.*]] = 0 to %n {
// CHECK-NEXT:      nest.for "k" %[[K:.*]] = 0 to %k {
// CHECK-NEXT:        %[[A:.*]] = nest.load %a[%[[I]], %[[K]]] : memref<?x?xf32>
// CHECK-NEXT:        %[[B:.*]] = nest.load %b[%[[J]], %[[K]]] : memref<?x?xf32>
// CHECK-NEXT:        %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK-NEXT:        nest.accumulate "c" add %[[P]], %c[%[[I]], %[[J]]] : memref<?x?xf32>
func.func @matmul(%a: tensor<?x?xf32> {nt.dims = ["m", "k"]}, %b: tensor<?x?xf32> {nt.dims = ["n", "k"]})
    -> (tensor<?x?xf32> {nt.dims = ["m", "n"]}) {
  %bt = nt.transpose %b perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  %c = nt.dot %a, %bt contract [1] x [0] : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  func.return %c : tensor<?x?xf32>
}

// A view that is computed with as well is read by the product all the same; what is computed is in memory.
// CHECK-LABEL: func.func @shared
// CHECK-NOT:   "copy"
// CHECK:       nest.store "y" %{{.*}}, %[[Y:.*]][%{{.*}}, %{{.*}}] : memref<4x5xf64>
// CHECK:       nest.store "c" %{{.*}}, %c[%{{.*}}, %{{.*}}] : memref<5x5xf64>
// CHECK:       nest.for "i{{.*}}" %[[I:.*]] = 0 to 5
// CHECK:         nest.for "j{{.*}}" %[[J:.*]] = 0 to 5
// CHECK:           nest.for "k{{.*}}" %[[K:.*]] = 0 to 4
// CHECK:             nest.load %x[%[[K]], %[[I]]] : memref<4x5xf64>
// CHECK:             nest.load %[[Y]][%[[K]], %[[J]]] : memref<4x5xf64>
// CHECK:             nest.accumulate "c" add %{{.*}}, %c[%[[I]], %[[J]]] : memref<5x5xf64>
func.func @shared(%x: tensor<4x5xf64>) -> (tensor<5x5xf64>, tensor<5x4xf64>) {
  %y = nt.negative %x : tensor<4x5xf64>
  %t = nt.transpose %x perm [1, 0] : tensor<4x5xf64> -> tensor<5x4xf64>
  %c = nt.dot %t, %y contract [1] x [0] : tensor<5x4xf64>, tensor<4x5xf64> -> tensor<5x5xf64>
  %z = nt.exp %t : tensor<5x4xf64>
  func.return %c, %z : tensor<5x5xf64>, tensor<5x4xf64>
}

// Stacks, and halves: each factor becomes f32 before it is multiplied.
// CHECK-LABEL: func.func @stack
// CHECK:       nest.for "l" %[[K:.*]] = 0 to 5
// CHECK:         nest.load %a[%[[B:.*]], %[[I:.*]], %[[K]]] : memref<2x4x5xf16>
// CHECK:         arith.extf %{{.*}} : f16 to f32
// CHECK:         nest.load %b[%[[K]], %[[B]], %[[J:.*]]] : memref<5x2x6xf16>
// CHECK:         arith.extf %{{.*}} : f16 to f32
// CHECK:         arith.mulf %{{.*}} : f32
// CHECK:         nest.accumulate "c" add %{{.*}}, %c[%[[B]], %[[I]], %[[J]]] : memref<2x4x6xf32>
func.func @stack(%a: tensor<2x4x5xf16>, %b: tensor<5x2x6xf16>) -> tensor<2x4x6xf32> {
  %c = nt.dot %a, %b batch [0] x [1] contract [2] x [0] : tensor<2x4x5xf16>, tensor<5x2x6xf16> -> tensor<2x4x6xf32>
  func.return %c : tensor<2x4x6xf32>
}

// Of truth values: whether any pair is true.
// CHECK-LABEL: func.func @reaches
// CHECK:       arith.andi
// CHECK:       nest.accumulate "c" or
func.func @reaches(%a: tensor<3x3xi1>) -> tensor<3x3xi1> {
  %c = nt.dot %a, %a contract [1] x [0] : tensor<3x3xi1>, tensor<3x3xi1> -> tensor<3x3xi1>
  func.return %c : tensor<3x3xi1>
}

// A vector has its sum in a register, or, where the columns are contiguous, is added up row by row.
// CHECK-LABEL: func.func @vectors
// CHECK:       nest.accumulate "s" add %{{.*}}, %{{.*}}[] : memref<f64>
// CHECK:       nest.for "j{{.*}}" %[[K:.*]] = 0 to 3
// CHECK:         nest.for "i{{.*}}" %[[J:.*]] = 0 to 4
// CHECK:           nest.load %a[%[[K]], %[[J]]] : memref<3x4xf64>
// CHECK:           nest.accumulate "t" add %{{.*}}, %t[%[[J]]] : memref<4xf64>
func.func @vectors(%a: tensor<3x4xf64>, %x: tensor<4xf64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<4xf64>) {
  %s = nt.dot %a, %x contract [1] x [0] : tensor<3x4xf64>, tensor<4xf64> -> tensor<3xf64>
  %t = nt.dot %y, %a contract [0] x [0] : tensor<3xf64>, tensor<3x4xf64> -> tensor<4xf64>
  func.return %s, %t : tensor<3xf64>, tensor<4xf64>
}

// Without anything to sum over: every element with every other one.
// CHECK-LABEL: func.func @outer
// CHECK-NOT:   nest.accumulate
// CHECK:       nest.store "c" %{{.*}}, %c[%{{.*}}, %{{.*}}] : memref<3x4xf32>
func.func @outer(%a: tensor<3xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %c = nt.dot %a, %b contract [] x [] : tensor<3xf32>, tensor<4xf32> -> tensor<3x4xf32>
  func.return %c : tensor<3x4xf32>
}
