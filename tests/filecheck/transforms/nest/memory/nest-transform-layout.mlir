// The elements of a buffer in another order: every access follows, and divisions that are known are done.
// RUN: opt-tool %s -p 'nest-transform-layout{buffer=u layout="k j -> j/16 k j%16"}' --split-input-file | filecheck %s --check-prefixes=CHECK,BLOCK
// RUN: opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> j i" pad=0,4}' --split-input-file | filecheck %s --check-prefixes=CHECK,SWAP
// RUN: opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> i (i+j)%24"}' --split-input-file | filecheck %s --check-prefixes=CHECK,TURN

// CHECK-LABEL: @panels
// BLOCK: [[M:%\S+]] = arith.ceildivsi %n
// BLOCK: %u = nest.alloc "u"([[M]]) : memref<?x8x16xf32>
// BLOCK: nest.store "u" {{%\S+}}, %u[%o, %k, %v] : memref<?x8x16xf32>
// BLOCK: nest.load %u[%j floordiv 16, %l, %j mod 16]
// SWAP: %u = nest.alloc "u"(%n) : memref<?x12xf32>
// SWAP: nest.store "u" {{%\S+}}, %u[16 * %o + %v, %k]
// SWAP: nest.load %u[%j, %l]
// TURN: %u = nest.alloc "u" : memref<8x24xf32>
// TURN: nest.load %u[%l, (%l + %j) mod 24]
func.func @panels(%x: memref<8x?xf32> {nest.dims = [8, "n"]}, %y: memref<8x?xf32> {nest.role = "out", nest.dims = [8, "n"]}) {
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %d = memref.dim %x, %c1 : memref<8x?xf32>
  %n = arith.minsi %d, %c20 : index
  %u = nest.alloc "u"(%n) : memref<8x?xf32>
  nest.for "k" %k = 0 to 8 {
    nest.for "o" %o = 0 to %n ceildiv 16 {
      nest.for "v" %v = 0 to min(16, %n - 16 * %o) {
        %a = nest.load %x[%k, 16 * %o + %v] : memref<8x?xf32>
        nest.store "u" %a, %u[%k, 16 * %o + %v] : memref<8x?xf32>
      }
    }
  }
  nest.for "l" %l = 0 to 8 {
    nest.for "j" %j = 1 to %n {
      %a = nest.load %u[%l, %j] : memref<8x?xf32>
      nest.store "y" %a, %y[%l, %j] : memref<8x?xf32>
    }
  }
  func.return
}

// -----

// Static extents that the blocks do not divide, an accumulate with a domain, and the extent that the program asks for.
// CHECK-LABEL: @uneven
// BLOCK: nest.alloc "u" : memref<2x3x16xi32>
// BLOCK: nest.store "u" {{%\S+}}, %u[0, 2, %i] : memref<2x3x16xi32>
// BLOCK: nest.accumulate "u" add {{%\S+}}, %u[0, %i, %i] where (%i < 3) : memref<2x3x16xi32>
// SWAP: nest.alloc "u" : memref<20x7xi32>
// SWAP: nest.accumulate "u" add {{%\S+}}, %u[%i, %i] where (%i < 3)
// TURN: nest.alloc "u" : memref<3x22xi32>
// CHECK: [[E:%\S+]] = arith.constant 20 : index
// CHECK: arith.index_cast [[E]]
// CHECK-NOT: memref.dim
func.func @uneven(%y: memref<1xi64>) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %u = nest.alloc "u" : memref<3x20xi32>
  nest.for "i" %i = 0 to 15 {
    nest.store "u" %one, %u[2, %i] : memref<3x20xi32>
    nest.accumulate "u" add %one, %u[%i, %i] where (%i < 3) : memref<3x20xi32>
  }
  %d = memref.dim %u, %c1 : memref<3x20xi32>
  %e = arith.index_cast %d : index to i64
  nest.store "y" %e, %y[0] : memref<1xi64>
  func.return
}
