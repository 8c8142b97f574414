// RUN: opt-tool %s -p nest-schedule-cuda --split-input-file | filecheck %s
// Elementwise nests share kernels: temporaries are computed where they are read, neighbours become one nest.

// Joining x and 2 y along the columns: one kernel without a temporary, whose first columns do both.
// CHECK-LABEL: @joined
// CHECK-NOT: nest.alloc
// CHECK: bind "block.y"
// CHECK: nest.store "z" {{.*}}, %z[{{[^,]*}}, [[J:.*]]]
// CHECK: nest.load %y
// CHECK: nest.store "z" {{.*}}, %z[{{[^,]*}}, {{.*}} + 128] where (
// CHECK-NOT: bind "block.y"
// CHECK: return
func.func @joined(%x: memref<64x128xf32>, %y: memref<64x64xf32>, %z: memref<64x192xf32>) {
  %two = arith.constant 2.0 : f32
  %t = nest.alloc "t" : memref<64x64xf32>
  nest.for "i" %i = 0 to 64 {
    nest.for "j" %j = 0 to 64 {
      %a = nest.load %y[%i, %j] : memref<64x64xf32>
      %b = arith.mulf %a, %two : f32
      nest.store "t" %b, %t[%i, %j] : memref<64x64xf32>
    }
  }
  nest.for "i.1" %k = 0 to 64 {
    nest.for "j.1" %l = 0 to 128 {
      %c = nest.load %x[%k, %l] : memref<64x128xf32>
      nest.store "z" %c, %z[%k, %l] : memref<64x192xf32>
    }
  }
  nest.for "i.2" %m = 0 to 64 {
    nest.for "j.2" %n = 0 to 64 {
      %d = nest.load %t[%m, %n] : memref<64x64xf32>
      nest.store "z" %d, %z[%m, %n + 128] : memref<64x192xf32>
    }
  }
  func.return
}

// -----

// Two nests of unlike shapes: the box around both has many more iterations than they have, so that they stay two kernels.
// CHECK-LABEL: @unlike
// CHECK: nest.store "y"
// CHECK: bind "block.x"
// CHECK: nest.store "z"
func.func @unlike(%x: memref<1000x2xf32>, %y: memref<1000x2xf32>, %w: memref<2x1000xf32>, %z: memref<2x1000xf32>) {
  nest.for "i" %i = 0 to 1000 {
    nest.for "j" %j = 0 to 2 {
      %a = nest.load %x[%i, %j] : memref<1000x2xf32>
      nest.store "y" %a, %y[%i, %j] : memref<1000x2xf32>
    }
  }
  nest.for "k" %k = 0 to 2 {
    nest.for "l" %l = 0 to 1000 {
      %b = nest.load %w[%k, %l] : memref<2x1000xf32>
      nest.store "z" %b, %z[%k, %l] : memref<2x1000xf32>
    }
  }
  func.return
}

// -----

// The second nest reads neighbours of what the first one writes, which is a result: blocks cannot wait for each other.
// CHECK-LABEL: @neighbours
// CHECK: nest.store "y"
// CHECK: bind "block.x"
// CHECK: nest.store "z"
func.func @neighbours(%x: memref<1000xf32>, %y: memref<1000xf32>, %z: memref<1000xf32>) {
  nest.for "i" %i = 0 to 1000 {
    %a = nest.load %x[%i] : memref<1000xf32>
    %b = math.exp %a : f32
    nest.store "y" %b, %y[%i] : memref<1000xf32>
  }
  nest.for "j" %j = 1 to 1000 {
    %c = nest.load %y[%j - 1] : memref<1000xf32>
    nest.store "z" %c, %z[%j] : memref<1000xf32>
  }
  func.return
}

// -----

// An exponential that three elements need is not computed three times.
// CHECK-LABEL: @kept
// CHECK: nest.alloc "t"
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @kept(%x: memref<1000xf32>, %z: memref<1000xf32>) {
  %t = nest.alloc "t" : memref<1000xf32>
  nest.for "i" %i = 0 to 1000 {
    %a = nest.load %x[%i] : memref<1000xf32>
    %b = math.exp %a : f32
    nest.store "t" %b, %t[%i] : memref<1000xf32>
  }
  nest.for "j" %j = 1 to 999 {
    %c = nest.load %t[%j - 1] : memref<1000xf32>
    %d = nest.load %t[%j] : memref<1000xf32>
    %e = nest.load %t[%j + 1] : memref<1000xf32>
    %f = arith.addf %c, %d : f32
    %g = arith.addf %f, %e : f32
    nest.store "z" %g, %z[%j] : memref<1000xf32>
  }
  func.return
}
