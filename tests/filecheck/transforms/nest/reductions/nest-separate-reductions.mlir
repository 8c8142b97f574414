// Sums of rows become a nest with an array of sums; what reads them is a nest behind it.
// RUN: opt-tool %s -p nest-separate-reductions | filecheck %s

// CHECK-LABEL: func.func @means
// CHECK:         %s = nest.alloc "s"(%{{.*}}) : memref<?xf64>
// CHECK:         nest.for "i" %i = 0 to %n {
// CHECK-NEXT:      nest.store "s" %{{.*}}, %s[%i]
// CHECK-NEXT:      nest.for "j" %j = 0 to %m {
// CHECK-NEXT:        %a = nest.load %x[%i, %j]
// CHECK-NEXT:        nest.accumulate "s" add %a, %s[%i]
// CHECK:         nest.for "i.1"
// CHECK-NEXT:      nest.load %s[%
// CHECK-NEXT:      nest.store "y"
func.func @means(%x: memref<?x?xf64> {nest.dims = ["n", "m"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    %s = nest.alloc "s" : memref<f64>
    nest.store "s" %zero, %s[] : memref<f64>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "s" add %a, %s[] : memref<f64>
    }
    %b = nest.load %s[] : memref<f64>
    nest.store "y" %b, %y[%i] : memref<?xf64>
  }
  func.return
}

// A sum that each iteration reads while it grows stays where it is.
// CHECK-LABEL: func.func @running
// CHECK:         nest.for "i" %i = 0 to %n {
// CHECK-NEXT:      %a = nest.load %x[%i]
// CHECK-NEXT:      nest.accumulate "s" add %a, %s[]
// CHECK-NEXT:      %b = nest.load %s[]
func.func @running(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %s = nest.alloc "s" : memref<f64>
  nest.store "s" %zero, %s[] : memref<f64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "s" add %a, %s[] : memref<f64>
    %b = nest.load %s[] : memref<f64>
    nest.store "y" %b, %y[%i] : memref<?xf64>
  }
  func.return
}

// The place of the largest element: two buffers that are updated together.
// CHECK-LABEL: func.func @places
// CHECK:         %t = nest.alloc "t"(%{{.*}}) : memref<?xi64>
// CHECK:         nest.for "i" %i = 0 to %n {
// CHECK:           nest.accumulate "s" custom (%a, %{{.*}}), (%s, %t)[%i]
// CHECK:         nest.for "i.1"
// CHECK-NEXT:      nest.load %t[%
// CHECK-NEXT:      nest.store "y"
func.func @places(%x: memref<?x?xf64> {nest.dims = ["n", "m"]}, %y: memref<?xi64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %least = arith.constant -1.0 : f64
  %zero = arith.constant 0 : i64
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    %s = nest.alloc "s" : memref<f64>
    %t = nest.alloc "t" : memref<i64>
    nest.store "s" %least, %s[] : memref<f64>
    nest.store "t" %zero, %t[] : memref<i64>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      %k = arith.index_cast %j : index to i64
      nest.accumulate "s" custom (%a, %k), (%s, %t)[] identity [-1.0 : f64, 0 : i64] {
      ^bb0(%p: f64, %q: i64, %r: f64, %u: i64):
        %w = arith.cmpf ogt, %r, %p : f64
        %v = arith.select %w, %r, %p : f64
        %z = arith.select %w, %u, %q : i64
        nest.yield %v, %z : f64, i64
      } : memref<f64>, memref<i64>
    }
    %b = nest.load %t[] : memref<i64>
    nest.store "y" %b, %y[%i] : memref<?xi64>
  }
  func.return
}
