// Loops whose iterations threads may run in any order; buffers made inside are private.
// RUN: opt-tool %s -p 'nest-parallel{loop=i grain=64}' --split-input-file | filecheck %s

// CHECK-LABEL: @rows
// CHECK: nest.for "i" {{%\S+}} = 1 to %n parallel attributes {nestor.grain = 64 : i64} {
func.func @rows(%n: index, %x: memref<?x8xf32>, %y: memref<?xf32>) {
  nest.for "i" %i = 1 to %n {
    %t = nest.alloc "t" : memref<8xf32>
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%i, %j] : memref<?x8xf32>
      nest.store "t" %a, %t[7 - %j] : memref<8xf32>
      nest.accumulate "y" add %a, %y[%i - 1] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Elements apart: even ones are written, odd ones read.
// CHECK-LABEL: @apart
// CHECK: nest.for "i" {{%\S+}} = 0 to %n parallel
func.func @apart(%n: index, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %y[2 * %i + 3] : memref<?xf32>
    nest.store "y" %a, %y[2 * %i] : memref<?xf32>
  }
  func.return
}

// -----

// Chunks of a size that only the run time knows: multiples of it are at least that far apart.
// CHECK-LABEL: @chunks
// CHECK: nest.for "i" {{%\S+}} = 0 to 8 parallel
func.func @chunks(%n: index, %size: index, %x: f32, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to 8 {
    %start = arith.muli %i, %size : index
    nest.for "j" %j = %start to min(%start + %size, %n) {
      nest.store "y" %x, %y[%j] : memref<?xf32>
    }
  }
  func.return
}
