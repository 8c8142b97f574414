// Few results of long reductions: threads have parts of each, and results beside each other are threads.
// RUN: opt-tool %s -p nest-schedule-cuda --split-input-file | filecheck %s

// A middle axis: parts of it by threads of one kernel, their totals by those of others.
// CHECK-LABEL: @middle
// CHECK: nest.for "i.1" {{.*}} bind "block.z"
// CHECK: nest.for "j.p{{.*}} bind "block.x"
// CHECK: nest.accumulate "result" add %{{.*}}, %result_parts
// CHECK: nest.for {{.*}} bind "block.
// CHECK: nest.for "j.combine
// CHECK: nest.accumulate "result" add
func.func @middle(%x: memref<4x100000x4xf32>, %result: memref<4x4xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4 {
    nest.for "k" %k = 0 to 4 {
      nest.store "result" %zero, %result[%i, %k] : memref<4x4xf32>
    }
  }
  nest.for "i.1" %i = 0 to 4 {
    nest.for "j" %j = 0 to 100000 {
      nest.for "k.1" %k = 0 to 4 {
        %a = nest.load %x[%i, %j, %k] : memref<4x100000x4xf32>
        nest.accumulate "result" add %a, %result[%i, %k] : memref<4x4xf32>
      }
    }
  }
  func.return
}

// -----

// A short reduction of many results beside each other: a thread for each result.
// CHECK-LABEL: @beside
// CHECK: nest.for "i{{.*}} bind "block.
// CHECK: nest.for "k{{.*}} bind "thread.x"
// CHECK: nest.for "j" {{.*}} = 0 to 12 {
// CHECK-NEXT: nest.load
// CHECK-NEXT: nest.accumulate
func.func @beside(%x: memref<47x12x14536xf32>, %result: memref<47x14536xf32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 47 {
    nest.for "j" %j = 0 to 12 {
      nest.for "k" %k = 0 to 14536 {
        %a = nest.load %x[%i, %j, %k] : memref<47x12x14536xf32>
        nest.accumulate "result" add %a, %result[%i, %k] : memref<47x14536xf32>
      }
    }
  }
  func.return
}
