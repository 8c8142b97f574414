// Buffers whose size only the run knows: the host makes them, and keeps the loops around them.
// RUN: opt-tool %s -p convert-nest-to-gpu | filecheck %s

// A buffer as big as an element of another says: the host reads it back.
// CHECK-LABEL: func.func @sized
// CHECK: [[N:%\w+]] = memref.load %p
// CHECK: [[SIZE:%\w+]] = arith.index_cast [[N]]
// CHECK: [[T:%\w+]] = memref.alloc([[SIZE]])
// CHECK: gpu.launch_func {{.*}}args([[T]] : memref<?xf64>, [[SIZE]] : index)
// CHECK: memref.dealloc [[T]]
func.func @sized(%p: memref<1xi64>, %out: memref<1xf64> {nest.role = "out"}) {
  %n = nest.load %p[0] : memref<1xi64>
  %0 = arith.index_cast %n : i64 to index
  %t = nest.alloc "t"(%0) : memref<?xf64>
  %1 = arith.constant 1.0 : f64
  nest.for "i" %i = 0 to %0 {
    nest.store "t" %1, %t[%i] : memref<?xf64>
  }
  %2 = nest.load %t[0] : memref<?xf64>
  nest.store "out" %2, %out[0] : memref<1xf64>
  func.return
}

// A loop around such a buffer stays on the host.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: scf.for [[I:%\w+]] =
// CHECK: [[T:%\w+]] = memref.alloc([[I]])
// CHECK: gpu.launch_func {{.*}}args([[T]]
// CHECK: gpu.launch_func
// CHECK: memref.dealloc [[T]]
func.func @in_a_loop(%n: index, %out: memref<?xf64> {nest.role = "out"}) {
  nest.for "i" %i = 0 to %n {
    %t = nest.alloc "t"(%i) : memref<?xf64>
    %1 = arith.constant 1.0 : f64
    nest.for "j" %j = 0 to %i {
      nest.store "t" %1, %t[%j] : memref<?xf64>
    }
    nest.for "k" %k = 0 to %i {
      %2 = nest.load %t[%k] : memref<?xf64>
      nest.store "out" %2, %out[%k] : memref<?xf64>
    }
  }
  func.return
}
