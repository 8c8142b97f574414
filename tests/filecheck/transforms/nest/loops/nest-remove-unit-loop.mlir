// A loop that certainly runs once is replaced by its body.
// RUN: opt-tool %s -p 'nest-remove-unit-loop{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @symbolic
// CHECK-NOT: nest.for
// CHECK: nest.store "y" {{.*}}[%n + 3]
func.func @symbolic(%n: index, %x: f32, %y: memref<?xf32>) {
  nest.for "i" %i = %n + 3 to %n + 4 parallel {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Fewer than a step: the loop stands where it was, between others.
// CHECK-LABEL: @uneven
// CHECK: nest.for "k" [[K:%\S+]] = 0 to 9 {
// CHECK-NEXT: nest.store "a"
// CHECK-NEXT: nest.for "j" {{%\S+}} = 0 to [[K]] + 2 {
// CHECK-NEXT: nest.store "b" {{.*}}[[[K]] + 2, {{%\S+}}]
// CHECK: nest.store "c"
func.func @uneven(%x: f32, %y: memref<12x12xf32>) {
  nest.for "k" %k = 0 to 9 {
    nest.store "a" %x, %y[%k, 0] : memref<12x12xf32>
    nest.for "i" %i = %k + 2 to %k + 5 step 4 {
      nest.for "j" %j = 0 to %i {
        nest.store "b" %x, %y[%i, %j] : memref<12x12xf32>
      }
    }
    nest.store "c" %x, %y[%k, 1] : memref<12x12xf32>
  }
  func.return
}

// -----

// The last of at least two iterations.
// CHECK-LABEL: @last
// CHECK-NOT: nest.for
// CHECK: nest.store "y" {{.*}}[%n - 1]
func.func @last(%x: f32, %y: memref<?xf32> {nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "i" %i = max(0, %n - 1) to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
