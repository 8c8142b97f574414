// Every lane of a reduction gets an accumulator of its own; they start at the identity and are combined at the end.
// RUN: opt-tool %s -p 'nest-rfactor{loop=v}' --split-input-file | filecheck %s

// CHECK-LABEL: @sum
// CHECK: [[ACC:%\S+]] = nest.alloc "s_lanes" : memref<16xf32>
// CHECK: [[ZERO:%\S+]] = arith.constant -0.000000e+00 : f32
// CHECK: nest.for "v.init" [[L:%\S+]] = 0 to 16 {
// CHECK-NEXT: nest.store "s" [[ZERO]], [[ACC]]{{\[}}[[L]]]
// CHECK: nest.for "o" {{%\S+}} = 2 to %n {
// CHECK-NEXT: nest.for "v" [[V:%\S+]] = 0 to 16 {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[ACC]]{{\[}}[[V]]]
// CHECK: nest.for "v.combine" [[C:%\S+]] = 0 to 16 {
// CHECK-NEXT: [[P:%\S+]] = nest.load [[ACC]]{{\[}}[[C]]]
// CHECK-NEXT: nest.accumulate "s" add [[P]], %s[]
func.func @sum(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  nest.for "o" %o = 2 to %n {
    nest.for "v" %v = 0 to 16 {
      %a = nest.load %x[16 * %o + %v] : memref<?xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

// Several reductions at once, one of them over integers and part of the lanes.
// CHECK-LABEL: @both
// CHECK: arith.constant 0x7f800000 : f32
// CHECK: arith.constant 1 : i32
// CHECK: nest.accumulate "lo" minimum {{%\S+}}, {{%\S+}}[%v]
// CHECK: nest.accumulate "p" mul {{%\S+}}, {{%\S+}}[%v] where (%v < 3)
func.func @both(%n: index, %x: memref<?x4xf32>, %k: memref<?x4xi32>, %lo: memref<f32>, %p: memref<1xi32>) {
  nest.for "o" %o = 0 to %n {
    nest.for "v" %v = 0 to 4 {
      %a = nest.load %x[%o, %v] : memref<?x4xf32>
      %b = nest.load %k[%o, %v] : memref<?x4xi32>
      nest.accumulate "lo" minimum %a, %lo[] : memref<f32>
      nest.accumulate "p" mul %b, %p[0] where (%v < 3) : memref<1xi32>
    }
  }
  func.return
}
