// Few long rows: blocks have parts of a row each, and what is done with all of a row is a kernel of its own.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' --split-input-file | filecheck %s

// Twenty blocks for each of three rows; their sums by a warp a row; then every element.
// CHECK-LABEL: @shares
// CHECK:       [[PARTS:%\S+]] = nest.alloc "s_parts" : memref<3x20xf32>
// CHECK:       nest.for "{{.*}}" [[I:%\S+]] = 0 to 3 bind "block.y" {
// CHECK-NEXT:    nest.for "j.o.p" [[P:%\S+]] = 0 to 20 bind "block.x" {
// CHECK:           nest.for "warp" {{.*}} = 0 to 8 bind "thread.x" {
// CHECK:             nest.for "{{.*}}" {{%\S+}} = 0 to 4 vectorized(4) {
// CHECK:               nest.load %x[[[I]], 4096 * [[P]] +
// CHECK:               where (4096 * [[P]] +
// CHECK:           nest.store "s" {{%\S+}}, [[PARTS]][[[I]], [[P]]]
// CHECK:       bind "block.x"
// CHECK:         nest.load [[PARTS]]
// CHECK-NOT:     %x
// CHECK:       bind "block.x"
// CHECK:         arith.divf
// CHECK:         nest.store "y"
// CHECK-NOT:   bind "block.x"
func.func @shares(%x: memref<3x80000xf32>, %y: memref<3x80000xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 3 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 80000 {
      %a = nest.load %x[%i, %j] : memref<3x80000xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    %t = nest.load %s[] : memref<f32>
    nest.for "j.1" %j = 0 to 80000 {
      %a = nest.load %x[%i, %j] : memref<3x80000xf32>
      %d = arith.divf %a, %t : f32
      nest.store "y" %d, %y[%i, %j] : memref<3x80000xf32>
    }
  }
  func.return
}

// -----

// A mean and the squares around it: a part is read once, and stays in registers for both.
// CHECK-LABEL: @moments
// CHECK:       nest.for "j.p" {{%\S+}} = 0 to 20 bind "block.x" {
// CHECK:         [[ROW:%\S+]] = nest.alloc "x_row" : memref<8x32x4x4xf32, 5 : i64>
// CHECK-COUNT-1: nest.load %x[
// CHECK-NOT:     %x[
// CHECK:         [[MEAN:%\S+]] = nest.alloc "q_base_own" : memref<f32, 5 : i64>
// CHECK:         nest.load [[ROW]]
// CHECK:         nest.accumulate "s" add
// CHECK:         nest.load [[ROW]]
// CHECK-NEXT:    nest.load [[MEAN]][]
// CHECK:         nest.accumulate "power" add
// CHECK:         nest.accumulate "q" add
// CHECK:       bind "block.x"
// CHECK-NOT:     %x[
// CHECK-NOT:   bind "block
func.func @moments(%x: memref<3x80000xf32>, %y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 80000.0 : f32
  nest.for "i" %i = 0 to 3 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 80000 {
      %a = nest.load %x[%i, %j] : memref<3x80000xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    %t = nest.load %s[] : memref<f32>
    %mean = arith.divf %t, %n : f32
    %q = nest.alloc "q" : memref<f32>
    nest.store "q" %zero, %q[] : memref<f32>
    nest.for "j.1" %j = 0 to 80000 {
      %a = nest.load %x[%i, %j] : memref<3x80000xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[] : memref<f32>
    }
    %u = nest.load %q[] : memref<f32>
    nest.store "y" %u, %y[%i] : memref<3xf32>
  }
  func.return
}

// -----

// As many rows as a GPU has processors: a block each.
// CHECK-LABEL: @enough_rows
// CHECK-NOT:   _parts" : memref<{{[0-9]+}}x
// CHECK:       nest.for "i" {{%\S+}} = 0 to 133 bind "block.x" {
// CHECK-NOT:   bind "block
func.func @enough_rows(%x: memref<133x80000xf32>, %y: memref<133xf32>) {
  nest.for "i" %i = 0 to 133 {
    nest.for "j" %j = 0 to 80000 {
      %a = nest.load %x[%i, %j] : memref<133x80000xf32>
      nest.accumulate "y" add %a, %y[%i] : memref<133xf32>
    }
  }
  func.return
}

// -----

// No rows at all: there is nothing to share.
// CHECK-LABEL: func.func @no_rows
// CHECK-NOT:   nest.alloc "{{.*}}_parts"
func.func @no_rows(%x: memref<0x80000xf32>, %y: memref<0xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 0 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 80000 {
      %a = nest.load %x[%i, %j] : memref<0x80000xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    %t = nest.load %s[] : memref<f32>
    nest.store "y" %t, %y[%i] : memref<0xf32>
  }
  func.return
}
