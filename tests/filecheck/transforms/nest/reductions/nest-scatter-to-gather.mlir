// What a loop adds to elements around its iteration is gathered by each element: the core, and what is around it.
// RUN: opt-tool %s -p 'nest-scatter-to-gather{buffer=x loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i" %[[P:.+]] = 2 to %n - 1 {
// CHECK-NEXT: %[[A:.+]] = nest.load %c[%[[P]] + 1]
// CHECK-NEXT: %[[B:.+]] = nest.load %c[%[[P]] - 1]
// CHECK-NEXT: %[[S:.+]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: nest.accumulate "x" add %[[S]], %x[%[[P]]] : memref<?xf32>
// CHECK: nest.for "i.1" %[[Q:.+]] = 0 to min(2, %n + 1) {
// CHECK-NEXT: %[[A:.+]] = nest.load %c[%[[Q]] + 1]
// CHECK-NEXT: nest.accumulate "x" add %[[A]], %x[%[[Q]]] where (%[[Q]] >= 0, %[[Q]] < %n - 1)
// CHECK-NEXT: %[[B:.+]] = nest.load %c[%[[Q]] - 1]
// CHECK-NEXT: nest.accumulate "x" add %[[B]], %x[%[[Q]]] where (%[[Q]] >= 2, %[[Q]] < %n + 1)
// CHECK: nest.for "i.2" {{.*}} = max(2, %n - 1) to %n + 1 {
// CHECK-NOT: nest.for
func.func @symbolic(%n: index, %c: memref<?xf32>, %x: memref<?xf32>) {
  nest.for "i" %i = 1 to %n {
    %g = nest.load %c[%i] : memref<?xf32>
    nest.accumulate "x" add %g, %x[%i - 1] : memref<?xf32>
    nest.accumulate "x" add %g, %x[%i + 1] : memref<?xf32>
  }
  func.return
}

// -----

// The sums move before the clearing of what is added; the loop of that stays. In a time loop, too.
// CHECK-LABEL: @cleared
// CHECK: nest.for "t"
// CHECK-NEXT: nest.for "i.1" %[[P:.+]] = 2 to 9 {
// CHECK: nest.for "i.2" {{.*}} = 0 to 2
// CHECK: nest.for "i.3" {{.*}} = 9 to 11
// CHECK: nest.for "i" %[[I:.+]] = 1 to 10 {
// CHECK-NEXT: nest.store "c" %zero, %c[%[[I]]]
// CHECK-NEXT: }
func.func @cleared(%c: memref<11xf64>, %x: memref<11xf64>) {
  %zero = arith.constant 0.0 : f64
  nest.for "t" %t = 0 to 3 {
    nest.for "i" %i = 1 to 10 {
      %g = nest.load %c[%i] : memref<11xf64>
      nest.store "c" %zero, %c[%i] : memref<11xf64>
      nest.accumulate "x" add %g, %x[%i - 1] : memref<11xf64>
      nest.accumulate "x" add %g, %x[%i + 1] : memref<11xf64>
    }
  }
  func.return
}

// -----

// What is added is made in the same iteration: the sums move behind the loop.
// CHECK-LABEL: @made
// CHECK: nest.for "i" %[[I:.+]] = 0 to 8 {
// CHECK-NEXT: nest.store "c" %v, %c[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: nest.for "i.1" %[[P:.+]] = 0 to 8 {
// CHECK-NEXT: %[[A:.+]] = nest.load %c[7 - %[[P]]]
// CHECK-NEXT: nest.accumulate "x" add %[[A]], %x[%[[P]]]
func.func @made(%v: i32, %c: memref<8xi32>, %x: memref<8xi32>) {
  nest.for "i" %i = 0 to 8 {
    nest.store "c" %v, %c[%i] : memref<8xi32>
    %g = nest.load %c[%i] : memref<8xi32>
    nest.accumulate "x" add %g, %x[7 - %i] : memref<8xi32>
  }
  func.return
}

// -----

// Several iterations add to one element: the loop that elements do not decide stays inside.
// CHECK-LABEL: @window
// CHECK: nest.for "i" %[[P:.+]] = 2 to %n {
// CHECK-NEXT: nest.for "k" %[[K:.+]] = 0 to 3 {
// CHECK-NEXT: nest.load %c[%[[P]] - %[[K]]]
// CHECK-NEXT: nest.load %w[%[[K]]]
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: nest.accumulate "x" add {{.*}}, %x[%[[P]]] : memref<?xf32>
// CHECK: nest.for "i.1" %{{.*}} = 0 to min(2, %n + 2) {
// CHECK-NEXT: nest.for "k.1"
// CHECK: where (%[[L:.+]] < %[[Q:.+]] + 1, %[[Q]] < %[[L]] + %n)
func.func @window(%n: index, %c: memref<?xf32>, %w: memref<3xf32>, %x: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.for "k" %k = 0 to 3 {
      %g = nest.load %c[%i] : memref<?xf32>
      %f = nest.load %w[%k] : memref<3xf32>
      %p = arith.mulf %g, %f : f32
      nest.accumulate "x" add %p, %x[%i + %k] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Every second element, and those between them; terms that have a domain.
// CHECK-LABEL: @strided
// CHECK: nest.for "i" %[[P:.+]] = 1 to 4 {
// CHECK: nest.accumulate "x" add {{.*}}, %x[2 * %[[P]]] :
// CHECK: nest.for "i.1" {{.*}} = 0 to 1
// CHECK: nest.for "i.2" {{.*}} = 4 to 5
// CHECK: nest.for "i.3" %[[Q:.+]] = 0 to 4 {
// CHECK: nest.accumulate "x" add {{.*}}, %x[2 * %[[Q]] + 1] where (%[[Q]] >= 2)
func.func @strided(%c: memref<5xi64>, %x: memref<12xi64>) {
  nest.for "i" %i = 0 to 4 {
    %g = nest.load %c[%i] : memref<5xi64>
    nest.accumulate "x" add %g, %x[2 * %i] : memref<12xi64>
    nest.accumulate "x" add %g, %x[2 * %i + 2] : memref<12xi64>
    nest.accumulate "x" add %g, %x[2 * %i + 1] where (%i >= 2) : memref<12xi64>
  }
  func.return
}

// -----

// Bounds of one loop depend on another: elements have them, too.
// CHECK-LABEL: @triangle
// CHECK: nest.for "i" %[[I:.+]] = 1 to %n - 1 {
// CHECK-NEXT: nest.for "j" %[[J:.+]] = 0 to %[[I]] {
// CHECK: nest.accumulate "x" add {{.*}}, %x[%[[I]], %[[J]]] : memref<?x?xf64>
func.func @triangle(%n: index, %c: memref<?x?xf64>, %x: memref<?x?xf64>) {
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 0 to %i {
      %g = nest.load %c[%i, %j] : memref<?x?xf64>
      nest.accumulate "x" add %g, %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "x" add %g, %x[%i - 1, %j] : memref<?x?xf64>
    }
  }
  func.return
}
