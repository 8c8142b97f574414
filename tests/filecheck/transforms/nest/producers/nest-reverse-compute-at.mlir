// At the end of each iteration of a loop run the iterations of a later nest that use what it has made.
// RUN: opt-tool %s -p 'nest-reverse-compute-at{consumer=j loop=o}' --split-input-file | filecheck %s

// Uneven blocks over a symbolic extent. The result's buffer, made between the nests, moves before them.
// CHECK-LABEL: @blocks
// CHECK: [[U:%\S+]] = nest.alloc "u"(%n)
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %n ceildiv 16 {
// CHECK-NEXT: nest.for "i" {{%\S+}} = 0 to min(16, %n - 16 * [[O]]) {
// CHECK: nest.store "t"
// CHECK: nest.for "j.at" [[J:%\S+]] = 16 * [[O]] to min(%n, 16 * [[O]] + 16) {
// CHECK-NEXT: nest.load %t{{\[}}[[J]]]
func.func @blocks(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "o" %o = 0 to %n ceildiv 16 {
    nest.for "i" %i = 0 to min(16, %n - 16 * %o) {
      %a = nest.load %x[16 * %o + %i] : memref<?xf32>
      nest.store "t" %a, %t[16 * %o + %i] : memref<?xf32>
    }
  }
  %u = nest.alloc "u"(%n) : memref<?xf32>
  nest.for "j" %j = 0 to %n {
    %p = nest.load %t[%j] : memref<?xf32>
    %q = math.exp %p : f32
    nest.store "u" %q, %u[%j] : memref<?xf32>
    nest.store "y" %q, %y[%j] : memref<?xf32>
  }
  func.return
}

// -----

// Aligned rows from a nonzero bound: a row is used when it, a reduction, is complete.
// CHECK-LABEL: @rows
// CHECK: nest.for "o" [[O:%\S+]] = 2 to 9 {
// CHECK: nest.accumulate "t"
// CHECK: nest.for "j.at" [[J:%\S+]] = [[O]] to [[O]] + 1 {
// CHECK-NEXT: nest.for "k.at" {{%\S+}} = 0 to 5 {
// CHECK-NEXT: nest.load %t{{\[}}[[J]]]
func.func @rows(%x: memref<9x7xi64>, %y: memref<9x5xi64>) {
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t" : memref<9xi64>
  nest.for "o" %o = 2 to 9 {
    nest.store "t" %zero, %t[%o] : memref<9xi64>
    nest.for "i" %i = 0 to 7 {
      %a = nest.load %x[%o, %i] : memref<9x7xi64>
      nest.accumulate "t" add %a, %t[%o] : memref<9xi64>
    }
  }
  nest.for "j" %j = 2 to 9 {
    nest.for "k" %k = 0 to 5 {
      %p = nest.load %t[%j] : memref<9xi64>
      nest.store "y" %p, %y[%j, %k] : memref<9x5xi64>
    }
  }
  func.return
}

// -----

// Less is used than is made: blocks of which nothing is used run no iteration. In parallel, each element by one.
// CHECK-LABEL: @some
// CHECK: nest.for "o" [[O:%\S+]] = 0 to 4 parallel {
// CHECK: nest.for "j.at" [[J:%\S+]] = max(3, 4 * [[O]]) to min(10, 4 * [[O]] + 4) {
func.func @some(%x: memref<16xi64>, %y: memref<16xi64>) {
  %t = nest.alloc "t" : memref<16xi64>
  nest.for "o" %o = 0 to 4 parallel {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<16xi64>
      nest.store "t" %a, %t[4 * %o + %i] : memref<16xi64>
    }
  }
  nest.for "j" %j = 3 to 10 {
    %p = nest.load %t[%j] : memref<16xi64>
    nest.store "y" %p, %y[15 - %j] : memref<16xi64>
  }
  func.return
}

// -----

// A stencil runs one element late: by then the block has what it reads ahead, and earlier blocks have the rest.
// CHECK-LABEL: @stencil
// CHECK: nest.for "j.at" [[J:%\S+]] = max(0, 4 * [[O:%\S+]] - 1) to 4 * [[O]] + 3 {
func.func @stencil(%x: memref<8xi64>, %y: memref<8xi64>) {
  %t = nest.alloc "t" : memref<8xi64>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xi64>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xi64>
    }
  }
  nest.for "j" %j = 0 to 7 {
    %p = nest.load %t[%j] : memref<8xi64>
    %q = nest.load %t[%j + 1] : memref<8xi64>
    %r = arith.addi %p, %q : i64
    nest.store "y" %r, %y[%j] : memref<8xi64>
  }
  func.return
}

// -----

// What starts a sum that only the consumer updates moves before the nests.
// CHECK-LABEL: @sum
// CHECK: nest.store "s" %{{.*}}, %s[]
// CHECK-NEXT: nest.for "o" [[O:%\S+]] = 0 to 4 {
// CHECK: nest.for "j.at"
// CHECK: nest.accumulate "s" add %{{.*}}, %s[]
func.func @sum(%x: memref<64xf32>, %s: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<64xf32>
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 16 {
      %a = nest.load %x[16 * %o + %i] : memref<64xf32>
      nest.store "t" %a, %t[16 * %o + %i] : memref<64xf32>
    }
  }
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "j" %j = 0 to 64 {
    %p = nest.load %t[%j] : memref<64xf32>
    nest.accumulate "s" add %p, %s[] : memref<f32>
  }
  func.return
}
