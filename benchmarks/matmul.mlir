// A matrix product as a schedule leaves it: panels packed, a tile of 6 x 64 sums in registers, edges in domains.

func.func @f(%a: memref<?x?xf32> {nest.dims = ["m", "k"]}, %b: memref<?x?xf32> {nest.dims = ["k", "n"]},
             %c: memref<?x?xf32> {nest.role = "out", nest.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %a, %c0 : memref<?x?xf32>
  %kk = memref.dim %a, %c1 : memref<?x?xf32>
  %n = memref.dim %b, %c1 : memref<?x?xf32>
  %c64 = arith.constant 64 : index
  %panels = arith.ceildivsi %n, %c64 : index
  %pb = nest.alloc "pb"(%panels) : memref<?x512x64xf32>
  %pa = nest.alloc "pa" : memref<24x512x6xf32>

  nest.for "i" %i = 0 to %m {
    nest.for "j.o" %o = 0 to %n ceildiv 64 {
      nest.for "j.i" %v = 0 to 64 vectorized(64) {
        nest.store "c" %zero, %c[%i, 64 * %o + %v] where (64 * %o + %v < %n) : memref<?x?xf32>
      }
    }
  }
  nest.for "k.o" %ko = 0 to %kk ceildiv 512 {
    // b, a row at a time, into panels of 64 columns
    nest.for "pb.k" %k = 0 to min(512, %kk - 512 * %ko) {
      nest.for "pb.j.o" %jo = 0 to %n ceildiv 64 {
        nest.for "pb.j.i" %v = 0 to 64 vectorized(64) {
          %x = nest.load %b[512 * %ko + %k, 64 * %jo + %v] : memref<?x?xf32>
          nest.store "pb" %x, %pb[%jo, %k, %v] where (64 * %jo + %v < %n) : memref<?x512x64xf32>
        }
      }
    }
    nest.for "i.o" %io = 0 to %m ceildiv 144 {
      // 144 rows of a into panels of 6
      nest.for "pa.i.o" %ii = 0 to min(24, (%m - 144 * %io) ceildiv 6) {
        nest.for "pa.k" %k = 0 to min(512, %kk - 512 * %ko) {
          nest.for "pa.i.i" %r = 0 to 6 unrolled {
            %x = nest.load %a[144 * %io + 6 * %ii + %r, 512 * %ko + %k] : memref<?x?xf32>
            nest.store "pa" %x, %pa[%ii, %k, %r] where (144 * %io + 6 * %ii + %r < %m) : memref<24x512x6xf32>
          }
        }
      }
      nest.for "j.t" %jo = 0 to %n ceildiv 64 {
        nest.for "i.t" %ii = 0 to min(24, (%m - 144 * %io) ceildiv 6) {
          %acc = nest.alloc "acc" : memref<6x64xf32>
          nest.for "r" %r = 0 to 6 unrolled {
            nest.for "v" %v = 0 to 64 vectorized(64) {
              nest.store "acc" %zero, %acc[%r, %v] : memref<6x64xf32>
            }
          }
          nest.for "k" %k = 0 to min(512, %kk - 512 * %ko) {
            nest.for "r.1" %r = 0 to 6 unrolled {
              nest.for "v.1" %v = 0 to 64 vectorized(64) {
                %x = nest.load %pa[%ii, %k, %r] : memref<24x512x6xf32>
                %y = nest.load %pb[%jo, %k, %v] : memref<?x512x64xf32>
                %p = arith.mulf %x, %y : f32
                nest.accumulate "acc" add %p, %acc[%r, %v] where (144 * %io + 6 * %ii + %r < %m, 64 * %jo + %v < %n) : memref<6x64xf32>
              }
            }
          }
          nest.for "r.2" %r = 0 to 6 unrolled {
            nest.for "v.2" %v = 0 to 64 vectorized(64) {
              %x = nest.load %acc[%r, %v] : memref<6x64xf32>
              nest.accumulate "c" add %x, %c[144 * %io + 6 * %ii + %r, 64 * %jo + %v] where (144 * %io + 6 * %ii + %r < %m, 64 * %jo + %v < %n) : memref<?x?xf32>
            }
          }
        }
      }
    }
  }
  func.return
}
