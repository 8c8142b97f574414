// A step that is refused leaves the nest to the next strategy, and is told; what is no strategy is an error.
// RUN: not opt-tool %s -p nest-apply-strategies --split-input-file 2>&1 | filecheck %s

// CHECK: remark: the strategy @threads is not used for "i": step 2, `schedule.parallel %row`: cannot parallelize the loop "i"
// CHECK: note: updates "s" in an earlier iteration
// CHECK: <strategies>:2:2: note: this step of the schedule
// CHECK: remark: the strategy @wrong is not used for "i": step 1, `%row = schedule.match loops role "term"`: no loops have the role "term"
// CHECK: help: roles here: loops, outer, inner, row, column, result
builtin.module attributes {nestor.strategies = [
    "schedule.sequence @threads takes \"column sums\" { %row = schedule.match loops role \"row\"\n schedule.parallel %row }",
    "schedule.sequence @wrong takes \"column sums\" { %row = schedule.match loops role \"term\" }"]} {
func.func @sums(%x: memref<?x?xf64>, %s: memref<?xf64> {nest.role = "inout"}) {
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
}

// -----

// CHECK: <strategies>:1:1: error: the strategy @none takes no nests
// CHECK: help: schedule.sequence @none takes "..." { ... }, with one of "loops", "elementwise"
builtin.module attributes {nestor.strategies = ["schedule.sequence @none { %i = schedule.match loops [\"i\"] }"]} {
}

// -----

// CHECK: <strategies>:1:1: error: the strategy @other takes "loop"
builtin.module attributes {nestor.strategies = ["schedule.sequence @other takes \"loop\" { %i = schedule.match loops [\"i\"] }"]} {
}
