// What one reader needs is computed where it reads it, through several buffers. What two readers need, or one reads twice, is
// computed once.
// RUN: opt-tool %s -p nest-inline-once | filecheck %s

// CHECK-LABEL: func.func @chain
// CHECK-NOT:     nest.alloc
// CHECK:         nest.for "i.2" %i = 0 to %n - 1 {
// CHECK-NEXT:      %a = nest.load %x[%i + 1]
// CHECK-NEXT:      math.exp %a
// CHECK-NEXT:      math.sqrt
// CHECK-NEXT:      nest.accumulate "sum" add
func.func @chain(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<f64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %t = nest.alloc "t"(%n) : memref<?xf64>
  %u = nest.alloc "u"(%n) : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    %b = math.exp %a : f64
    nest.store "t" %b, %t[%i] : memref<?xf64>
  }
  nest.for "i.1" %i = 0 to %n {
    %c = nest.load %t[%i] : memref<?xf64>
    %d = math.sqrt %c : f64
    nest.store "u" %d, %u[%i] : memref<?xf64>
  }
  nest.store "y" %zero, %y[] : memref<f64>
  nest.for "i.2" %i = 0 to %n - 1 {
    %e = nest.load %u[%i + 1] : memref<?xf64>
    nest.accumulate "sum" add %e, %y[] : memref<f64>
  }
  func.return
}

// CHECK-LABEL: func.func @neighbours
// CHECK:         %t = nest.alloc "t"
// CHECK:         nest.store "t"
// CHECK:         nest.load %t[%{{.*}}]
// CHECK:         nest.load %t[%{{.*}} + 1]
func.func @neighbours(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %t = nest.alloc "t"(%n) : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    %b = math.exp %a : f64
    nest.store "t" %b, %t[%i] : memref<?xf64>
  }
  nest.for "i.1" %i = 0 to %n - 1 {
    %c = nest.load %t[%i] : memref<?xf64>
    %d = nest.load %t[%i + 1] : memref<?xf64>
    %e = arith.addf %c, %d : f64
    nest.store "y" %e, %y[%i] : memref<?xf64>
  }
  func.return
}
