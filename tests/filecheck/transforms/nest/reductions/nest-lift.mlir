// A reduction of tuples becomes that of the bases, and one of the sums relative to them.
// RUN: opt-tool %s -p 'nest-lift{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: func.func @logarithm_of_sum
// CHECK:         nest.for "i" %i = 0 to 100 {
// CHECK-NEXT:      %x = nest.load %a[%i]
// CHECK-NEXT:      nest.accumulate "m" maximum %x, %m[]
// CHECK-NEXT:    }
// CHECK-NEXT:    %base = nest.load %m[]
// CHECK-NEXT:    nest.for "i.relative" %i_1 = 0 to 100 {
// CHECK-NEXT:      %x_1 = nest.load %a[%i_1]
// CHECK-NEXT:      %d2 = arith.subf %x_1, %base
// CHECK-NEXT:      %e2 = math.exp %d2
// CHECK-NEXT:      nest.accumulate "s" add %e2, %s[]
// CHECK-NEXT:    }
func.func @logarithm_of_sum(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %e2, %s2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

// Columns: each has bases of its own; where the terms have a domain, so do both loops.
// CHECK-LABEL: func.func @norms
// CHECK:         nest.for "i" %i = 2 to %n {
// CHECK-NEXT:      nest.for "j" %j = 0 to 8 {
// CHECK-NEXT:        %x = nest.load %a[%i, %j]
// CHECK-NEXT:        %size = math.absf %x
// CHECK-NEXT:        nest.accumulate "m" maximum %size, %m[%j] where (%j < %i + 1)
// CHECK:         nest.for "i.relative" %i_1 = 2 to %n {
// CHECK-NEXT:      nest.for "j.relative" %j_1 = 0 to 8 {
// CHECK:             %base = nest.load %m[%j_1]
// CHECK-NEXT:        %q2 = arith.divf %{{.*}}, %base
// CHECK-NEXT:        %w2 = arith.mulf %q2, %q2
// CHECK-NEXT:        nest.accumulate "s" add %w2, %s[%j_1] where (%j_1 < %i_1 + 1)
func.func @norms(%a: memref<?x8xf64>, %n: index, %m: memref<8xf64> {nest.role = "out"}, %s: memref<8xf64> {nest.role = "out"}) {
  %least = arith.constant 1.0 : f64
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  nest.for "k" %k = 0 to 8 {
    nest.store "m" %least, %m[%k] : memref<8xf64>
    nest.store "s" %zero, %s[%k] : memref<8xf64>
  }
  nest.for "i" %i = 2 to %n {
    nest.for "j" %j = 0 to 8 {
      %x = nest.load %a[%i, %j] : memref<?x8xf64>
      %size = math.absf %x : f64
      nest.accumulate custom (%size, %one), (%m, %s)[%j] where (%j <= %i) identity [1.0 : f64, 0.0 : f64] {
      ^bb0(%m1: f64, %s1: f64, %m2: f64, %s2: f64):
        %b = arith.maximumf %m1, %m2 : f64
        %q1 = arith.divf %m1, %b : f64
        %w1 = arith.mulf %q1, %q1 : f64
        %t1 = arith.mulf %s1, %w1 : f64
        %q2 = arith.divf %m2, %b : f64
        %w2 = arith.mulf %q2, %q2 : f64
        %t2 = arith.mulf %s2, %w2 : f64
        %t = arith.addf %t1, %t2 : f64
        nest.yield %b, %t : f64, f64
      } : memref<8xf64>, memref<8xf64>
    }
  }
  func.return
}

// -----

// No result is relative to another: one loop, with a named reduction for each.
// CHECK-LABEL: func.func @extremes
// CHECK:         nest.for "i" %i = 0 to 100 {
// CHECK-NEXT:      %x = nest.load %a[%i]
// CHECK-NEXT:      nest.accumulate "l" minsi %x, %l[]
// CHECK-NEXT:      nest.accumulate "u" maxsi %x, %u[]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @extremes(%a: memref<100xi32>, %l: memref<i32> {nest.role = "out"}, %u: memref<i32> {nest.role = "out"}) {
  %most = arith.constant 2147483647 : i32
  %least = arith.constant -2147483648 : i32
  nest.store "l" %most, %l[] : memref<i32>
  nest.store "u" %least, %u[] : memref<i32>
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xi32>
    nest.accumulate custom (%x, %x), (%l, %u)[] identity [2147483647 : i32, -2147483648 : i32] {
    ^bb0(%l1: i32, %u1: i32, %l2: i32, %u2: i32):
      %lower = arith.minsi %l1, %l2 : i32
      %upper = arith.maxsi %u2, %u1 : i32
      nest.yield %lower, %upper : i32, i32
    } : memref<i32>, memref<i32>
  }
  func.return
}
