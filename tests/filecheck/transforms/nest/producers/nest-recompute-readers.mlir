// The copies may have several readers, which need not follow each other.
// RUN: opt-tool %s -p 'nest-recompute{loops=a,first,second readers=2}' | filecheck %s

// CHECK-LABEL: @readers
// CHECK: [[T:%\S+]] = nest.alloc "t" : memref<8xf32>
// CHECK: [[U:%\S+]] = nest.alloc "t.1" : memref<8xf32>
// CHECK: nest.for "first"
// CHECK-NEXT: nest.load [[U]]
// CHECK: nest.for "between"
// CHECK-NEXT: nest.load [[T]]
// CHECK: nest.for "second"
// CHECK-NEXT: nest.load [[U]]
func.func @readers(%x: memref<8xf32>, %y: memref<3x8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "first" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[0, %i] : memref<3x8xf32>
  }
  nest.for "between" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[1, %i] : memref<3x8xf32>
  }
  nest.for "second" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[2, %i] : memref<3x8xf32>
  }
  func.return
}
