// A nest that computes parts of a buffer in a loop computes all of it before the loop.
// RUN: opt-tool %s -p 'nest-compute-root{loop=i}' --split-input-file | filecheck %s

// A symbolic extent, a buffer for each part: indices are those of the whole again.
// CHECK-LABEL: @windows
// CHECK: [[T:%\S+]] = nest.alloc "t"({{%\S+}}) : memref<?xf32>
// CHECK-NEXT: nest.for "o.any" {{%\S+}} = 0 to min(%n, 1) {
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to %n + 2 {
// CHECK: nest.store "t" {{%\S+}}, [[T]]{{\[}}[[I]]]
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %n {
// CHECK-NEXT: nest.load [[T]]{{\[}}[[O]]]
// CHECK-NEXT: nest.load [[T]]{{\[}}[[O]] + 2]
func.func @windows(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "o" %o = 0 to %n {
    %t = nest.alloc "t" : memref<3xf32>
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<?xf32>
      nest.store "t" %a, %t[%i - %o] : memref<3xf32>
    }
    %p = nest.load %t[0] : memref<3xf32>
    %q = nest.load %t[2] : memref<3xf32>
    %r = arith.addf %p, %q : f32
    nest.store "y" %r, %y[%o] : memref<?xf32>
  }
  func.return
}

// -----

// From a nonzero bound, in blocks of an uneven extent, two loops out; the buffer begins at element 4.
// CHECK-LABEL: @blocks
// CHECK: [[T:%\S+]] = nest.alloc "t" : memref<7xi64>
// CHECK: nest.for "i" [[I:%\S+]] = 4 to 11 {
// CHECK: nest.store "t" {{%\S+}}, [[T]]{{\[}}[[I]] - 4]
// CHECK: nest.for "g" [[G:%\S+]] = 0 to 2 {
// CHECK-NEXT: nest.for "o" [[O:%\S+]] = 1 to 3 {
// CHECK-NEXT: nest.for "j" [[J:%\S+]] = 0 to min(4, 11 - 4 * [[O]]) {
// CHECK-NEXT: nest.load [[T]]{{\[}}4 * [[O]] + [[J]] - 4]
func.func @blocks(%x: memref<11xi64>, %y: memref<2x11xi64>) {
  nest.for "g" %g = 0 to 2 {
    nest.for "o" %o = 1 to 3 {
      %t = nest.alloc "t" : memref<4xi64>
      nest.for "i" %i = 4 * %o to min(11, 4 * %o + 4) {
        %a = nest.load %x[%i] : memref<11xi64>
        nest.store "t" %a, %t[%i - 4 * %o] : memref<4xi64>
      }
      nest.for "j" %j = 0 to min(4, 11 - 4 * %o) {
        %p = nest.load %t[%j] : memref<4xi64>
        nest.store "y" %p, %y[%g, 4 * %o + %j] : memref<2x11xi64>
      }
    }
  }
  func.return
}

// -----

// A reduction goes with the nest that starts it, and with a value of the body; the buffer is whole already.
// CHECK-LABEL: @reduction
// CHECK: nest.alloc "t" : memref<8xi64>
// CHECK: nest.for "h" {{%\S+}} = 0 to 8 {
// CHECK: nest.for "i" {{%\S+}} = 0 to 8 {
// CHECK-NEXT: nest.for "k" {{%\S+}} = 0 to 5 {
// CHECK: nest.for "o" {{%\S+}} = 0 to 7 {
func.func @reduction(%x: memref<8x5xi64>, %y: memref<7xi64>) {
  %t = nest.alloc "t" : memref<8xi64>
  nest.for "o" %o = 0 to 7 {
    %zero = arith.constant 0 : i64
    nest.for "h" %h = %o to %o + 2 {
      nest.store "t" %zero, %t[%h] : memref<8xi64>
    }
    nest.for "i" %i = %o to %o + 2 {
      nest.for "k" %k = 0 to 5 {
        %a = nest.load %x[%i, %k] : memref<8x5xi64>
        nest.accumulate "t" add %a, %t[%i] : memref<8xi64>
      }
    }
    %p = nest.load %t[%o + 1] : memref<8xi64>
    nest.store "y" %p, %y[%o] : memref<7xi64>
  }
  func.return
}
