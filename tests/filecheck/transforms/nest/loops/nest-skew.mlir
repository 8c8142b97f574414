// The inner loop starts later in each iteration of the outer one; reordered, a sweep runs in parallel wavefronts.
// RUN: opt-tool %s -p 'nest-skew{outer=i inner=j}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-skew{outer=i inner=j by=-2}' --split-input-file | filecheck %s --check-prefix=BACK
// RUN: opt-tool %s -p 'nest-skew{outer=i inner=j},nest-reorder{loops=j,i},nest-parallel{loop=i}' --split-input-file | filecheck %s --check-prefix=WAVE

// CHECK-LABEL: @sweep
// CHECK: nest.for "i" [[I:%\S+]] = 1 to %n {
// CHECK-NEXT: nest.for "j" [[J:%\S+]] = [[I]] + 1 to %m + [[I]] {
// CHECK-NEXT: nest.load %a[[[I]] - 1, [[J]] - [[I]]]
// CHECK-NEXT: nest.load %a[[[I]], [[J]] - [[I]] - 1]
// BACK-LABEL: @sweep
// BACK: nest.for "j" [[J:%\S+]] = 1 - 2 * [[I:%\S+]] to %m - 2 * [[I]] {
// BACK-NEXT: nest.load %a[[[I]] - 1, [[J]] + 2 * [[I]]]
// WAVE-LABEL: @sweep
// WAVE: nest.for "j" [[J:%\S+]] = 2 to %m + %n - 1 {
// WAVE-NEXT: nest.for "i" [[I:%\S+]] = max(1, [[J]] - %m + 1) to min(%n, [[J]]) parallel {
// WAVE-NEXT: nest.load %a[[[I]] - 1, [[J]] - [[I]]]
func.func @sweep(%n: index, %m: index, %a: memref<?x?xf64>) {
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 1 to %m {
      %u = nest.load %a[%i - 1, %j] : memref<?x?xf64>
      %v = nest.load %a[%i, %j - 1] : memref<?x?xf64>
      %w = arith.addf %u, %v : f64
      nest.store "a" %w, %a[%i, %j] : memref<?x?xf64>
    }
  }
  func.return
}

// -----

// An uneven extent, and bounds that are lists.
// CHECK-LABEL: @lists
// CHECK: nest.for "j" {{%\S+}} = max([[I:%\S+]] + 2, %m + [[I]]) to min([[I]] + 9, %n + [[I]]) {
func.func @lists(%n: index, %m: index, %x: f32, %a: memref<7x9xf32>) {
  nest.for "i" %i = 0 to 7 {
    nest.for "j" %j = max(2, %m) to min(9, %n) {
      nest.store "a" %x, %a[%i, %j] : memref<7x9xf32>
    }
  }
  func.return
}
