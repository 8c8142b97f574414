// With within=nest buffers share memory where one nest uses both, and not because one of them is not needed any more.
// RUN: opt-tool %s -p 'nest-reuse-buffers{order=free within=nest}' | filecheck %s

// CHECK-LABEL: @f
// CHECK: [[A:%\S+]] = nest.alloc "a"
// CHECK: nest.store "a" {{%\S+}}, [[A]]
// "b" is computed of "a", element by element: it takes its memory.
// CHECK: nest.load [[A]]
// CHECK: nest.store "b" {{%\S+}}, [[A]]
// CHECK: nest.load [[A]]
// CHECK: nest.store "y"
// "c" could have that memory now, and has its own.
// CHECK: [[C:%\S+]] = nest.alloc "c"
// CHECK: nest.store "c" {{%\S+}}, [[C]]
func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %a = nest.alloc "a" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "a" %v, %a[%i] : memref<8xf32>
  }
  %b = nest.alloc "b" : memref<8xf32>
  nest.for "j" %i = 0 to 8 {
    %v = nest.load %a[%i] : memref<8xf32>
    %w = arith.addf %v, %v : f32
    nest.store "b" %w, %b[%i] : memref<8xf32>
  }
  nest.for "k" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xf32>
    nest.store "y" %v, %y[7 - %i] : memref<8xf32>
  }
  %c = nest.alloc "c" : memref<8xf32>
  nest.for "l" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "c" %v, %c[%i] : memref<8xf32>
  }
  nest.for "m" %i = 0 to 8 {
    %v = nest.load %c[%i] : memref<8xf32>
    nest.store "z" %v, %z[7 - %i] : memref<8xf32>
  }
  func.return
}
