// Sums of columns: threads across the columns, several rows of a block at a time, parts of the rows where there are many.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' --split-input-file | filecheck %s

// Fifteen parts of the rows, each summed by three blocks of 32 columns; another kernel takes the parts together.
// CHECK-LABEL: @columns
// CHECK:       [[ALL:%\S+]] = nest.alloc "s_parts" : memref<15x77xf32>
// CHECK:       nest.for "i.o.p" [[P:%\S+]] = 0 to 15 bind "block.y" {
// CHECK-NEXT:    nest.for {{.*}} = 0 to 3 bind "block.x" {
// CHECK:           [[SHARED:%\S+]] = nest.alloc {{.*}} : memref<8x32xf32, 3 : i64>
// CHECK:           nest.for "row" [[Y:%\S+]] = 0 to 8 bind "thread.y" {
// CHECK-NEXT:        nest.for "column" [[X:%\S+]] = 0 to 32 bind "thread.x" {
// CHECK:               nest.for "i.o" [[I:%\S+]] = [[P]] to 125 step 15 {
// CHECK-NEXT:            nest.load %x[8 * [[I]] + [[Y]], {{.*}} + [[X]]]
// CHECK:               nest.store "s" {{%\S+}}, [[SHARED]][[[Y]], [[X]]]
// CHECK:           nest.barrier
// CHECK-NOT:       nest.barrier
// CHECK:           nest.store "s" {{%\S+}}, [[ALL]][[[P]], {{.*}}]
// CHECK:       nest.for "i.o.combine.ax0.o" {{%\S+}} = 0 to 3 bind "block.x" {
func.func @columns(%x: memref<1000x77xf32>, %s: memref<77xf32>) {
  nest.for "i" %i = 0 to 1000 {
    nest.for "j" %j = 0 to 77 {
      %v = nest.load %x[%i, %j] : memref<1000x77xf32>
      nest.accumulate "s" add %v, %s[%j] : memref<77xf32>
    }
  }
  func.return
}

// -----

// Few rows are no parts: one kernel, which sets the sums as well. Four neighbouring columns a thread.
// CHECK-LABEL: @short
// CHECK:       nest.for "j.o" {{%\S+}} = 0 to 8 bind "block.x" {
// CHECK:         nest.for "i.o" {{%\S+}} = 0 to 4 {
// CHECK-NEXT:      nest.for {{.*}} vectorized(4) {
// CHECK-NOT:   bind "block.x"
func.func @short(%x: memref<30x1024xf32>, %s: memref<1024xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "j" %j = 0 to 1024 {
    nest.store "s" %zero, %s[%j] : memref<1024xf32>
  }
  nest.for "i" %i = 0 to 30 {
    nest.for "j.1" %j = 0 to 1024 {
      %v = nest.load %x[%i, %j] : memref<30x1024xf32>
      nest.accumulate "s" add %v, %s[%j] : memref<1024xf32>
    }
  }
  func.return
}

// -----

// The kernel that takes the parts together sets the sums, and makes of them what the next loop does: two kernels.
// CHECK-LABEL: @deviations
// CHECK:       nest.for "i.o.p" {{.*}} bind "block.y" {
// CHECK:       nest.for "j.o" {{%\S+}} = 0 to {{[0-9]+}} bind "block.x" {
// CHECK:         nest.barrier
// CHECK:         math.sqrt
// CHECK-NOT:   bind "block.x"
func.func @deviations(%x: memref<900x64xf32>, %s: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "j" %j = 0 to 64 {
    nest.store "s" %zero, %s[%j] : memref<64xf32>
  }
  nest.for "i" %i = 0 to 900 {
    nest.for "j.1" %j = 0 to 64 {
      %v = nest.load %x[%i, %j] : memref<900x64xf32>
      nest.accumulate "s" add %v, %s[%j] : memref<64xf32>
    }
  }
  nest.for "j.2" %j = 0 to 64 {
    %v = nest.load %s[%j] : memref<64xf32>
    %r = math.sqrt %v : f32
    nest.store "s" %r, %s[%j] : memref<64xf32>
  }
  func.return
}
