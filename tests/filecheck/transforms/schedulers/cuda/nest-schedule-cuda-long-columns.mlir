// Means and variances of long columns: one kernel takes the sums of parts and the squares around their means, one takes
// the parts together.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' --split-input-file | filecheck %s

// Blocks of 32 rows, eight at a time, the last one of three; the means of a part are in shared memory only.
// CHECK-LABEL: @moments
// CHECK:       [[SUMS:%\S+]] = nest.alloc "s_parts" : memref<129x256xf32>
// CHECK:       [[SQUARES:%\S+]] = nest.alloc "q_parts" : memref<129x256xf32>
// CHECK:       [[POWER:%\S+]] = nest.alloc "q_power" : memref<129x256xf32>
// CHECK-NOT:   nest.alloc {{.*}} memref<129x256xf32>
// CHECK:       nest.for "i.p" [[P:%\S+]] = 0 to 129 bind "block.y" {
// CHECK-NEXT:    nest.for {{.*}} = 0 to 2 bind "block.x" {
// CHECK:           nest.alloc "q_base_block" : memref<128xf32, 3 : i64>
// CHECK:           nest.for "row" {{.*}} = 0 to 8 bind "thread.y" {
// CHECK-NEXT:        nest.for "column{{.*}} = 0 to 32 bind "thread.x" {
// CHECK:               nest.accumulate "s" add
// CHECK:           nest.barrier
// CHECK:           arith.select
// CHECK:           nest.barrier
// CHECK:           nest.for "row{{.*}} = 0 to 8 bind "thread.y" {
// CHECK-DAG:           nest.accumulate "power" add
// CHECK-DAG:           nest.accumulate "q" add
// CHECK:       bind "block.x"
// CHECK:         nest.load [[SUMS]]
// CHECK:         nest.barrier
// CHECK:         nest.load [[POWER]]
// CHECK:         nest.store "m"
// CHECK-NOT:   bind "block.x"
func.func @moments(%x: memref<4099x256xf32>, %m: memref<256xf32>, %v: memref<256xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 4099.0 : f32
  %s = nest.alloc "s" : memref<256xf32>
  nest.for "j" %j = 0 to 256 {
    nest.store "s" %zero, %s[%j] : memref<256xf32>
  }
  nest.for "i" %i = 0 to 4099 {
    nest.for "j.1" %j = 0 to 256 {
      %a = nest.load %x[%i, %j] : memref<4099x256xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<256xf32>
    }
  }
  %q = nest.alloc "q" : memref<256xf32>
  nest.for "j.2" %j = 0 to 256 {
    nest.store "q" %zero, %q[%j] : memref<256xf32>
  }
  nest.for "i.1" %i = 0 to 4099 {
    nest.for "j.3" %j = 0 to 256 {
      %t = nest.load %s[%j] : memref<256xf32>
      %mean = arith.divf %t, %n : f32
      %a = nest.load %x[%i, %j] : memref<4099x256xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[%j] : memref<256xf32>
    }
  }
  nest.for "j.4" %j = 0 to 256 {
    %t = nest.load %s[%j] : memref<256xf32>
    %mean = arith.divf %t, %n : f32
    nest.store "m" %mean, %m[%j] : memref<256xf32>
    %u = nest.load %q[%j] : memref<256xf32>
    %variance = arith.divf %u, %n : f32
    nest.store "v" %variance, %v[%j] : memref<256xf32>
  }
  func.return
}

// -----

// What is subtracted is no number of the column: the sums are those of columns, each in parts of its own.
// CHECK-LABEL: @other_differences
// CHECK-NOT:   "power"
// CHECK:       nest.for "i.o.p" {{.*}} bind "block.y" {
// CHECK:       nest.for "i.1.o.p" {{.*}} bind "block.y" {
func.func @other_differences(%x: memref<4099x256xf32>, %c: memref<4099x1xf32>, %s: memref<256xf32>, %q: memref<256xf32>) {
  nest.for "i" %i = 0 to 4099 {
    nest.for "j.1" %j = 0 to 256 {
      %a = nest.load %x[%i, %j] : memref<4099x256xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<256xf32>
    }
  }
  nest.for "i.1" %i = 0 to 4099 {
    nest.for "j.3" %j = 0 to 256 {
      %t = nest.load %c[%i, 0] : memref<4099x1xf32>
      %a = nest.load %x[%i, %j] : memref<4099x256xf32>
      %d = arith.subf %a, %t : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[%j] : memref<256xf32>
    }
  }
  func.return
}

// -----

// A softmax: parts have maxima, and sums of the exponentials of what is below these; what it stores is computed where it is divided.
// CHECK-LABEL: @softmax
// CHECK:       nest.for "i.p" {{.*}} bind "block.y" {
// CHECK:           nest.accumulate "m" maximum
// CHECK:           arith.minnumf
// CHECK:           math.exp
// CHECK:           nest.accumulate "s" add
// CHECK:       nest.accumulate "m" maximum
// CHECK:       math.exp
// CHECK:       nest.for "i.1.rest
// CHECK-COUNT-1: math.exp
// CHECK:       arith.divf
// CHECK-NOT:   math.exp
// CHECK:       return
func.func @softmax(%x: memref<4099x256xf32>, %m: memref<256xf32>, %s: memref<256xf32>, %y: memref<4099x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  nest.for "k" %j = 0 to 256 {
    nest.store "m" %least, %m[%j] : memref<256xf32>
  }
  nest.for "i" %i = 0 to 4099 {
    nest.for "j" %j = 0 to 256 {
      %a = nest.load %x[%i, %j] : memref<4099x256xf32>
      nest.accumulate "m" maximum %a, %m[%j] : memref<256xf32>
    }
  }
  nest.for "k.1" %j = 0 to 256 {
    nest.store "s" %zero, %s[%j] : memref<256xf32>
  }
  nest.for "i.1" %i = 0 to 4099 {
    nest.for "j.1" %j = 0 to 256 {
      %a = nest.load %x[%i, %j] : memref<4099x256xf32>
      %c = nest.load %m[%j] : memref<256xf32>
      %d = arith.subf %a, %c : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %y[%i, %j] : memref<4099x256xf32>
      nest.accumulate "s" add %e, %s[%j] : memref<256xf32>
    }
  }
  nest.for "i.2" %i = 0 to 4099 {
    nest.for "j.2" %j = 0 to 256 {
      %e = nest.load %y[%i, %j] : memref<4099x256xf32>
      %t = nest.load %s[%j] : memref<256xf32>
      %p = arith.divf %e, %t : f32
      nest.store "p" %p, %y[%i, %j] : memref<4099x256xf32>
    }
  }
  func.return
}
