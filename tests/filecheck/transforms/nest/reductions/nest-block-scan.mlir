// A running result in blocks: their results, what stands before each of them, and the running results block by block.
// RUN: opt-tool %s -p 'nest-block-scan{loop=i factor=256}' --split-input-file | filecheck %s

// CHECK-LABEL: @unknown
// CHECK:       %s_blocks = nest.alloc "s_blocks"({{.*}}) : memref<?xf32>
// CHECK:       %s_before = nest.alloc "s_before"({{.*}}) : memref<?xf32>
// CHECK:       nest.for "i.sums.o" [[O:%\S+]] = 0 to %n floordiv 256 {
// CHECK-NEXT:    nest.store "s" {{.*}}, %s_blocks[[[O]]]
// CHECK-NEXT:    nest.for "i.sums.i" [[I:%\S+]] = 0 to 256 {
// CHECK-NEXT:      [[A:%\S+]] = nest.load %x[256 * [[O]] + [[I]]]
// CHECK-NEXT:      nest.accumulate "s" add [[A]], %s_blocks[[[O]]]
// CHECK-NOT:       nest.store
// CHECK:       nest.for "i.carry" [[C:%\S+]] = 0 to %n floordiv 256 {
// CHECK-NEXT:    [[T:%\S+]] = nest.load %s[]
// CHECK-NEXT:    nest.store "s" [[T]], %s_before[[[C]]]
// CHECK-NEXT:    [[U:%\S+]] = nest.load %s_blocks[[[C]]]
// CHECK-NEXT:    nest.accumulate "s" add [[U]], %s[]
// CHECK:       nest.for "i.o" [[O:%\S+]] = 0 to %n floordiv 256 {
// CHECK:         %s_block = nest.alloc "s_block" : memref<f32>
// CHECK:         [[T:%\S+]] = nest.load %s_before[[[O]]]
// CHECK:         nest.store "s" [[T]], %s_block[]
// CHECK:         nest.for "i.i" [[I:%\S+]] = 0 to 256 {
// CHECK:           nest.accumulate "s" add {{.*}}, %s_block[]
// CHECK:           [[B:%\S+]] = nest.load %s_block[]
// CHECK:           nest.store "y" [[B]], %y[256 * [[O]] + [[I]]]
// CHECK:       nest.for "i.t" {{.*}} to %n {
// CHECK:         nest.accumulate "s" add {{.*}}, %s[]
func.func @unknown(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Whole blocks leave nothing; what is accumulated is computed twice, what else the body does once. The start stays.
// CHECK-LABEL: @even
// CHECK:       nest.for "i.sums.o" {{.*}} = 0 to 4 {
// CHECK:         arith.muli
// CHECK-NOT:     nest.store "z"
// CHECK:       nest.for "i.carry"
// CHECK:         nest.accumulate "s" maxsi {{.*}}, %s[2]
// CHECK:       nest.for "i.o" {{.*}} = 0 to 4 {
// CHECK:         nest.load %x[256 * %{{.*}} + %{{.*}} + 8]
// CHECK:         nest.store "z"
// CHECK-NOT:   "i.t"
func.func @even(%x: memref<1032xi32>, %y: memref<1032xi32>, %z: memref<1032xi32>, %s: memref<4xi32>) {
  nest.for "i" %i = 8 to 1032 {
    %a = nest.load %x[%i] : memref<1032xi32>
    %c = arith.muli %a, %a : i32
    nest.accumulate "s" maxsi %c, %s[2] : memref<4xi32>
    nest.store "z" %a, %z[%i] : memref<1032xi32>
    %b = nest.load %s[2] : memref<4xi32>
    nest.store "y" %b, %y[%i] : memref<1032xi32>
  }
  func.return
}

// -----

// Of 1000 iterations 232 are left: they go on from the sum of the blocks.
// CHECK-LABEL: @uneven
// CHECK:       nest.for "i.carry" {{.*}} = 0 to 3 {
// CHECK:       nest.for "i.o" {{.*}} = 0 to 3 {
// CHECK:       nest.for "i.t" {{.*}} {
// CHECK:         nest.accumulate "s" add {{.*}}, %s[]
func.func @uneven(%x: memref<1000xf32>, %y: memref<1000xf32>, %s: memref<f32>) {
  nest.for "i" %i = 0 to 1000 {
    %a = nest.load %x[%i] : memref<1000xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<1000xf32>
  }
  func.return
}

// -----

// What is before each iteration, as "i.carry" above has it.
// CHECK-LABEL: @before
// CHECK:       nest.for "i.carry"
// CHECK:       nest.for "i.o" {{.*}} = 0 to 4 {
// CHECK:         nest.for "i.i" {{.*}} = 0 to 256 {
// CHECK-NEXT:      [[B:%\S+]] = nest.load %s_block[]
// CHECK-NEXT:      nest.store "y" [[B]], %y
// CHECK-NEXT:      nest.load %x
// CHECK-NEXT:      nest.accumulate "s" add {{.*}}, %s_block[]
func.func @before(%x: memref<1024xf32>, %y: memref<1024xf32>, %s: memref<f32>) {
  nest.for "i" %i = 0 to 1024 {
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<1024xf32>
    %a = nest.load %x[%i] : memref<1024xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}
