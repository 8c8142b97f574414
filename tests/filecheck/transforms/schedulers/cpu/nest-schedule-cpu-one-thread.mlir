// RUN: opt-tool %s -p nest-schedule-cpu --split-input-file | filecheck %s
// A function beside which others run shares no loop among threads: it reads rows whole, in order.

// CHECK-LABEL: @shared
// CHECK: parallel
func.func @shared(%x: memref<?x?xf64>, %s: memref<?xf64> {nest.role = "inout"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf64>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @alone
// CHECK-SAME: nestor.one_thread
// CHECK-NOT: parallel
// CHECK: nest.for "i.o"
// CHECK-NEXT: nest.for "j.o" %{{.*}} floordiv
// CHECK-NOT: parallel
func.func @alone(%x: memref<?x?xf64>, %s: memref<?xf64> {nest.role = "inout"}) attributes {nestor.one_thread} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf64>
    }
  }
  func.return
}
