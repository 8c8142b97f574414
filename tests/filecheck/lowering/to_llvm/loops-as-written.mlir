// A loop that is to stay as written, or only stores vectors, is no loop for LLVM's vectorizer; another one is.
// RUN: opt-tool %s -p convert-nest-to-scf,convert-to-llvm | filecheck %s

// CHECK-LABEL: @panels
// CHECK-NOT:   "nestor-loops"
// CHECK-LABEL: @scalar
// CHECK:       "nestor-loops", "scalar"
func.func @panels(%x: memref<64x8xf32>, %y: memref<8x64xf32>, %z: memref<64x16xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "k" %k = 0 to 64 attributes {nestor.as_written} {
    nest.for "r" %r = 0 to 8 unrolled {
      %a = nest.load %x[%k, %r] : memref<64x8xf32>
      nest.store "y" %a, %y[%r, %k] : memref<8x64xf32>
    }
  }
  nest.for "i" %i = 0 to 64 {
    nest.for "j" %j = 0 to 16 vectorized(16) {
      nest.store "z" %zero, %z[%i, %j] : memref<64x16xf32>
    }
  }
  func.return
}

func.func @scalar(%x: memref<64x8xf32>, %y: memref<8x64xf32>) {
  nest.for "k" %k = 0 to 64 {
    nest.for "r" %r = 0 to 8 unrolled {
      %a = nest.load %x[%k, %r] : memref<64x8xf32>
      nest.store "y" %a, %y[%r, %k] : memref<8x64xf32>
    }
  }
  func.return
}
