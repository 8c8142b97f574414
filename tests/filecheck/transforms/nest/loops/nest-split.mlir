// A loop becomes two; iterations that are left over form a remainder, are masked, or end the inner loop early.
// RUN: opt-tool %s -p 'nest-split{loop=i factor=16}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-split{loop=i factor=16 tail=mask}' --split-input-file | filecheck %s --check-prefix=MASK
// RUN: opt-tool %s -p 'nest-split{loop=i factor=16 tail=clamp}' --split-input-file | filecheck %s --check-prefix=CLAMP

// CHECK-LABEL: @even
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "i.i" [[V:%\S+]] = 0 to 16 {
// CHECK-NEXT: nest.load %x[16 * [[O]] + [[V]]]
// CHECK-NOT: nest.for
// MASK-LABEL: @even
// MASK-NOT: where
// CLAMP-LABEL: @even
// CLAMP: nest.for "i.i" {{%\S+}} = 0 to 16 {
func.func @even(%x: memref<64xf32>, %y: memref<64xf32>) {
  nest.for "i" %i = 0 to 64 {
    %a = nest.load %x[%i] : memref<64xf32>
    nest.store "y" %a, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i.o" {{%\S+}} = 0 to %n floordiv 16 {
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 16 {
// CHECK: nest.for "i.t" [[T:%\S+]] = 0 to %n mod 16 {
// CHECK-NEXT: nest.load %x[16 * (%n floordiv 16) + [[T]]]
// MASK-LABEL: @symbolic
// MASK: nest.for "i.o" [[O:%\S+]] = 0 to %n ceildiv 16 {
// MASK-NEXT: nest.for "i.i" [[V:%\S+]] = 0 to 16 {
// MASK: nest.store "y" {{.*}} where (16 * [[O]] + [[V]] < %n)
// MASK-NOT: "i.t"
// CLAMP-LABEL: @symbolic
// CLAMP: nest.for "i.o" [[O:%\S+]] = 0 to %n ceildiv 16 {
// CLAMP-NEXT: nest.for "i.i" {{%\S+}} = 0 to min(16, %n - 16 * [[O]]) {
func.func @symbolic(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// A lower bound, a step, and loops inside: copies of them get names of their own.
// CHECK-LABEL: @uneven
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to 2 {
// CHECK-NEXT: nest.for "i.i" [[V:%\S+]] = 0 to 16 {
// CHECK-NEXT: nest.for "j" [[J:%\S+]] = 0 to 5 {
// CHECK: nest.store "y" {{.*}}[48 * [[O]] + 3 * [[V]] + 7, [[J]]]
// CHECK: nest.for "i.t" [[T:%\S+]] = 0 to 2 {
// CHECK-NEXT: nest.for "j.1" {{%\S+}} = 0 to 5 {
// CHECK: nest.store "y" {{.*}}[3 * [[T]] + 103, {{%\S+}}]
// MASK-LABEL: @uneven
// MASK: nest.store "y" {{.*}} where (16 * [[O:%\S+]] + [[V:%\S+]] < 34)
func.func @uneven(%x: f32, %y: memref<200x5xf32>) {
  nest.for "i" %i = 7 to 108 step 3 {
    nest.for "j" %j = 0 to 5 {
      nest.store "y" %x, %y[%i, %j] : memref<200x5xf32>
    }
  }
  func.return
}

// -----

// An extent of which 32 is known to be a divisor leaves nothing over; with 24 there may be 8 more.
// CHECK-LABEL: @known_multiples
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to %n floordiv 16 {
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 16 {
// CHECK-NOT: nest.for "i.t"
// MASK-LABEL: @known_multiples
// MASK-NOT: where
func.func @known_multiples(%x: memref<?xf32> {nest.dims = ["n"]}, %y: memref<?xf32> {nest.role = "out", nest.dims = ["n"]}) attributes {nestor.extents = {n = [32, -1, 32]}} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}
// -----

// CHECK-LABEL: @other_multiples
// CHECK: nest.for "i.t"
// MASK-LABEL: @other_multiples
// MASK: where
func.func @other_multiples(%x: memref<?xf32> {nest.dims = ["n"]}, %y: memref<?xf32> {nest.role = "out", nest.dims = ["n"]}) attributes {nestor.extents = {n = [24, -1, 24]}} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}
