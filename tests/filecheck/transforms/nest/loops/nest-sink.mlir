// What is loaded and computed before the only loop of a loop moves into it: the two are perfectly nested then.
// RUN: opt-tool %s -p 'nest-sink{loop=i}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-sink{loop=i},nest-hoist{loop=k}' --split-input-file | filecheck %s --check-prefix=BACK

// CHECK-LABEL: @scaled
// CHECK: nest.for "i" [[I:%\S+]] = 0 to 8 {
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[I]]]
// CHECK-NEXT: [[B:%\S+]] = math.exp [[A]]
// CHECK-NEXT: nest.load %y{{\[}}[[K]]]
// BACK-LABEL: @scaled
// BACK: nest.for "i"
// BACK-NEXT: nest.load %x
// BACK-NEXT: math.exp
// BACK-NEXT: nest.for "k"
func.func @scaled(%x: memref<8xf32>, %y: memref<4xf32>, %z: memref<8x4xf32>) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    %b = math.exp %a : f32
    nest.for "k" %k = 0 to 4 {
      %c = nest.load %y[%k] : memref<4xf32>
      %d = arith.mulf %b, %c : f32
      nest.store "z" %d, %z[%i, %k] : memref<8x4xf32>
    }
  }
  func.return
}

// -----

// The loop writes the buffer, but never the element that is loaded.
// CHECK-LABEL: @another_element
// CHECK: nest.for "i"
// CHECK-NEXT: nest.for "k"
// CHECK-NEXT: nest.load %z[0]
// BACK-LABEL: @another_element
func.func @another_element(%z: memref<8xf32>) {
  nest.for "i" %i = 0 to 2 {
    %a = nest.load %z[0] : memref<8xf32>
    nest.for "k" %k = 1 to 8 {
      nest.store "z" %a, %z[%k] : memref<8xf32>
    }
  }
  func.return
}

// -----

// Any number of iterations, from any first one.
// CHECK-LABEL: @unknown
// CHECK:         nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK-NEXT:      nest.for "k" [[K:%\S+]] = 1 to %m {
// CHECK-NEXT:        [[V:%\S+]] = arith.index_cast [[I]]
// CHECK-NEXT:        nest.store "y" [[V]], %y
// BACK-LABEL: @unknown
func.func @unknown(%y: memref<?x?xi64>, %n: index, %m: index) {
  nest.for "i" %i = 0 to %n {
    %v = arith.index_cast %i : index to i64
    nest.for "k" %k = 1 to %m {
      nest.store "y" %v, %y[%i, %k] : memref<?x?xi64>
    }
  }
  func.return
}
