// RUN: opt-tool %s -p nest-schedule-cpu --split-input-file | filecheck %s
// A long reduction is done in parts, several at a time, by threads; sums of columns are read a few rows at a time.

// CHECK-LABEL: @total
// CHECK: nest.for "i.0.p.o" [[P:%\S+]] = 0 to 8 parallel
// CHECK: nest.for "i.0.i" [[V:%\S+]] = 0 to 16 vectorized(16)
// CHECK: nest.load %x[131072 * [[P]]
// CHECK: nest.load %x[131072 * [[P]] {{.*}} + 32768]
// CHECK: nest.load %x[131072 * [[P]] {{.*}} + 98304]
// CHECK: nest.for "i.0.combine" {{.*}} vectorized
// CHECK: nest.for "i.1" {{.*}} = 1048576 to 1048590
func.func @total(%x: memref<1048590xf32>, %s: memref<f32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 1048590 {
    %0 = nest.load %x[%i] : memref<1048590xf32>
    nest.accumulate "s" add %0, %s[] : memref<f32>
  }
  func.return
}

// -----

// Too short for threads, or of a given order.
// CHECK-LABEL: @few
// CHECK-NOT: parallel
// CHECK-LABEL: @in_order
// CHECK-NOT: parallel
func.func @few(%x: memref<4096xf32>, %s: memref<f32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 4096 {
    %0 = nest.load %x[%i] : memref<4096xf32>
    nest.accumulate "s" add %0, %s[] : memref<f32>
  }
  func.return
}
func.func @in_order(%x: memref<1048590xf32>, %s: memref<f32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 1048590 {
    %0 = nest.load %x[%i] : memref<1048590xf32>
    nest.accumulate "s" add %0, %s[] order(sequential) : memref<f32>
  }
  func.return
}

// -----

// Where only the run time knows the extent, a long loop has a version of its own.
// CHECK-LABEL: @dynamic
// CHECK: nest.if
// CHECK: nest.for "i{{.*}}.p" {{.*}} = 0 to 16 parallel
// CHECK: } else {
// CHECK-NOT: parallel
func.func @dynamic(%x: memref<?xi64>, %s: memref<i64> {nest.role = "inout"}) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xi64>
  nest.for "i" %i = 0 to %n {
    %0 = nest.load %x[%i] : memref<?xi64>
    nest.accumulate "s" add %0, %s[] : memref<i64>
  }
  func.return
}

// -----

// Columns: parts of the rows, eight of them at a time, their sums in registers.
// CHECK-LABEL: @columns
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 8 parallel
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to 16
// CHECK: nest.for "j.o" [[J:%\S+]] = 0 to 16
// CHECK: %s_parts_acc = nest.alloc
// CHECK: nest.for "j.i" [[V:%\S+]] = 0 to 64 vectorized(64)
// CHECK: nest.for "i.i" [[I:%\S+]] = 0 to 8
// CHECK: nest.load %x[128 * [[P]] + 8 * [[O]] + [[I]], 64 * [[J]] + [[V]]]
// CHECK: nest.for "i.combine
func.func @columns(%x: memref<1024x1024xf32>, %s: memref<1024xf32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 1024 {
    nest.for "j" %j = 0 to 1024 {
      %0 = nest.load %x[%i, %j] : memref<1024x1024xf32>
      nest.accumulate "s" add %0, %s[%j] : memref<1024xf32>
    }
  }
  func.return
}

// -----

// The middle axis: the loop around it is for threads, each reads rows of its own a few at a time.
// CHECK-LABEL: @middle
// CHECK: nest.for "a" [[A:%\S+]] = 0 to 32 parallel
// CHECK: nest.for "i.o"
// CHECK: nest.for "j.i" {{.*}} vectorized(64)
// CHECK: nest.for "i.i"
func.func @middle(%x: memref<32x256x512xf32>, %s: memref<32x512xf32> {nest.role = "inout"}) {
  nest.for "a" %a = 0 to 32 {
    nest.for "i" %i = 0 to 256 {
      nest.for "j" %j = 0 to 512 {
        %0 = nest.load %x[%a, %i, %j] : memref<32x256x512xf32>
        nest.accumulate "s" add %0, %s[%a, %j] : memref<32x512xf32>
      }
    }
  }
  func.return
}

// -----

// A table that is as big as the work is not copied for parts.
// CHECK-LABEL: @histogram
// CHECK-NOT: parallel
func.func @histogram(%x: memref<1048576xi64>, %s: memref<1048576xi64> {nest.role = "inout"}) {
  %one = arith.constant 1 : i64
  nest.for "i" %i = 0 to 1048576 {
    %0 = nest.load %x[%i] : memref<1048576xi64>
    %1 = arith.index_cast %0 : i64 to index
    nest.accumulate "s" add %one, %s[%1] : memref<1048576xi64>
  }
  func.return
}

// -----

// Long rows: four at a time.
// CHECK-LABEL: @rows
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to 256 parallel
// CHECK: nest.for "j.i" {{.*}} = 0 to 16 vectorized(16)
// CHECK: nest.load %x[4 * [[O]], {{.*}}]
// CHECK: nest.load %x[4 * [[O]] + 3, {{.*}}]
func.func @rows(%x: memref<1024x2048xf32>, %y: memref<1024xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 1024 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 2048 {
      %0 = nest.load %x[%i, %j] : memref<1024x2048xf32>
      nest.accumulate "s" add %0, %s[] : memref<f32>
    }
    %1 = nest.load %s[] : memref<f32>
    nest.store "y" %1, %y[%i] : memref<1024xf32>
  }
  func.return
}

// -----

// The lanes of an outer loop add to one sum in the loop inside: in a register of that loop each would read what the last one left.
// CHECK-LABEL: @lanes_add_to_one_sum
// CHECK: nest.for "k" {{.*}} = 0 to 2 vectorized(2)
// CHECK: nest.for "j"
// CHECK: nest.accumulate "add" add {{.*}}, %sum[]
func.func @lanes_add_to_one_sum(%a: memref<3x4xf64>, %w: memref<7xf64>, %out: memref<f64> {nest.role = "out"}, %t: memref<3x4x2xf64> {nest.role = "out"}) {
  %sum = nest.alloc "sum" : memref<f64>
  %zero = arith.constant 0.0 : f64
  nest.store "start" %zero, %sum[] : memref<f64>
  nest.for "i" %i = 0 to 3 {
    nest.for "k" %k = 0 to 2 {
      %b = nest.load %w[%k] : memref<7xf64>
      nest.for "j" %j = 0 to 4 {
        %c = nest.load %a[%i, %j] : memref<3x4xf64>
        %d = arith.mulf %c, %b : f64
        nest.accumulate "add" add %d, %sum[] : memref<f64>
        nest.store "t" %d, %t[%i, %j, %k] : memref<3x4x2xf64>
      }
    }
  }
  %e = nest.load %sum[] : memref<f64>
  nest.store "out" %e, %out[] : memref<f64>
  func.return
}
