// Tensors become buffers: one nest a fusion, one loop an axis, one statement a result, named after the Python variables.
// RUN: opt-tool %s -p convert-nt-to-nest | filecheck %s

// A fusion of elementwise operations reads each operand once a point; a broadcast only changes an index.
func.func @scale(%x: tensor<?x4xf32> {nt.dims = ["n", 4]}, %w: tensor<4xf32>)
    -> (tensor<?x4xf32> {nt.dims = ["n", 4]}) {
  %n = nt.dim %x[0] : tensor<?x4xf32>
  %y = nt.fusion "y" {
    %0 = nt.broadcast %w along [1] sizes(%n) : tensor<4xf32> -> tensor<?x4xf32>
    %1 = nt.multiply %x, %0 : tensor<?x4xf32>
    nt.yield %1 : tensor<?x4xf32>
  } : tensor<?x4xf32>
  func.return %y : tensor<?x4xf32>
}
// CHECK:      func.func @scale(%[[X:.*]]: memref<?x4xf32> {nest.dims = ["n", 4 : i64]}, %[[W:.*]]: memref<4xf32>, %[[Y:.*]]: memref<?x4xf32> {nest.role = "out", nest.dims = ["n", 4 : i64]}) {
// CHECK:        %[[N:.*]] = memref.dim %[[X]], %{{.*}} : memref<?x4xf32>
// CHECK-NEXT:   nest.for "i" %[[I:.*]] = 0 to %[[N]] {
// CHECK-NEXT:     nest.for "j" %[[J:.*]] = 0 to 4 {
// CHECK-DAG:        %[[A:.*]] = nest.load %[[X]][%[[I]], %[[J]]]
// CHECK-DAG:        %[[B:.*]] = nest.load %[[W]][%[[J]]]
// CHECK:            %[[V:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK-NEXT:       nest.store "y" %[[V]], %[[Y]][%[[I]], %[[J]]]
// CHECK:        func.return

// Row reductions share the row loop; what two passes need and is expensive is stored by the first.
func.func @softmax(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %r = nt.fusion "r" {
    %m = nt.reduce maximum %x over [1] : tensor<3x5xf32> -> tensor<3xf32>
    %0 = nt.broadcast %m along [0] : tensor<3xf32> -> tensor<3x5xf32>
    %1 = nt.subtract %x, %0 : tensor<3x5xf32>
    %e = nt.exp %1 : tensor<3x5xf32>
    %s = nt.reduce add %e over [1] : tensor<3x5xf32> -> tensor<3xf32>
    %2 = nt.broadcast %s along [0] : tensor<3xf32> -> tensor<3x5xf32>
    %3 = nt.divide %e, %2 : tensor<3x5xf32>
    nt.yield %3 : tensor<3x5xf32>
  } : tensor<3x5xf32>
  func.return %r : tensor<3x5xf32>
}
// CHECK-LABEL: func.func @softmax
// CHECK:         nest.alloc "e" : memref<3x5xf32>
// CHECK:         nest.for "i"
// CHECK-NEXT:      nest.alloc "m" : memref<f32>
// CHECK:           nest.for "j" %
// CHECK:             nest.accumulate "m" maximum
// CHECK:           nest.for "j.1"
// CHECK:             math.exp
// CHECK-NEXT:        nest.store "e"
// CHECK-NEXT:        nest.accumulate "s" add
// CHECK:           nest.for "j.2"
// CHECK-NOT:         math.exp
// CHECK:             nest.store "r"

// A sum down the columns runs in memory order, the unit stride innermost.
func.func @columns(%x: tensor<3x5xf32>) -> tensor<5xf32> {
  %s = nt.reduce add %x over [0] : tensor<3x5xf32> -> tensor<5xf32>
  func.return %s : tensor<5xf32>
}
// CHECK-LABEL: func.func @columns
// CHECK:         nest.for "i" %[[I:.*]] = 0 to 3
// CHECK-NEXT:      nest.for "j.1" %[[J:.*]] = 0 to 5
// CHECK-NEXT:        nest.load %{{.*}}[%[[I]], %[[J]]]
// CHECK-NEXT:        nest.accumulate "s" add %{{.*}}, %{{.*}}[%[[J]]]

// A result in another memory order is laid out by its strides, and its loops run in that order.
func.func @order(%x: tensor<3x5xf32> {nt.layout = "strided"})
    -> (tensor<3x5xf32> {nt.order = array<i64: 1, 0>}) {
  %y = nt.negative %x : tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}
