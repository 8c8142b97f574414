// A sum of all elements: partial sums by blocks, which one block adds up; few elements are summed by one block.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' --split-input-file | filecheck %s

// Fifteen blocks, 4096 elements each: four accesses of 16 bytes by 256 threads. The last block ends inside of its elements.
// CHECK-LABEL: @sum
// CHECK:       [[PARTS:%\S+]] = nest.alloc "s_parts" : memref<15xf32>
// CHECK:       nest.for "i_j.o.p" [[P:%\S+]] = 0 to 15 bind "block.x" {
// CHECK:         nest.for "warp" [[W:%\S+]] = 0 to 8 bind "thread.x" {
// CHECK:           nest.for "lane" [[L:%\S+]] = 0 to 32 bind "lane" {
// CHECK:             nest.for {{.*}} [[R:%\S+]] = 0 to 4 unrolled {
// CHECK-NEXT:          nest.for {{.*}} [[V:%\S+]] = 0 to 4 vectorized(4) {
// CHECK-NEXT:            nest.load %x_flat[4096 * [[P]] + 1024 * [[R]] + 128 * [[W]] + 4 * [[L]] + [[V]]]
// CHECK:         nest.barrier
// CHECK:         nest.store "s" {{%\S+}}, [[PARTS]][[[P]]]
// CHECK:       nest.for "block.o" {{%\S+}} = 0 to 1 bind "block.x" {
// CHECK:         nest.for "lane.1" {{%\S+}} = 0 to 32 bind "lane" {
// CHECK:           nest.load [[PARTS]]
func.func @sum(%x: memref<60x1000xf32>, %s: memref<f32>) {
  nest.for "i" %i = 0 to 60 {
    nest.for "j" %j = 0 to 1000 {
      %v = nest.load %x[%i, %j] : memref<60x1000xf32>
      nest.accumulate "s" add %v, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @few
// CHECK-NOT:   nest.alloc {{.*}} : memref<{{[0-9]+}}xf32>
// CHECK:       nest.for "block{{.*}} bind "block.x" {
// CHECK-NOT:   bind "block.x"
func.func @few(%x: memref<3000xf32>, %s: memref<f32>) {
  nest.for "i" %i = 0 to 3000 {
    %v = nest.load %x[%i] : memref<3000xf32>
    nest.accumulate "s" maximum %v, %s[] : memref<f32>
  }
  func.return
}

// -----

// The block that takes the parts together sets what the total starts from, and makes the mean of it: two kernels.
// CHECK-LABEL: @mean
// CHECK-NOT:   nest.store
// CHECK:       nest.for {{.*}} bind "block.x" {
// CHECK:       nest.for "block.o" {{%\S+}} = 0 to 1 bind "block.x" {
// CHECK:         [[S:%\S+]] = nest.alloc "s" : memref<f32, 5
// CHECK:         nest.store "s" %{{\S+}}, [[S]][]
// CHECK:         nest.load [[S]][]
// CHECK:         nest.store "mean" {{%\S+}}, %out[]
// CHECK-NEXT:  }
func.func @mean(%x: memref<100000xf32>, %c: f32, %out: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "i" %i = 0 to 100000 {
    %v = nest.load %x[%i] : memref<100000xf32>
    nest.accumulate "s" add %v, %s[] : memref<f32>
  }
  %t = nest.load %s[] : memref<f32>
  %m = arith.mulf %t, %c : f32
  nest.store "mean" %m, %out[] : memref<f32>
  func.return
}
