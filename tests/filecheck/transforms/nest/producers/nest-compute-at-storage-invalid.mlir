// A buffer whose layout is given cannot be made smaller.
// RUN: opt-tool %s -p 'nest-compute-at{buffer=t loop=o storage=here}' --split-input-file --verify-diagnostics

func.func @layout(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32, strided<[2]>>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32, strided<[2]>>
  }
  // expected-error @below {{its layout is fixed, and a smaller buffer has another}}
  nest.for "o" %o = 0 to 8 {
    %p = nest.load %t[%o] : memref<8xf32, strided<[2]>>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}