// CHECK-LABEL: func.func @order(
// CHECK-SAME:    memref<3x5xf32, strided<[?, ?]>>
// CHECK-SAME:    memref<3x5xf32, strided<[1, 3]>> {nest.role = "out"}
// CHECK-NEXT:    nest.for "j" %[[J:.*]] = 0 to 5 {
// CHECK-NEXT:      nest.for "i" %[[I:.*]] = 0 to 3 {
// CHECK:             nest.store "y" %{{.*}}, %{{.*}}[%[[I]], %[[J]]]

// bool is a byte in memory, and i1 where it is computed with.
func.func @positive(%x: tensor<4xf32>) -> tensor<4xi1> {
  %0 = nt.constant dense<0.0> : tensor<f32>
  %1 = nt.broadcast %0 along [] : tensor<f32> -> tensor<4xf32>
  %b = nt.greater %x, %1 : tensor<4xf32>
  func.return %b : tensor<4xi1>
}
// CHECK-LABEL: func.func @positive(
// CHECK-SAME:    memref<4xi8> {nest.role = "out"}
// CHECK:           %[[C:.*]] = arith.cmpf ogt
// CHECK-NEXT:      %[[BYTE:.*]] = arith.extui %[[C]] : i1 to i8
// CHECK-NEXT:      nest.store "b" %[[BYTE]]

// An island on an argument that the caller lets it write is worked on in place: no buffer, no copy.
func.func @in_place(%a: tensor<8xf64> {nt.mutated}) -> (tensor<8xf64> {nt.writes_arg = 0 : i64}) {
  %a1 = nt.loops ins() outs(%a : tensor<8xf64>) {
  ^bb0(%m: memref<8xf64>):
    nest.for "i" %i = 1 to 8 {
      %v = nest.load %m[%i - 1] : memref<8xf64>
      nest.store "a" %v, %m[%i] : memref<8xf64>
    }
  }
  func.return %a1 : tensor<8xf64>
}
// CHECK-LABEL: func.func @in_place(%a: memref<8xf64> {nest.role = "inout"}) {
// CHECK-NEXT:    nest.for "i"
// CHECK-NEXT:      nest.load %a
// CHECK-NEXT:      nest.store "a" %{{.*}}, %a
// CHECK-NOT:     nest.alloc
// CHECK-NOT:     "copy"

// Fastmath flags are granted by name and reach every floating-point operation.
func.func @fast(%x: tensor<4xf32>) -> tensor<4xf32> attributes {nt.fastmath = ["contract", "nnan"]} {
  %y = nt.square %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @fast(
// CHECK-NOT:     nt.fastmath
// CHECK:         arith.mulf %{{.*}}, %{{.*}} fastmath<{{(nnan,contract|contract,nnan)}}> : f32

// A sum down columns accumulates in the result; a second result of the same value is written from the first.
func.func @twice(%x: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a, %b = nt.fusion "s" {
    %s = nt.reduce add %x over [0] : tensor<8x4xf32> -> tensor<4xf32>
    nt.yield %s, %s : tensor<4xf32>, tensor<4xf32>
  } : tensor<4xf32>, tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @twice(
// CHECK-NOT:     nest.alloc
// CHECK:         nest.accumulate "s" add %{{.*}}, %a[%{{.*}}]
// CHECK:         %[[S:.*]] = nest.load %a[%[[I:.*]]]
// CHECK-NEXT:    nest.store "b" %[[S]], %b[%[[I]]]

// An island that starts twice from one value works on two buffers: the argument, which it writes, and a copy.
func.func @two(%u: tensor<4xf64> {nt.mutated}) -> (tensor<4xf64> {nt.writes_arg = 0 : i64}) {
  %a, %v = nt.loops ins() outs(%u, %u : tensor<4xf64>, tensor<4xf64>) {
  ^bb0(%um: memref<4xf64>, %vm: memref<4xf64>):
    nest.for "i" %i = 1 to 4 {
      %x = nest.load %um[%i - 1] : memref<4xf64>
      nest.store "v" %x, %vm[%i] : memref<4xf64>
    }
  }
  func.return %a : tensor<4xf64>
}
// CHECK-LABEL: func.func @two(
// CHECK:         %[[V:.*]] = nest.alloc "v" : memref<4xf64>
// CHECK:         nest.store {{.*}}, %[[V]][
// CHECK:         nest.load %u[%{{.*}} - 1]
// CHECK-NEXT:    nest.store "v" %{{.*}}, %[[V]][
