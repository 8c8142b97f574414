// A buffer that is both operands of a product: only what moves with one loop is copied.
// RUN: opt-tool %s -p 'nest-cache-read{buffer=x loop=j.o axes=1,0 along=j.i}' | filecheck %s
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=x loop=j.o along=z}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=x loop=j.o along=l}' 2>&1 | filecheck %s --check-prefix=STILL
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=x loop=j.o along=j.i axis=1}' 2>&1 | filecheck %s --check-prefix=AXIS
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=x loop=j.o axis=1}' 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=x loop=j.o along=j.i axis=2}' 2>&1 | filecheck %s --check-prefix=RANK

// CHECK: nest.for "j.o" [[O:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "x_local" : memref<5x16xf32>
// CHECK: nest.load %x[16 * [[O]] + {{%\S+}}, {{%\S+}}]
// CHECK: nest.for "i"
// CHECK: nest.load %x[[[I:%\S+]], [[K:%\S+]]] : memref<64x5xf32>
// CHECK-NEXT: nest.load [[C]][[[K]], {{%\S+}}] : memref<5x16xf32>
// NAME: error: cannot cache what is read of the buffer "x" in the loop "j.o": there is no loop "z" in it
// STILL: error: cannot cache what is read of the buffer "x" in the loop "j.o": no read of it moves with the loop "l"
// AXIS: error: cannot cache what is read of the buffer "x" in the loop "j.o": no read of it moves with the loop "j.i" along axis 1
// ALONE: error: cannot cache what is read of the buffer "x" in the loop "j.o": an axis is given, and no loop along it
// RANK: error: cannot cache what is read of the buffer "x" in the loop "j.o": there is no axis 2
func.func @gram(%x: memref<64x5xf32>, %y: memref<64x64xf32>) {
  nest.for "j.o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 64 {
      nest.for "k" %k = 0 to 5 {
        nest.for "j.i" %v = 0 to 16 {
          nest.for "l" %l = 0 to 1 {
            %a = nest.load %x[%i, %k] : memref<64x5xf32>
            %b = nest.load %x[16 * %o + %v, %k] : memref<64x5xf32>
            %p = arith.mulf %a, %b : f32
            nest.accumulate "y" add %p, %y[%i, 16 * %o + %v] : memref<64x64xf32>
          }
        }
      }
    }
  }
  func.return
}
