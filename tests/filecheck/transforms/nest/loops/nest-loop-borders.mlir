// What is written at a fixed index gets a loop of one iteration, with what is read for it alone.
// RUN: opt-tool %s -p nest-loop-borders | filecheck %s

// CHECK-LABEL: func.func @rolled
// CHECK:         nest.for "j.at.0" %at = 0 to 1 {
// CHECK-NEXT:      nest.for "j" %j = 0 to %m {
// CHECK-NEXT:        nest.load %x[%n - 1, %j]
// CHECK-NEXT:        nest.store "y" %{{.*}}, %y[%at, %j]
// CHECK:         nest.for "i" %i = 0 to %n - 1 {
// CHECK-NEXT:      nest.for "k"
// CHECK:             nest.store "y" %{{.*}}, %y[%i + 1, %k]
func.func @rolled(%x: memref<?x?xf64> {nest.dims = ["n", "m"]}, %y: memref<?x?xf64> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "j" %j = 0 to %m {
    %a = nest.load %x[%n - 1, %j] : memref<?x?xf64>
    nest.store "y" %a, %y[0, %j] : memref<?x?xf64>
  }
  nest.for "i" %i = 0 to %n - 1 {
    nest.for "k" %k = 0 to %m {
      %b = nest.load %x[%i, %k] : memref<?x?xf64>
      nest.store "y" %b, %y[%i + 1, %k] : memref<?x?xf64>
    }
  }
  func.return
}

// A corner: a loop for each axis; the load moves along, for nothing is written in between.
// CHECK-LABEL: func.func @corner
// CHECK:         nest.for "y.at.0.at.1" %[[J:.*]] = 2 to 3 {
// CHECK-NEXT:      nest.for "y.at.0" %[[I:.*]] = %n - 1 to %n {
// CHECK-NEXT:        %[[A:.*]] = nest.load %x[0]
// CHECK-NEXT:        nest.store "y" %[[A]], %y[%[[I]], %[[J]]]
func.func @corner(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?x4xf64> {nest.role = "out", nest.dims = ["n", 4]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %a = nest.load %x[0] : memref<?xf64>
  nest.store "y" %a, %y[%n - 1, 2] : memref<?x4xf64>
  func.return
}

// Left as they are: an index that is read, and a nest of two statements.
// CHECK-LABEL: func.func @left
// CHECK-NOT:     .at.
// CHECK:         func.return
func.func @left(%k: memref<1xi64>, %y: memref<9xf64> {nest.role = "out"}, %z: memref<9x3xf64> {nest.role = "out"}) {
  %one = arith.constant 1.0 : f64
  %a = nest.load %k[0] : memref<1xi64>
  %b = arith.index_cast %a : i64 to index
  %at = nest.index %b of 9 axis 0 of "y"
  nest.store "y" %one, %y[%at] : memref<9xf64>
  nest.for "j" %j = 0 to 3 {
    nest.store "z" %one, %z[0, %j] : memref<9x3xf64>
    nest.store "z" %one, %z[8, %j] : memref<9x3xf64>
  }
  func.return
}
