// A loop runs from 0 in steps of 1, and its uses compute what the variable was.
// RUN: opt-tool %s -p 'nest-normalise{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @steps
// CHECK: nest.for "i" [[I:%\S+]] = 0 to 34 {
// CHECK-NEXT: nest.store "y" {{.*}}[3 * [[I]] + 7] where (3 * [[I]] < 33)
func.func @steps(%x: f32, %y: memref<200xf32>) {
  nest.for "i" %i = 7 to 108 step 3 {
    nest.store "y" %x, %y[%i] where (%i < 40) : memref<200xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i" [[I:%\S+]] = 0 to min((%n - %k) ceildiv 2, (%m - %k) ceildiv 2) parallel {
// CHECK-NEXT: nest.store "y" {{.*}}[%k + 2 * [[I]], %k]
func.func @symbolic(%n: index, %m: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "k" %k = 0 to %n {
    nest.for "i" %i = %k to min(%n, %m) step 2 parallel {
      nest.store "y" %x, %y[%i, %k] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @normal
// CHECK: nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK-NEXT: nest.store "y" {{.*}}[[[I]]]
func.func @normal(%n: index, %x: f32, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
