// Loops over steps are written out; loops whose number is an index, long ones, and those of an unknown length stay.
// RUN: opt-tool %s -p nest-unroll-steps | filecheck %s
// RUN: opt-tool %s -p 'nest-unroll-steps{limit=1}' | filecheck %s --check-prefix=LIMIT

// CHECK-LABEL: func.func @steps
// CHECK-NOT:     nest.for "t"
// CHECK:         nest.for "i" %i = 1 to 8
// CHECK:         nest.for "i.1" %{{.*}} = 1 to 8
// CHECK-NOT:     nest.for
// CHECK-LABEL: func.func @rows
// CHECK:         nest.for "r" %r = 0 to 2
// CHECK-LABEL: func.func @unknown
// CHECK:         nest.for "t" %t = 0 to %n
// LIMIT-LABEL: func.func @steps
// LIMIT:         nest.for "t" %t = 0 to 2
func.func @steps(%x: memref<8xf64>, %y: memref<8xf64> {nest.role = "inout"}) {
  nest.for "t" %t = 0 to 2 {
    nest.for "i" %i = 1 to 8 {
      %a = nest.load %x[%i - 1] : memref<8xf64>
      %b = nest.load %y[%i] : memref<8xf64>
      %c = arith.addf %a, %b : f64
      nest.store "y" %c, %y[%i] : memref<8xf64>
    }
  }
  func.return
}

func.func @rows(%x: memref<2x8xf64>, %y: memref<2x8xf64> {nest.role = "out"}) {
  nest.for "r" %r = 0 to 2 {
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%r, %i] : memref<2x8xf64>
      nest.store "y" %a, %y[%r, %i] : memref<2x8xf64>
    }
  }
  func.return
}

func.func @unknown(%n: index, %y: memref<8xf64> {nest.role = "inout"}) {
  nest.for "t" %t = 0 to %n {
    nest.for "i" %i = 1 to 8 {
      %b = nest.load %y[%i] : memref<8xf64>
      %c = arith.addf %b, %b : f64
      nest.store "y" %c, %y[%i] : memref<8xf64>
    }
  }
  func.return
}
