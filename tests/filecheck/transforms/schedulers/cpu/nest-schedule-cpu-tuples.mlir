// Reductions of tuples are done base by base; of many terms a part at a time; logarithms of short rows are vectors.
// RUN: opt-tool %s -p convert-nt-to-nest,nest-schedule-cpu | filecheck %s

// CHECK-LABEL: func.func @rows
// CHECK:         nest.for "i" %i = 0 to 64 {
// CHECK-NOT:     math.log
// CHECK:           nest.accumulate "largest" maximum
// CHECK:           %base = nest.load
// CHECK-NOT:     custom
// CHECK:           math.exp
// CHECK-NEXT:      nest.accumulate "sum" add
// CHECK:         nest.for "i.1.o"
// CHECK:           math.log
func.func @rows(%x: tensor<64x20xf32>) -> tensor<64xf32> {
  %1 = nt.fusion "result" {
    %one = nt.constant dense<1.0> : tensor<f32>
    %ones = nt.broadcast %one along [] : tensor<f32> -> tensor<64x20xf32>
    %largest, %sum = nt.reduce custom (%x, %ones) over [1] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %m = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %m : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %m : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nt.yield %m, %t : f32, f32
    } : tensor<64x20xf32>, tensor<64x20xf32> -> tensor<64xf32>, tensor<64xf32>
    %l = nt.log %sum : tensor<64xf32>
    %r = nt.add %largest, %l : tensor<64xf32>
    nt.yield %r : tensor<64xf32>
  } : tensor<64xf32>
  func.return %1 : tensor<64xf32>
}

// Four million terms: 16 MiB, in parts that a core's cache keeps. The parts' summaries are combined by the combiner.
// CHECK-LABEL: func.func @long
// CHECK:         nest.for "i.p" %p = 0 to 128 parallel
// CHECK:           nest.accumulate "largest_parts" maximum
// CHECK:           math.exp
// CHECK:           nest.accumulate "sum_parts" add
// CHECK:         nest.for "i.combine.o"
// CHECK:           nest.accumulate "largest" custom
func.func @long(%x: tensor<4194304xf32>) -> tensor<f32> {
  %1 = nt.fusion "result" {
    %one = nt.constant dense<1.0> : tensor<f32>
    %ones = nt.broadcast %one along [] : tensor<f32> -> tensor<4194304xf32>
    %largest, %sum = nt.reduce custom (%x, %ones) over [0] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %m = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %m : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %m : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nt.yield %m, %t : f32, f32
    } : tensor<4194304xf32>, tensor<4194304xf32> -> tensor<f32>, tensor<f32>
    %l = nt.log %sum : tensor<f32>
    %r = nt.add %largest, %l : tensor<f32>
    nt.yield %r : tensor<f32>
  } : tensor<f32>
  func.return %1 : tensor<f32>
}
