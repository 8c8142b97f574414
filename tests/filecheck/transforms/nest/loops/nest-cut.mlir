// A loop becomes two at an iteration, which may lie outside of the range: one of them is then empty.
// RUN: opt-tool %s -p 'nest-cut{loop=i at=10}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-cut{loop=i at=-1}' --split-input-file | filecheck %s --check-prefix=BEFORE

// CHECK-LABEL: @plain
// CHECK: nest.for "i.0" [[A:%\S+]] = 0 to 10 {
// CHECK-NEXT: nest.store "y" {{.*}}[[[A]]]
// CHECK: nest.for "i.1" [[B:%\S+]] = 10 to 64 {
// CHECK-NEXT: nest.store "y" {{.*}}[[[B]]]
// BEFORE-LABEL: @plain
// BEFORE: nest.for "i.0" {{%\S+}} = 0 to -1 {
// BEFORE: nest.for "i.1" {{%\S+}} = 0 to 64 {
func.func @plain(%x: f32, %y: memref<64xf32>) {
  nest.for "i" %i = 0 to 64 {
    nest.store "y" %x, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i.0" {{%\S+}} = 1 to min(%n, 11) {
// CHECK: nest.for "i.1" {{%\S+}} = 11 to %n {
func.func @symbolic(%x: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "i" %i = 1 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @past
// CHECK: nest.for "i.0" {{%\S+}} = 2 to 8 {
// CHECK: nest.for "i.1" {{%\S+}} = 12 to 8 {
func.func @past(%x: f32, %y: memref<8xf32>) {
  nest.for "i" %i = 2 to 8 {
    nest.store "y" %x, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

// A step, a lower bound that depends on a loop around it, a loop inside, and a min.
// CHECK-LABEL: @steps
// CHECK: nest.for "i.0" {{%\S+}} = %k to min(%n, %m, %k + 40) step 4 {
// CHECK-NEXT: nest.for "j.1"
// CHECK: nest.for "i.1" {{%\S+}} = %k + 40 to min(%n, %m) step 4 {
// CHECK-NEXT: nest.for "j" {{%\S+}}
func.func @steps(%n: index, %m: index, %x: f32, %y: memref<?x5xf32>) {
  nest.for "k" %k = 0 to %n {
    nest.for "i" %i = %k to min(%n, %m) step 4 {
      nest.for "j" %j = 0 to 5 {
        nest.store "y" %x, %y[%i, %j] : memref<?x5xf32>
      }
    }
  }
  func.return
}
