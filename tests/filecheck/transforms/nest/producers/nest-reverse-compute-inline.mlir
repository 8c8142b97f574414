// The nest that reads a buffer moves to where its elements are computed, and the buffer is gone.
// RUN: opt-tool %s -p 'nest-reverse-compute-inline{buffer=t}' --split-input-file | filecheck %s

// A symbolic extent; the consumer starts at 1, which a domain says.
// CHECK-LABEL: @shorter
// CHECK-NOT: nest.alloc
// CHECK: nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK: [[B:%\S+]] = math.exp
// CHECK-NEXT: nest.load %z{{\[}}[[I]] - 1]
// CHECK-NEXT: [[Q:%\S+]] = arith.mulf [[B]]
// CHECK-NEXT: nest.store "y" [[Q]], %y{{\[}}[[I]] - 1] where ([[I]] >= 1)
// CHECK-NOT: nest.for
func.func @shorter(%n: index, %x: memref<?xf32>, %z: memref<?xf32>, %y: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = math.exp %a : f32
    nest.store "t" %b, %t[%i] : memref<?xf32>
  }
  nest.for "j" %j = 1 to %n {
    %p = nest.load %t[%j] : memref<?xf32>
    %s = nest.load %z[%j - 1] : memref<?xf32>
    %q = arith.mulf %p, %s : f32
    nest.store "y" %q, %y[%j - 1] : memref<?xf32>
  }
  func.return
}

// -----

// From a nonzero bound, transposed, an uneven split whose last block is clamped.
// CHECK-LABEL: @transposed
// CHECK: nest.for "o" [[O:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to min(4, 10 - 4 * [[O]]) {
// CHECK-NEXT: nest.for "j" [[J:%\S+]] = 2 to 7 {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}4 * [[O]] + [[I]], [[J]]]
// CHECK-NEXT: nest.accumulate "y" add [[A]], %y{{\[}}[[J]], 4 * [[O]] + [[I]]]
// CHECK-NOT: nest.for
func.func @transposed(%x: memref<10x7xi64>, %y: memref<7x10xi64>) {
  %t = nest.alloc "t" : memref<10x7xi64>
  nest.for "o" %o = 0 to 3 {
    nest.for "i" %i = 0 to min(4, 10 - 4 * %o) {
      nest.for "j" %j = 2 to 7 {
        %a = nest.load %x[4 * %o + %i, %j] : memref<10x7xi64>
        nest.store "t" %a, %t[4 * %o + %i, %j] : memref<10x7xi64>
      }
    }
  }
  nest.for "k" %k = 2 to 7 {
    nest.for "l" %l = 0 to 10 {
      %p = nest.load %t[%l, %k] : memref<10x7xi64>
      nest.accumulate "y" add %p, %y[%k, %l] : memref<7x10xi64>
    }
  }
  func.return
}

// -----

// A loop in which one element is used several times stays; the domain of the store is that of its consumer.
// CHECK-LABEL: @repeated
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %n ceildiv 4 {
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x
// CHECK-NEXT: nest.for "k.at" [[K:%\S+]] = 0 to %m {
// CHECK-NEXT: nest.store "y" [[A]], %y{{\[}}4 * [[O]] + [[I]], [[K]]] where (4 * [[O]] + [[I]] < %n)
func.func @repeated(%n: index, %m: index, %x: memref<?xi64>, %y: memref<?x?xi64>) {
  %t = nest.alloc "t"(%n) : memref<?xi64>
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<?xi64>
      nest.store "t" %a, %t[4 * %o + %i] where (4 * %o + %i < %n) : memref<?xi64>
    }
  }
  nest.for "j" %j = 0 to %n {
    nest.for "k" %k = 0 to %m {
      %p = nest.load %t[%j] : memref<?xi64>
      nest.store "y" %p, %y[%j, %k] : memref<?x?xi64>
    }
  }
  func.return
}
