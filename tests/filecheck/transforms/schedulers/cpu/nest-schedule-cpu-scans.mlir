// A running result of what the caches do not hold, by two threads: two waves, each over two loops beside each other.
// RUN: opt-tool %s -p 'nest-schedule-cpu{threads=2}' | filecheck %s
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s --check-prefix=ANY

// The first fifth of 2403 blocks, block by block, beside the sums of two fifths; then these beside the rest.
// CHECK: nest.for "i.0.sums.o_i.1.0.sums.o" [[W:%.+]] = 0 to 2 parallel
// CHECK-NEXT: nest.for "i.0.sums.o" [[O:%.+]] = 0 to 480 - 480 * [[W]] {
// CHECK: nest.for "i.0.i.i" {{.*}} {nestor.scan} {
// CHECK-NEXT: nest.prefetch %x[2080 * [[O]] + {{.*}} + 2080]
// CHECK: nest.for "i.1.0.sums.o" {{.*}} = 960 - 960 * [[W]] to 960 {
// CHECK: nest.for "i.1.0.carry" {{.*}} = 0 to 960 {
// CHECK: nest.for "i.1.0.o_i.1.1.sums.o" {{.*}} = 0 to 2 parallel
// CHECK: nest.for "i.1.0.o" {{.*}} to 960 - 960 *
// CHECK: nest.for "i.1.1.sums.o" {{.*}} = 963 - 963 * {{.*}} to 963 {
// For any number of threads, sums of all blocks and then their running results.
// ANY: nest.for "i.sums.o" {{.*}} = 0 to 2403 parallel
// ANY: nest.for "i.o" {{.*}} = 0 to 2403 parallel
func.func @long(%x: memref<5000000xf32>, %y: memref<5000000xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "i" %i = 0 to 5000000 {
    %a = nest.load %x[%i] : memref<5000000xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<5000000xf32>
  }
  func.return
}
