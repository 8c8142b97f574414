// The mark that a later level obeys, and attributes that it may read; the loop itself stays as it is.
// RUN: opt-tool %s -p 'nest-annotate{loop=r mark=unrolled}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-annotate{loop=i mark="nestor.note" text=hot}' --split-input-file | filecheck %s --check-prefix=NOTE
// RUN: opt-tool %s -p 'nest-annotate{loop=i mark="nestor.depth" value=3}' --split-input-file | filecheck %s --check-prefix=DEPTH
// RUN: opt-tool %s -p 'nest-annotate{loop=i mark="nestor.hot"}' --split-input-file | filecheck %s --check-prefix=UNIT
// RUN: opt-tool %s -p 'nest-annotate{loop=r mark=unrolled},convert-nest-to-scf' --split-input-file | filecheck %s --check-prefix=SCF

// An extent that is not known outside; inside, an uneven number of iterations from 1.
// CHECK-LABEL: @rows
// CHECK: nest.for "i" %i = 2 to %n {
// CHECK-NEXT: nest.for "r" %r = 1 to 8 step 3 unrolled {
// NOTE: nest.for "i" %i = 2 to %n attributes {nestor.note = "hot"} {
// NOTE-NEXT: nest.for "r" %r = 1 to 8 step 3 {
// DEPTH: nest.for "i" %i = 2 to %n attributes {nestor.depth = 3 : i64} {
// UNIT: nest.for "i" %i = 2 to %n attributes {nestor.hot} {
// SCF-LABEL: @rows
// SCF: scf.for
// SCF-NOT: scf.for
// SCF-COUNT-3: memref.store
// SCF-NOT: memref.store
// SCF: return
func.func @rows(%n: index, %v: f32, %x: memref<?x8xf32>) {
  nest.for "i" %i = 2 to %n {
    nest.for "r" %r = 1 to 8 step 3 {
      nest.store "x" %v, %x[%i, %r] : memref<?x8xf32>
    }
  }
  func.return
}

// -----

// An end that is not known, beside one that is: a branch around each copy.
// CHECK-LABEL: @edge
// CHECK: nest.for "r" %r = 0 to min(4, %n - 4 * %i) unrolled {
// SCF-LABEL: @edge
// SCF: scf.for
// SCF-COUNT-4: scf.if
// SCF-NOT: scf.if
func.func @edge(%n: index, %v: f32, %x: memref<?xf32>) {
  nest.for "i" %i = 0 to %n ceildiv 4 {
    nest.for "r" %r = 0 to min(4, %n - 4 * %i) {
      nest.store "x" %v, %x[4 * %i + %r] : memref<?xf32>
    }
  }
  func.return
}
