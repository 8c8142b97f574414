// Lanes a few elements apart: vectors of all elements up to the last lane's, and shuffles; other masks and steps gather.
// RUN: opt-tool %s --split-input-file -p convert-nest-to-scf | filecheck %s

// CHECK-LABEL: @second
// CHECK:       %[[A:.*]] = vector.load %x[%{{.*}}] : memref<8xf32>, vector<4xf32>
// CHECK:       %[[B:.*]] = vector.load %x[%{{.*}}] : memref<8xf32>, vector<4xf32>
// CHECK-NEXT:  vector.shuffle %{{.*}}, %[[B]] [0, 1, 5, 7]
// CHECK-NOT:   gather
func.func @second(%x: memref<8xf32>, %y: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 vectorized(4) {
    %a = nest.load %x[2 * %i + 1] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<4xf32>
  }
  func.return
}

// -----

// Three lanes of four, three elements apart: masks of seven elements, seven less four, and none of the last vector's.
// CHECK-LABEL: @masked
// CHECK:       %[[N:.*]] = arith.muli %{{.*}}, %c3
// CHECK-NEXT:  %[[A:.*]] = arith.subi %[[N]], %c2
// CHECK-NEXT:  %[[AT:.*]] = vector.create_mask %[[A]]
// CHECK-NEXT:  vector.maskedload %x[%{{.*}}], %[[AT]]
// CHECK:       %[[B:.*]] = arith.subi %{{.*}}, %c6
// CHECK-NEXT:  %[[BT:.*]] = vector.create_mask %[[B]]
// CHECK-NEXT:  vector.maskedload %x[%{{.*}}], %[[BT]]
// CHECK:       %[[C:.*]] = arith.subi %{{.*}}, %c8
// CHECK-NEXT:  %[[CT:.*]] = vector.create_mask %[[C]]
// CHECK-NEXT:  vector.maskedload %x[%{{.*}}], %[[CT]]
// CHECK-NOT:   gather
func.func @masked(%x: memref<8xf32>, %y: memref<3xf32>, %n: index) {
  nest.for "i" %i = 0 to min(3, %n) vectorized(4) {
    %a = nest.load %x[3 * %i] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<3xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @apart
// CHECK-COUNT-2: vector.gather
func.func @apart(%x: memref<32xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 vectorized(4) {
    %a = nest.load %x[5 * %i] : memref<32xf32>
    nest.store "y" %a, %y[%i] : memref<4xf32>
    %b = nest.load %x[2 * %i] : memref<32xf32>
    nest.store "z" %b, %z[%i] where (%i >= 1) : memref<4xf32>
  }
  func.return
}

// -----

// One element of each of several rows of two that lie side by side, such as the parts of complex numbers: the same.
// CHECK-LABEL: @rows
// CHECK:       %[[A:.*]] = vector.load %x[%{{.*}}, %{{.*}}] : memref<?x2xf64>, vector<4xf64>
// CHECK:       %[[B:.*]] = vector.load %x[%{{.*}}, %{{.*}}] : memref<?x2xf64>, vector<4xf64>
// CHECK-NEXT:  vector.shuffle %{{.*}}, %[[B]] [0, 1, 5, 7]
// CHECK-NOT:   gather
func.func @rows(%x: memref<?x2xf64>, %y: memref<4xf64>) {
  nest.for "i" %i = 0 to 4 vectorized(4) {
    %a = nest.load %x[%i + 3, 1] : memref<?x2xf64>
    nest.store "y" %a, %y[%i] : memref<4xf64>
  }
  func.return
}

// -----

// Rows that are far apart are gathered, and so are rows of more than two elements.
// CHECK-LABEL: @far_rows
// CHECK-COUNT-2: vector.gather
func.func @far_rows(%x: memref<8x2xf64, strided<[16, 1]>>, %z: memref<8x3xf64>, %y: memref<4xf64>) {
  nest.for "i" %i = 0 to 4 vectorized(4) {
    %a = nest.load %x[%i, 1] : memref<8x2xf64, strided<[16, 1]>>
    nest.store "y" %a, %y[%i] : memref<4xf64>
    %b = nest.load %z[%i, 1] : memref<8x3xf64>
    nest.store "y" %b, %y[%i] : memref<4xf64>
  }
  func.return
}
