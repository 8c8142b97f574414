// A buffer without elements has no largest index: the new extents are never negative.
// RUN: opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> 8*i+j"}' --split-input-file | filecheck %s

// CHECK-LABEL: @unknown
// CHECK: [[LAST:%\S+]] = arith.addi
// CHECK: [[SIZE:%\S+]] = arith.maxsi
// CHECK: nest.alloc "u"([[SIZE]]) : memref<?xf32>
// CHECK: nest.store "u" %v, {{%\S+}}[8 * %i + %j]
func.func @unknown(%x: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %u = nest.alloc "u"(%n) : memref<?x4xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to 4 {
      nest.store "u" %v, %u[%i, %j] : memref<?x4xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @none
// CHECK: nest.alloc "u" : memref<0xf32>
func.func @none(%v: f32) {
  %u = nest.alloc "u" : memref<0x4xf32>
  nest.for "j" %j = 0 to 0 {
    nest.store "u" %v, %u[%j, %j] : memref<0x4xf32>
  }
  func.return
}
