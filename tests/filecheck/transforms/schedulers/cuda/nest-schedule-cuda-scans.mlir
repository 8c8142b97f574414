// Running results: a block has a row, each thread a stretch of it; a long one is cut into blocks first.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' --split-input-file | filecheck %s

// The row is copied to shared memory and back by neighbouring threads. Stretches of nine elements, and one is left.
// CHECK-LABEL: @rows
// CHECK:       nest.for "i" [[I:%\S+]] = 0 to 64 bind "block.x" {
// CHECK:         [[Y:%\S+]] = nest.alloc "y_row" : memref<1000xf32, 3 : i64>
// CHECK:         [[X:%\S+]] = nest.alloc "x_row" : memref<1000xf32, 3 : i64>
// CHECK:         nest.load %x[[[I]], 128 * {{%\S+}} + {{%\S+}}]
// CHECK:         nest.barrier
// CHECK:         nest.for "part" [[P:%\S+]] = 0 to 111 bind "thread.x" {
// CHECK:           nest.for "j.sums.i" [[K:%\S+]] = 0 to 9 {
// CHECK-NEXT:        nest.load [[X]][9 * [[P]] + [[K]]]
// CHECK:         nest.barrier
// CHECK:         nest.for "j.carry" {{%\S+}} = 0 to 111 {
// CHECK:         nest.barrier
// CHECK:         nest.for "part.1" {{%\S+}} = 0 to 111 bind "thread.x" {
// CHECK:         nest.for "j.t" {{%\S+}} = 0 to 1 {
// CHECK:         nest.barrier
// CHECK-NOT:     nest.barrier
// CHECK:           nest.store "y" {{%\S+}}, %y[[[I]], 128 * {{%\S+}} + {{%\S+}}]
func.func @rows(%x: memref<64x1000xf32>, %y: memref<64x1000xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 64 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 1000 {
      %a = nest.load %x[%i, %j] : memref<64x1000xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
      %b = nest.load %s[] : memref<f32>
      nest.store "y" %b, %y[%i, %j] : memref<64x1000xf32>
    }
  }
  func.return
}

// -----

// The sums of blocks of 2048 elements, what stands before each, and the running sums of each block; the rest again.
// CHECK-LABEL: @long
// CHECK:       nest.alloc "s_blocks" : memref<48xf32>
// CHECK:       nest.for {{.*}} bind "block.x" {
// CHECK:       nest.for "i.carry" {{%\S+}} = 0 to 48 {
// CHECK:       nest.for "i.o" {{%\S+}} = 0 to 48 bind "block.x" {
// CHECK:         nest.for "part{{.*}}" {{%\S+}} = 0 to 120 bind "thread.x" {
func.func @long(%x: memref<100000xf32>, %s: memref<f32>, %y: memref<100000xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 100000 {
    %a = nest.load %x[%i] : memref<100000xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<100000xf32>
  }
  func.return
}

// -----

// Down few columns: a thread has a part of a column, what is before each part goes from one to the next.
// CHECK-LABEL: @columns
// CHECK:       nest.for "i.sums.o
// CHECK-SAME:    bind "block.
// CHECK:       nest.accumulate "s" add {{.*}}, %s_blocks
// CHECK:       nest.for "i.carry" {{.*}} = 0 to 256 {
// CHECK:       nest.for "i.o
// CHECK-SAME:    bind "block.
// CHECK:       nest.for "i.i" {{.*}} = 0 to 16 {
// CHECK:       nest.store "y"
func.func @columns(%x: memref<4096x64xf32>, %y: memref<4096x64xf32>, %s: memref<64xf32>) {
  nest.for "i" %i = 0 to 4096 {
    nest.for "j" %j = 0 to 64 {
      %a = nest.load %x[%i, %j] : memref<4096x64xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<64xf32>
      %b = nest.load %s[%j] : memref<64xf32>
      nest.store "y" %b, %y[%i, %j] : memref<4096x64xf32>
    }
  }
  func.return
}
