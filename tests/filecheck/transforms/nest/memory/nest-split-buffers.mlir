// A buffer that holds one array after another: what reads the second has a buffer of its own. Where a load may take elements of
// both, they stay together.
// RUN: opt-tool %s -p nest-split-buffers | filecheck %s

// CHECK-LABEL: func.func @twice
// CHECK:         %s = nest.alloc "s"(%n) : memref<?xf64>
// CHECK-NEXT:    %s_1 = nest.alloc "s.1"(%n) : memref<?xf64>
// CHECK:         nest.store "s" %{{.*}}, %s[%i]
// CHECK:         nest.load %s[%i_1]
// CHECK:         nest.store "s" %{{.*}}, %s_1[%i_2]
// CHECK:         nest.load %s_1[%i_3]
func.func @twice(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}, %z: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %s = nest.alloc "s"(%n) : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.store "s" %a, %s[%i] : memref<?xf64>
  }
  nest.for "i.1" %i = 0 to %n {
    %b = nest.load %s[%i] : memref<?xf64>
    nest.store "y" %b, %y[%i] : memref<?xf64>
  }
  nest.for "i.2" %i = 0 to %n {
    %c = nest.load %x[%n - %i - 1] : memref<?xf64>
    nest.store "s" %c, %s[%i] : memref<?xf64>
  }
  nest.for "i.3" %i = 0 to %n {
    %d = nest.load %s[%i] : memref<?xf64>
    nest.store "z" %d, %z[%i] : memref<?xf64>
  }
  func.return
}

// The last element is still that of the first array.
// CHECK-LABEL: func.func @but_one
// CHECK:         nest.alloc "s"
// CHECK-NOT:     nest.alloc
func.func @but_one(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %s = nest.alloc "s"(%n) : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.store "s" %a, %s[%i] : memref<?xf64>
  }
  nest.for "i.1" %i = 0 to %n - 1 {
    nest.store "s" %zero, %s[%i] : memref<?xf64>
  }
  nest.for "i.2" %i = 0 to %n {
    %b = nest.load %s[%i] : memref<?xf64>
    nest.store "y" %b, %y[%i] : memref<?xf64>
  }
  func.return
}

// What is reduced to stays.
// CHECK-LABEL: func.func @sums
// CHECK:         nest.alloc "s"
// CHECK-NOT:     nest.alloc
func.func @sums(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<2xf64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %s = nest.alloc "s" : memref<1xf64>
  nest.store "s" %zero, %s[0] : memref<1xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "s" add %a, %s[0] : memref<1xf64>
  }
  %b = nest.load %s[0] : memref<1xf64>
  nest.store "y" %b, %y[0] : memref<2xf64>
  nest.store "s" %zero, %s[0] : memref<1xf64>
  %c = nest.load %s[0] : memref<1xf64>
  nest.store "y" %c, %y[1] : memref<2xf64>
  func.return
}
