// Stores that go on to the next element are non-temporal: also to unknown extents, from any start.
// RUN: opt-tool %s -p 'nest-stream{loop=i buffer=y}' | filecheck %s

// CHECK-LABEL: func.func @f
func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %n: index) {
  nest.for "i" %i = 3 to %n {
    %v = nest.load %x[%i] : memref<?xf32>
    // CHECK: nest.store "y" %{{.*}}, %y[%{{.*}}] {nestor.nontemporal} : memref<?xf32>
    nest.store "y" %v, %y[%i] : memref<?xf32>
    // CHECK: nest.store "z" %{{.*}}, %z[%{{.*}}] : memref<?xf32>
    nest.store "z" %v, %z[%i] : memref<?xf32>
    // CHECK: nest.store "y2" %{{.*}}, %y[2 * %{{.*}}] : memref<?xf32>
    nest.store "y2" %v, %y[2 * %i] : memref<?xf32>
  }
  func.return
}
