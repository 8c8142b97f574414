// With perfect=true nothing but loops is around an update: the start is set before, and rows' values are computed inside.
// RUN: opt-tool %s -p 'nest-separate-reductions{perfect=true}' | filecheck %s

// CHECK-LABEL: func.func @squares
// CHECK:         nest.for "i" %i = 0 to %n {
// CHECK-NEXT:      nest.store "s" %{{.*}}, %s[%i]
// CHECK-NEXT:    }
// CHECK-NEXT:    nest.for "i.2" %[[I:.*]] = 0 to %n {
// CHECK-NEXT:      nest.for "j" %j = 0 to %m {
// CHECK-NEXT:        %[[MEAN:.*]] = nest.load %mean[%[[I]]]
// CHECK-NEXT:        %a = nest.load %x[%[[I]], %j]
// CHECK-NEXT:        %d = arith.subf %a, %[[MEAN]]
// CHECK-NEXT:        %e = arith.mulf %d, %d
// CHECK-NEXT:        nest.accumulate "s" add %e, %s[%[[I]]]
// CHECK:         nest.for "i.1"
// CHECK-NEXT:      nest.load %s[%
// CHECK-NEXT:      nest.store "y"
func.func @squares(%x: memref<?x?xf64> {nest.dims = ["n", "m"]}, %mean: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    %s = nest.alloc "s" : memref<f64>
    nest.store "s" %zero, %s[] : memref<f64>
    %u = nest.load %mean[%i] : memref<?xf64>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      %d = arith.subf %a, %u : f64
      %e = arith.mulf %d, %d : f64
      nest.accumulate "s" add %e, %s[] : memref<f64>
    }
    %b = nest.load %s[] : memref<f64>
    nest.store "y" %b, %y[%i] : memref<?xf64>
  }
  func.return
}

// What is computed from the sum that grows stays outside, and so do the loops.
// CHECK-LABEL: func.func @own
// CHECK:         nest.for "i" %i = 0 to %n {
// CHECK-NEXT:      %u = nest.load %s[0]
// CHECK-NEXT:      nest.for "j"
func.func @own(%x: memref<?x?xf64> {nest.dims = ["n", "m"]}, %s: memref<?xf64> {nest.role = "inout", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    %u = nest.load %s[0] : memref<?xf64>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      %e = arith.mulf %a, %u : f64
      nest.accumulate "s" add %e, %s[%i] : memref<?xf64>
    }
  }
  func.return
}
