// Loops, their bounds, steps and marks, and branches read back as they are printed.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @loops
func.func @loops(%n: index, %m: index, %c: i1) {
  // CHECK: nest.for "i" [[I:%\S+]] = max(0, %m - 3) to min(%n, 100) step 4 {
  nest.for "i" %i = max(0, %m - 3) to min(%n, 100) step 4 {
    // CHECK-NEXT: nest.for "j.o" {{%\S+}} = [[I]] to 2 * [[I]] + 16 parallel attributes {nestor.grain = 8 : i64} {
    nest.for "j.o" %j = %i to 2 * %i + 16 parallel attributes {nestor.grain = 8 : i64} {
      // CHECK-NEXT: nest.for "j.i" {{%\S+}} = 0 to 16 vectorized(16) {
      nest.for "j.i" %v = 0 to 16 vectorized(16) {
      }
      // CHECK: nest.for "u" {{%\S+}} = 0 to %n mod 4 unrolled {
      nest.for "u" %u = 0 to %n mod 4 unrolled {
      }
    }
  }
  // CHECK: nest.for "b" {{%\S+}} = 0 to %n ceildiv 256 bind "block.x" {
  nest.for "b" %b = 0 to %n ceildiv 256 bind "block.x" {
    // CHECK-NEXT: nest.for "t" {{%\S+}} = 0 to 256 bind "thread.y" {
    nest.for "t" %t = 0 to 256 bind "thread.y" {
    }
  }
  // CHECK: nest.if %c {
  nest.if %c {
    nest.for "k" %k = 0 to 2 {
    }
  // CHECK: } else {
  } else {
    nest.for "l" %l = %n floordiv 2 to %n {
    }
  }
  // CHECK: nest.if %c {
  // CHECK-NOT: else
  nest.if %c {
  }
  func.return
}
