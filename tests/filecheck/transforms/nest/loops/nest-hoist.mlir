// What is the same in all iterations is done before the loop; what depends on them, or is written in them, stays.
// RUN: opt-tool %s -p 'nest-hoist{loop=k}' --split-input-file | filecheck %s

// Uneven, from 3: the loop runs for certain, so that no bound need be proved.
// CHECK-LABEL: @static
// CHECK: nest.for "i" [[I:%\S+]] = 2 to %n {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[I]] + 5]
// CHECK-NEXT: [[B:%\S+]] = math.exp [[A]]
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 3 to 10 step 2 {
// CHECK-NEXT: [[C:%\S+]] = nest.load %y{{\[}}[[K]]]
// CHECK-NEXT: [[D:%\S+]] = arith.mulf [[B]], [[C]]
// CHECK-NEXT: nest.store "z" [[D]], %y{{\[}}[[K]]]
func.func @static(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "i" %i = 2 to %n {
    nest.for "k" %k = 3 to 10 step 2 {
      %a = nest.load %x[%i + 5] : memref<?xf32>
      %b = math.exp %a : f32
      %c = nest.load %y[%k] : memref<?xf32>
      %d = arith.mulf %b, %c : f32
      nest.store "z" %d, %y[%k] : memref<?xf32>
    }
  }
  func.return
}

// -----

// The loop may be empty: x[i] is in bounds all the same, x[i + 1] may not be.
// CHECK-LABEL: @empty
// CHECK: nest.for "i"
// CHECK-NEXT: [[A:%\S+]] = nest.load %x[%i]
// CHECK-NEXT: nest.for "k"
// CHECK-NEXT: nest.load %x[%i + 1]
func.func @empty(%x: memref<?xf32> {nest.dims = ["n"]}, %y: memref<?x?xf32> {nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?x?xf32>
  %m = memref.dim %y, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "k" %k = %i to %m {
      %a = nest.load %x[%i] : memref<?xf32>
      %b = nest.load %x[%i + 1] : memref<?xf32>
      %c = arith.addf %a, %b : f32
      nest.store "y" %c, %y[%i, %k] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// Of the elements of "a" that are loaded, one is written in the loop; constants of divisions are known.
// CHECK-LABEL: @written
// CHECK: [[A:%\S+]] = nest.load %a[9]
// CHECK: arith.remsi [[A]]
// CHECK-NEXT: nest.for "k"
// CHECK-NEXT: nest.load %a[3]
func.func @written(%a: memref<16xi64>) {
  nest.for "k" %k = 0 to 8 {
    %c7 = arith.constant 7 : i64
    %v = nest.load %a[9] : memref<16xi64>
    %w = nest.load %a[3] : memref<16xi64>
    %r = arith.remsi %v, %c7 : i64
    %s = arith.addi %r, %w : i64
    nest.store "a" %s, %a[%k] : memref<16xi64>
  }
  func.return
}

// -----

// A domain guards the load: one that is known before the loop goes on guarding it.
// CHECK-LABEL: @guarded
// CHECK: nest.for "i"
// CHECK-NEXT: nest.load %x[%i]
// CHECK-NEXT: nest.for "k"
// CHECK-NEXT: nest.load %x[%i + 20]
func.func @guarded(%n: index, %x: memref<?xf32>, %y: memref<?x4xf32>) {
  nest.for "i" %i = 0 to 64 {
    nest.for "k" %k = 0 to 4 {
      %a = nest.load %x[%i] : memref<?xf32>
      %b = nest.load %x[%i + 20] : memref<?xf32>
      nest.store "y" %a, %y[%i, %k] where (%i < %n) : memref<?x4xf32>
      nest.store "y" %b, %y[%i, %k] where (%i + 10 * %k < %n) : memref<?x4xf32>
    }
  }
  func.return
}

// -----

// A mask guards loads, too: one that is known before the loop goes on guarding, one that iterations compute does not.
// CHECK-LABEL: @masked
// CHECK: nest.for "i"
// CHECK-NEXT: nest.load %x[%i]
// CHECK-NEXT: nest.for "k"
// CHECK: nest.load %x[%i + 20]
func.func @masked(%x: memref<?xf32>, %y: memref<?x4xf32>, %given: i1) {
  %c1 = arith.constant 1 : index
  nest.for "i" %i = 0 to 64 {
    nest.for "k" %k = 0 to 4 {
      %late = arith.cmpi slt, %k, %c1 : index
      %a = nest.load %x[%i] : memref<?xf32>
      %b = nest.load %x[%i + 20] : memref<?xf32>
      nest.store "y" %a, %y[%i, %k] mask %given : memref<?x4xf32>
      nest.store "y" %b, %y[%i, %k] mask %late : memref<?x4xf32>
    }
  }
  func.return
}
