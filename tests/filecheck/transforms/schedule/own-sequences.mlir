// The schedules of a module are applied to the functions they name and removed; empty handles do nothing.
// RUN: opt-tool %s -p apply-schedule | filecheck %s

// CHECK-LABEL: func.func @even
func.func @even(%x: memref<64xf32>) {
  // CHECK: nest.for "i.o" %{{.*}} = 0 to 4 {
  // CHECK-NEXT: nest.for "i.i" %{{.*}} = 0 to 16 vectorized(16) {
  // CHECK-NOT: nest.for
  nest.for "i" %i = 0 to 64 {
    %v = nest.load %x[%i] : memref<64xf32>
    nest.store "x" %v, %x[%i] : memref<64xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: memref<4x8xf32>, %s: memref<4xf32>) {
  // CHECK: nest.for "i" %{{.*}} = 0 to 4 parallel {
  // CHECK-NEXT: nest.for "k.o" %{{.*}} = 0 to 4 {
  // CHECK-NEXT: nest.for "k.i" %{{.*}} = 0 to 2 vectorized(2) {
  nest.for "i" %i = 0 to 4 {
    nest.for "k" %k = 0 to 8 {
      %v = nest.load %x[%i, %k] : memref<4x8xf32>
      nest.accumulate "s" add %v, %s[%i] : memref<4xf32>
    }
  }
  func.return
}

// CHECK-NOT: schedule.
schedule.sequence @first for @even {
  %i = schedule.match loops ["i"]
  %o, %v, %rest = schedule.split %i by 16
  %w = schedule.vectorize %v
  %t = schedule.vectorize %rest by 16
  %gone = schedule.match optional loops ["j"]
  schedule.parallel %gone
}

schedule.sequence @second for @reduce {
  %i = schedule.match loops ["i"]
  %k = schedule.match loops contiguous "x"
  %r = schedule.match loops reducing "s"
  schedule.parallel %i
  %o, %v = schedule.split %r by 2 tail(perfect)
  %w = schedule.vectorize %v
}
