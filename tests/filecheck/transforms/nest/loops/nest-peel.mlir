// The first or last iterations become a loop of their own; the rest keeps its name, and copies inside get new ones.
// RUN: opt-tool %s -p 'nest-peel{loop=i count=3}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-peel{loop=i count=3 where=tail}' --split-input-file | filecheck %s --check-prefix=TAIL

// CHECK-LABEL: @plain
// CHECK: nest.for "i.head" [[H:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.store "y" {{.*}}[[[H]]]
// CHECK: nest.for "i" {{%\S+}} = 3 to 64 {
// TAIL-LABEL: @plain
// TAIL: nest.for "i" {{%\S+}} = 0 to 61 {
// TAIL: nest.for "i.tail" {{%\S+}} = 61 to 64 {
func.func @plain(%x: f32, %y: memref<64xf32>) {
  nest.for "i" %i = 0 to 64 {
    nest.store "y" %x, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i.head" {{%\S+}} = 0 to min(%n, 3) {
// CHECK: nest.for "i" {{%\S+}} = 3 to %n {
// TAIL-LABEL: @symbolic
// TAIL: nest.for "i" {{%\S+}} = 0 to %n - 3 {
// TAIL: nest.for "i.tail" {{%\S+}} = max(0, %n - 3) to %n {
func.func @symbolic(%x: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// The peel takes all of the two iterations.
// CHECK-LABEL: @short
// CHECK: nest.for "i.head" {{%\S+}} = 5 to 7 {
// CHECK: nest.for "i" {{%\S+}} = 8 to 7 {
// TAIL-LABEL: @short
// TAIL: nest.for "i" {{%\S+}} = 5 to 4 {
// TAIL: nest.for "i.tail" {{%\S+}} = 5 to 7 {
func.func @short(%x: f32, %y: memref<9xf32>) {
  nest.for "i" %i = 5 to 7 {
    nest.store "y" %x, %y[%i] : memref<9xf32>
  }
  func.return
}

// -----

// Steps are counted from the first iteration: 7, 10, ... 106.
// CHECK-LABEL: @steps
// CHECK: nest.for "i.head" {{%\S+}} = 7 to 16 step 3 {
// CHECK-NEXT: nest.for "j.1"
// CHECK: nest.for "i" {{%\S+}} = 16 to 108 step 3 {
// CHECK-NEXT: nest.for "j" {{%\S+}} = 0 to 5 {
// TAIL-LABEL: @steps
// TAIL: nest.for "i" {{%\S+}} = 7 to 99 step 3 {
// TAIL: nest.for "i.tail" {{%\S+}} = 100 to 108 step 3 {
func.func @steps(%x: f32, %y: memref<200x5xf32>) {
  nest.for "i" %i = 7 to 108 step 3 {
    nest.for "j" %j = 0 to 5 {
      nest.store "y" %x, %y[%i, %j] : memref<200x5xf32>
    }
  }
  func.return
}

// -----

// Bounds that never count are left out first: an extent of an input is not below 2.
// CHECK-LABEL: @known
// CHECK: nest.for "i.head" {{%\S+}} = 0 to min(%n, 3) {
// TAIL-LABEL: @known
// TAIL: nest.for "i.tail" {{%\S+}} = max(0, %n - 3) to %n {
func.func @known(%x: f32, %y: memref<?xf32> {nest.dims = ["n"], nest.role = "inout"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "i" %i = max(0, 1 - %n) to min(%n, 2 * %n) {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
