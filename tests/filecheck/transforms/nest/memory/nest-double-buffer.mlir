// The copy of the next iteration, in a loop of unknown extent, in one with a step, a start and values computed first, and
// from elements that an earlier iteration than the one before has written.
// RUN: opt-tool %s -p 'nest-double-buffer{buffer=u loop=i func=symbolic}' | filecheck %s
// RUN: opt-tool %s -p 'nest-double-buffer{buffer=t loop=p func=steps}' | filecheck %s --check-prefix=STEPS
// RUN: opt-tool %s -p 'nest-double-buffer{buffer=v loop=o func=two_before}' | filecheck %s --check-prefix=BEFORE

// CHECK-LABEL: func.func @symbolic
// CHECK: %[[U:.*]] = nest.alloc "u" : memref<2x64xf32>
// CHECK-NEXT: nest.for "i.first" %[[F:.*]] = 0 to min(%n, 1) {
// CHECK-NEXT: nest.for "j.1" %[[J:.*]] = 0 to 64 {
// CHECK-NEXT: %[[A:.*]] = nest.load %x[%[[F]], %[[J]]] : memref<?x64xf32>
// CHECK-NEXT: nest.store "u" %[[A]], %[[U]][%[[F]] mod 2, %[[J]]] : memref<2x64xf32>
// CHECK: nest.for "i" %i = 0 to %n - 1 {
// CHECK-NEXT: nest.for "j" %[[J:.*]] = 0 to 64 {
// CHECK-NEXT: %[[A:.*]] = nest.load %x[%i + 1, %[[J]]] : memref<?x64xf32>
// CHECK-NEXT: nest.store "u" %[[A]], %[[U]][(%i + 1) mod 2, %[[J]]] : memref<2x64xf32>
// CHECK: nest.for "k" %[[K:.*]] = 0 to 64 {
// CHECK-NEXT: nest.load %[[U]][%i mod 2, %[[K]]] : memref<2x64xf32>
// CHECK: nest.for "i.tail" %[[T:.*]] = max(0, %n - 1) to %n {
// CHECK-NEXT: nest.for "k.1" %[[K:.*]] = 0 to 64 {
// CHECK-NEXT: nest.load %[[U]][%[[T]] mod 2, %[[K]]] : memref<2x64xf32>
// CHECK-NOT: nest.store "u"
func.func @symbolic(%n: index, %x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  nest.for "i" %i = 0 to %n {
    %u = nest.alloc "u" : memref<64xf32>
    nest.for "j" %j = 0 to 64 {
      %a = nest.load %x[%i, %j] : memref<?x64xf32>
      nest.store "u" %a, %u[%j] : memref<64xf32>
    }
    nest.for "k" %k = 0 to 64 {
      %b = nest.load %u[%k] : memref<64xf32>
      nest.store "y" %b, %y[%i, %k] : memref<?x64xf32>
    }
  }
  func.return
}

// STEPS-LABEL: func.func @steps
// STEPS: %[[T:.*]] = nest.alloc "t" : memref<2xindex, 3 : i64>
// STEPS: nest.for "p.first" %[[F:.*]] = 1 to 4 step 3 {
// STEPS-NEXT: %[[Q:.*]] = arith.muli %[[F]], %[[F]] : index
// STEPS: nest.for "p" %p = 1 to 6 step 3 {
// STEPS-NEXT: %[[THREE:.*]] = arith.constant 3 : index
// STEPS-NEXT: %[[NEXT:.*]] = arith.addi %p, %[[THREE]] : index
// STEPS-NEXT: %[[Q:.*]] = arith.muli %[[NEXT]], %[[NEXT]] : index
// STEPS-NEXT: nest.store "t" %[[Q]], %[[T]][(%p + 2) floordiv 3 mod 2] : memref<2xindex, 3 : i64>
// STEPS: nest.load %[[T]][(%p - 1) floordiv 3 mod 2] : memref<2xindex, 3 : i64>
func.func @steps(%y: memref<9xindex>) {
  nest.for "p" %p = 1 to 9 step 3 {
    %q = arith.muli %p, %p : index
    %t = nest.alloc "t" : memref<index, 3 : i64>
    nest.store "t" %q, %t[] : memref<index, 3 : i64>
    %b = nest.load %t[] : memref<index, 3 : i64>
    nest.store "y" %b, %y[%p] : memref<9xindex>
  }
  func.return
}

// BEFORE-LABEL: func.func @two_before
// BEFORE: nest.for "o" %o = 0 to 7 {
// BEFORE-NEXT: %[[A:.*]] = nest.load %x[%o + 1] : memref<10xf32>
// BEFORE-NEXT: nest.store "v" %[[A]], %{{.*}}[(%o + 1) mod 2] : memref<2xf32>
// BEFORE: nest.store "x" {{%\S+}}, %x[%o + 2] : memref<10xf32>
func.func @two_before(%x: memref<10xf32>) {
  nest.for "o" %o = 0 to 8 {
    %v = nest.alloc "v" : memref<f32>
    %a = nest.load %x[%o] : memref<10xf32>
    nest.store "v" %a, %v[] : memref<f32>
    %b = nest.load %v[] : memref<f32>
    nest.store "x" %b, %x[%o + 2] : memref<10xf32>
  }
  func.return
}
