// What is read across what is written: tiles of sixteen rows, read as rows, in long stretches of what is read.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s
// RUN: opt-tool %s -p nest-schedule-cpu{machine=x86-64-v3} | filecheck %s --check-prefix=AVX2

// CHECK-LABEL: func.func @transpose
// CHECK: nest.for "j.o" {{.*}} parallel
// CHECK-NEXT: nest.for "i.o"
// CHECK-NEXT: nest.for "j.i.o"
// CHECK-NEXT: nest.for "i.i.o"
// CHECK-NEXT: nest.for "i.i.i" {{.*}} unrolled
// CHECK-NEXT: nest.for "j.i.i" {{.*}} vectorized(16)
// CHECK: {nestor.nontemporal}
// AVX2-LABEL: func.func @transpose
// AVX2: nest.for "i.i.i" %{{.+}} = 0 to 8 unrolled
// AVX2-NEXT: nest.for "j.i.i" %{{.+}} = 0 to 16 vectorized(16)
func.func @transpose(%x: memref<4096x4096xf32>, %y: memref<4096x4096xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 4096 {
    nest.for "j" %j = 0 to 4096 {
      %a = nest.load %x[%j, %i] : memref<4096x4096xf32>
      nest.store "y" %a, %y[%i, %j] : memref<4096x4096xf32>
    }
  }
  func.return
}

// Batches are around the tiles; other operands lie along the lanes. A result that fits into the caches stays there.
// CHECK-LABEL: func.func @batched
// CHECK: nest.for "b"
// CHECK-NEXT: nest.for "j.o"
// CHECK: nest.for "i.i.i" {{.*}} unrolled
// CHECK-NEXT: nest.for "j.i.i" {{.*}} vectorized(16)
// CHECK-NOT: nontemporal
func.func @batched(%x: memref<8x100x200xf32>, %z: memref<8x200x100xf32>, %y: memref<8x200x100xf32> {nest.role = "out"}) {
  nest.for "b" %b = 0 to 8 {
    nest.for "i" %i = 0 to 200 {
      nest.for "j" %j = 0 to 100 {
        %a = nest.load %x[%b, %j, %i] : memref<8x100x200xf32>
        %c = nest.load %z[%b, %i, %j] : memref<8x200x100xf32>
        %d = arith.addf %a, %c : f32
        nest.store "y" %d, %y[%b, %i, %j] : memref<8x200x100xf32>
      }
    }
  }
  func.return
}

// Three columns are too few for tiles.
// CHECK-LABEL: func.func @few
// CHECK-NOT: unrolled
func.func @few(%x: memref<1000x3xf32>, %y: memref<3x1000xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 3 {
    nest.for "j" %j = 0 to 1000 {
      %a = nest.load %x[%j, %i] : memref<1000x3xf32>
      nest.store "y" %a, %y[%i, %j] : memref<3x1000xf32>
    }
  }
  func.return
}

// Extents known at run time: whether the result is large is asked then, where the store is made.
// CHECK-LABEL: func.func @dynamic
// CHECK: nest.for "j.i.i" %{{.+}} = 0 to min(16, {{.*}}) vectorized(16)
// CHECK: nest.store "y" {{.*}} {nestor.nontemporal} : memref<?x?xf32>
func.func @dynamic(%n: index, %m: index, %x: memref<?x?xf32>, %y: memref<?x?xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %v = nest.load %x[%j, %i] : memref<?x?xf32>
      nest.store "y" %v, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}
