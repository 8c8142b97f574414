// Stores that leave out the last element of a window when the extent is odd: copying the window back would write what was never there.
// RUN: opt-tool %s -p 'nest-stage-mem{buffer=y loop=o}' --split-input-file --verify-diagnostics

func.func @pairs(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  // expected-error @below {{cannot stage the buffer "y" in the loop "o": it is not proved that the loop writes all of the copy before it reads it, and they may never have been written: it is a result}}
  nest.for "o" %o = 0 to %n floordiv 2 ceildiv 4 {
    nest.for "i" %i = 0 to min(4, %n floordiv 2 - 4 * %o) {
      %a = nest.load %x[8 * %o + 2 * %i] : memref<?xf64>
      nest.store "y" %a, %y[8 * %o + 2 * %i] : memref<?xf64>
      nest.store "y" %a, %y[8 * %o + 2 * %i + 1] : memref<?xf64>
    }
  }
  func.return
}

// -----

// All pairs are whole: nothing is left out.
func.func @even(%x: memref<64xf64>, %y: memref<64xf64> {nest.role = "out"}) {
  nest.for "o" %o = 0 to 8 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[8 * %o + 2 * %i] : memref<64xf64>
      nest.store "y" %a, %y[8 * %o + 2 * %i] : memref<64xf64>
      nest.store "y" %a, %y[8 * %o + 2 * %i + 1] : memref<64xf64>
    }
  }
  func.return
}
