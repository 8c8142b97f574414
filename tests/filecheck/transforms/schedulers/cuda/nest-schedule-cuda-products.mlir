// A product is computed in tiles: sums in registers, operands in shared memory with zeros at their ends, what is before and after in the tile.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' | filecheck %s

// CHECK-LABEL: func.func @dense
// CHECK: nest.for "i.o" {{%\S+}} = 0 to {{.*}} bind "block.x" {
// CHECK-NEXT: nest.for "j.o" {{%\S+}} = 0 to 4 bind "block.y" {
// CHECK-NEXT: [[S:%\S+]] = nest.alloc "sums" : memref<{{.*}}xf32, 5 : i64>
// CHECK: nest.store "c" %zero, [[S]]{{\[.*\]}} : memref
// The tiles have two parts: while one is multiplied the copies of the next step, zeros at the edges, are under way.
// CHECK: [[X:%\S+]] = nest.alloc "x_tile" : memref<2x16x{{[0-9]+}}xf32, 3 : i64>
// CHECK: [[Y:%\S+]] = nest.alloc "y_tile" : memref<2x16x{{[0-9]+}}xf32, 3 : i64>
// CHECK: unrolled attributes {nestor.async} {
// CHECK: nest.alloc "x_element.1"
// CHECK: nest.store "x_tile" {{%\S+}}, [[X]][0, {{.*}}]
// CHECK: nest.barrier {nestor.copies = 0 : i64}
// CHECK-NEXT: nest.for "k.o" [[K:%\S+]] = 0 to 2 {
// CHECK: unrolled attributes {nestor.async} {
// CHECK: nest.alloc "x_element" :
// CHECK: nest.load %x
// CHECK: nest.store "x_tile" {{%\S+}}, [[X]][([[K]] + 1) mod 2, {{.*}}]
// CHECK: vectorized(4) attributes {nestor.async} {
// CHECK: nest.load %y
// The threads wait once a step, for the copies and for each other.
// CHECK-NOT: nest.barrier
// CHECK: nest.load [[X]][[[K]] mod 2, {{.*}}]
// CHECK: nest.accumulate "c" add {{%\S+}}, [[S]]{{\[[^)]*\]}} : memref
// CHECK: nest.barrier {nestor.copies = 0 : i64}
// CHECK-NOT: nest.barrier
// CHECK: nest.accumulate "c" add {{%\S+}}, [[S]]{{\[[^)]*\]}} : memref
// CHECK: arith.maximumf
// CHECK: nest.store "c" {{%\S+}}, %c{{.*}} where
func.func @dense(%x: memref<?x40xf32> {nest.dims = ["m", 40]}, %y: memref<40x100xf32>, %b: memref<100xf32>, %c: memref<?x100xf32> {nest.role = "out", nest.dims = ["m", 100]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %x, %c0 : memref<?x40xf32>
  nest.for "i" %i = 0 to %m {
    nest.for "j" %j = 0 to 100 {
      nest.store "c" %zero, %c[%i, %j] : memref<?x100xf32>
    }
  }
  nest.for "i.1" %i = 0 to %m {
    nest.for "j.1" %j = 0 to 100 {
      nest.for "k" %k = 0 to 40 {
        %a = nest.load %x[%i, %k] : memref<?x40xf32>
        %w = nest.load %y[%k, %j] : memref<40x100xf32>
        %p = arith.mulf %a, %w : f32
        nest.accumulate "c" add %p, %c[%i, %j] : memref<?x100xf32>
      }
    }
  }
  nest.for "i.2" %i = 0 to %m {
    nest.for "j.2" %j = 0 to 100 {
      %s = nest.load %c[%i, %j] : memref<?x100xf32>
      %v = nest.load %b[%j] : memref<100xf32>
      %t = arith.addf %s, %v : f32
      %u = arith.maximumf %t, %zero : f32
      nest.store "c" %u, %c[%i, %j] : memref<?x100xf32>
    }
  }
  func.return
}
