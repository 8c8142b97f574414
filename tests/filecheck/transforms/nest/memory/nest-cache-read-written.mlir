// A buffer that the loop writes as well is copied first where no write of an iteration comes before a read of the same element.
// RUN: opt-tool %s -p 'nest-cache-read{buffer=w loop=o}' --split-input-file | filecheck %s

// What the loop writes, and another argument that may be the same memory, come after the reads of the iteration.
// CHECK-LABEL: @read_first
// CHECK: nest.for "o" [[O:%\S+]] = 1 to 8 {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "w_local" : memref<f32>
// CHECK-NEXT: [[E:%\S+]] = nest.load %w{{\[}}[[O]] - 1]
// CHECK-NEXT: nest.store "w_local" [[E]], [[C]][]
// CHECK-NEXT: [[A:%\S+]] = nest.load [[C]][]
// CHECK-NEXT: nest.store "w" [[A]], %w{{\[}}[[O]]]
// CHECK-NEXT: nest.store "y" [[A]], %y{{\[}}[[O]]]
func.func @read_first(%w: memref<8xf32> {nest.alias_set = 1 : i64}, %y: memref<8xf32> {nest.alias_set = 1 : i64}) {
  nest.for "o" %o = 1 to 8 {
    %a = nest.load %w[%o - 1] : memref<8xf32>
    nest.store "w" %a, %w[%o] : memref<8xf32>
    nest.store "y" %a, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

// The write comes first, and never to the element that is read.
// CHECK-LABEL: @apart
// CHECK: nest.alloc "w_local" : memref<3xf32>
func.func @apart(%v: f32, %w: memref<40xf32>, %y: memref<8xf32>) {
  nest.for "o" %o = 0 to 8 {
    nest.for "j" %j = 0 to 3 {
      nest.store "w" %v, %w[5 * %o + 3] : memref<40xf32>
      %a = nest.load %w[5 * %o + %j] : memref<40xf32>
      nest.accumulate "y" add %a, %y[%o] : memref<8xf32>
    }
  }
  func.return
}
