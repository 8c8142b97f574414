// With tail=zero a copy is as large as its window: where that sticks out of the buffer, on either side, zeros stand in it.
// RUN: opt-tool %s -p 'nest-cache-read{buffer=w loop=o tail=zero}' --split-input-file | filecheck %s

// Only the last tile sticks out, and only behind.
// CHECK-LABEL: @panel
// CHECK: nest.for "o" [[O:%\S+]] = 0 to 3 {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "w_local" : memref<16xf32>
// CHECK-NEXT: nest.for "w_local.load.ax0" [[A:%\S+]] = 0 to 16 {
// CHECK-NEXT: [[Z:%\S+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[E:%\S+]] = nest.alloc "w_element" : memref<f32, 5 : i64>
// CHECK-NEXT: nest.store "w_element" [[Z]], [[E]][]
// CHECK-NEXT: [[L:%\S+]] = nest.load %w[16 * [[O]] + [[A]]]
// CHECK-NEXT: nest.store "w_element" [[L]], [[E]][] where (16 * [[O]] + [[A]] < 40)
// CHECK-NEXT: [[V:%\S+]] = nest.load [[E]][]
// CHECK-NEXT: nest.store "w_local" [[V]], [[C]]{{\[}}[[A]]]
// CHECK: nest.load [[C]]{{\[}}[[J:%\S+]]]
func.func @panel(%w: memref<40xf32>, %s: memref<40xf32>) {
  nest.for "o" %o = 0 to 3 {
    nest.for "j" %j = 0 to 16 {
      %a = nest.load %w[16 * %o + %j] : memref<40xf32>
      nest.accumulate "s" add %a, %s[16 * %o + %j] where (16 * %o + %j < 40) : memref<40xf32>
    }
  }
  func.return
}

// -----

// Nothing sticks out: a plain copy.
// CHECK-LABEL: @whole
// CHECK: nest.for "w_local.load.ax0"
// CHECK-NEXT: nest.load %w
// CHECK-NEXT: nest.store "w_local"
func.func @whole(%w: memref<48xi32>, %s: memref<48xi32>) {
  nest.for "o" %o = 0 to 3 {
    nest.for "j" %j = 0 to 16 {
      %a = nest.load %w[16 * %o + %j] : memref<48xi32>
      nest.accumulate "s" add %a, %s[16 * %o + %j] : memref<48xi32>
    }
  }
  func.return
}
