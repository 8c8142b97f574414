// What follows a reduction is applied to its accumulators, which are never stored.
// RUN: opt-tool %s -p 'nest-fuse-epilogue{consumer=p loop=i}' --split-input-file | filecheck %s

// A symbolic extent: one accumulator in each iteration; the consumer skips the first element.
// CHECK-LABEL: @rows
// CHECK-NOT: nest.alloc "t"(
// CHECK: nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK-NEXT: [[T:%\S+]] = nest.alloc "t_local" : memref<f32>
// CHECK-NEXT: nest.store "t" {{%\S+}}, [[T]][]
// CHECK-NEXT: nest.for "k" {{%\S+}} = 0 to 5 {
// CHECK: nest.accumulate "t" add {{%\S+}}, [[T]][]
// CHECK: [[U:%\S+]] = nest.load [[T]][]
// CHECK-NEXT: [[V:%\S+]] = math.exp [[U]]
// CHECK-NEXT: nest.store "y" [[V]], %y{{\[}}[[I]]] where ([[I]] >= 1)
func.func @rows(%n: index, %x: memref<?x5xf32>, %y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    nest.store "t" %zero, %t[%i] : memref<?xf32>
    nest.for "k" %k = 0 to 5 {
      %b = nest.load %x[%i, %k] : memref<?x5xf32>
      nest.accumulate "t" add %b, %t[%i] : memref<?xf32>
    }
  }
  nest.for "p" %p = 1 to %n {
    %u = nest.load %t[%p] : memref<?xf32>
    %v = math.exp %u : f32
    nest.store "y" %v, %y[%p] : memref<?xf32>
  }
  func.return
}

// -----

// A tile of accumulators, the reduction between its loops; from a nonzero bound, the last tile uneven.
// CHECK-LABEL: @tile
// CHECK: nest.for "i" [[I:%\S+]] = 1 to 4 {
// CHECK-NEXT: [[T:%\S+]] = nest.alloc "t_local" : memref<4xi64>
// CHECK: nest.for "k" {{%\S+}} = 0 to 5 {
// CHECK-NEXT: nest.for "l" [[L:%\S+]] = 0 to min(4, 14 - 4 * [[I]]) {
// CHECK: nest.accumulate "t" add {{%\S+}}, [[T]]{{\[}}[[L]]]
// CHECK: nest.for "t_local.back.ax0" [[A:%\S+]] = 0 to min(4, 14 - 4 * [[I]]) {
// CHECK-NEXT: [[U:%\S+]] = nest.load [[T]]{{\[}}[[A]]]
// CHECK-NEXT: [[B:%\S+]] = nest.load %b{{\[}}4 * [[I]] + [[A]]]
// CHECK-NEXT: [[V:%\S+]] = arith.addi [[U]], [[B]]
// CHECK-NEXT: nest.store "y" [[V]], %y{{\[}}4 * [[I]] + [[A]]]
func.func @tile(%x: memref<5x14xi64>, %b: memref<14xi64>, %y: memref<14xi64>) {
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t" : memref<14xi64>
  nest.for "i" %i = 1 to 4 {
    nest.for "z" %z = 0 to min(4, 14 - 4 * %i) {
      nest.store "t" %zero, %t[4 * %i + %z] : memref<14xi64>
    }
    nest.for "k" %k = 0 to 5 {
      nest.for "l" %l = 0 to min(4, 14 - 4 * %i) {
        %a = nest.load %x[%k, 4 * %i + %l] : memref<5x14xi64>
        nest.accumulate "t" add %a, %t[4 * %i + %l] : memref<14xi64>
      }
    }
  }
  nest.for "p" %p = 4 to 14 {
    %u = nest.load %t[%p] : memref<14xi64>
    %c = nest.load %b[%p] : memref<14xi64>
    %v = arith.addi %u, %c : i64
    nest.store "y" %v, %y[%p] : memref<14xi64>
  }
  func.return
}
