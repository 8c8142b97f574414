// The bounds stay and the variable is mirrored; sums in any order may run backwards.
// RUN: opt-tool %s -p 'nest-reverse{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @plain
// CHECK: nest.for "i" [[I:%\S+]] = 0 to 7 {
// CHECK-NEXT: nest.store "y" {{.*}}[6 - [[I]]]
func.func @plain(%x: f32, %y: memref<7xf32>) {
  nest.for "i" %i = 0 to 7 {
    nest.store "y" %x, %y[%i] : memref<7xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @sum
// CHECK: nest.for "i" [[I:%\S+]] = 2 to %n {
// CHECK-NEXT: nest.load %x[%n - [[I]] + 1]
func.func @sum(%x: memref<?xf32>, %s: memref<f32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 2 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

// Steps: 7, 10, ... 106 from the end.
// CHECK-LABEL: @steps
// CHECK: nest.for "i" [[I:%\S+]] = 7 to 108 step 3 {
// CHECK-NEXT: nest.store "y" {{.*}}[113 - [[I]]]
func.func @steps(%x: f32, %y: memref<200xf32>) {
  nest.for "i" %i = 7 to 108 step 3 {
    nest.store "y" %x, %y[%i] : memref<200xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @symbolic_steps
// CHECK: nest.for "i" [[I:%\S+]] = 0 to %n step 4 {
// CHECK-NEXT: nest.store "y" {{.*}}[4 * (%n ceildiv 4) - [[I]] - 4]
func.func @symbolic_steps(%n: index, %x: f32, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to %n step 4 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
