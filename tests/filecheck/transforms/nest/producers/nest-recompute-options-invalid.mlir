// As many readers as there are loops, or none.
// RUN: opt-tool %s -p 'nest-recompute{loops=a,rows readers=2}' --verify-diagnostics

func.func @readers(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot do nests again for 2 of 2 loops: each kind has at least one}}
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}
