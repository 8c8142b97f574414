// Sums over several loops on the CPU: blocks of the result with their part of the image, tiles with what follows.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s
// RUN: opt-tool %s -p nest-schedule-cpu{machine=x86-64-v3} | filecheck %s --check-prefix=NARROW
// RUN: opt-tool %s -p nest-schedule-cpu{l2-kib=48} | filecheck %s --check-prefix=SMALL

// Channels first: the sums of a tile have channels last, and are turned as they leave the registers.
// CHECK-LABEL: func.func @first
// CHECK:       %[[W:.*]] = nest.alloc "panel" : memref<2x16x3x3x32xf32>
// CHECK:       nest.for "b.2_i.3.o" {{.*}} = 0 to 32 parallel
// CHECK:           %[[P:.*]] = nest.alloc "p" : memref<1x16x16x58xf32>
// CHECK:           nest.for "i.3.i" %[[I:.*]] = 0 to 14 {
// CHECK-NEXT:        nest.for "j.3.o" %[[J:.*]] = 0 to 4 {
// CHECK-NEXT:          nest.for "k.3.o" %[[K:.*]] = 0 to 2 {
// CHECK-NEXT:            %[[T:.*]] = nest.alloc "t" : memref<1x1x14x32xf32>
// CHECK:                 nest.store "t" %zero, %[[T]]
// CHECK:                 nest.for "u.at" %[[U:.*]] = 0 to 3 {
// CHECK-NEXT:              nest.for "v.at" %[[V:.*]] = 0 to 3 {
// CHECK-NEXT:                nest.for "c.1.at" %[[C:.*]] = 0 to 16 {
// CHECK:                       nest.for "j.1.i.at" %[[R:.*]] = 0 to 14 unrolled {
// CHECK-NEXT:                    nest.for "k.1.i.at" %[[L:.*]] = 0 to 32 vectorized(32) {
// CHECK-NEXT:                      nest.load %[[P]][0, %[[C]], %[[I]] + %[[U]], 14 * %[[J]] + %[[R]] + %[[V]]]
// CHECK-NEXT:                      nest.load %[[W]][%[[K]], %[[C]], %[[U]], %[[V]], %[[L]]]
// CHECK:                           nest.accumulate "t" add %{{.*}}, %[[T]][0, 0, %[[R]], %[[L]]]
// CHECK:                 nest.for "k.3.i" %[[L:.*]] = 0 to 32 unrolled {
// CHECK-NEXT:              nest.for "j.3.i" %[[R:.*]] = 0 to 14 vectorized(16) {
// CHECK-NEXT:                nest.load %[[T]][0, 0, %[[R]], %[[L]]]
// CHECK-NEXT:                nest.store "y"
// In a cache that has room for the weights of a tile and not for all, a block, which is one row then, is done with these first.
// SMALL-LABEL: func.func @first
// SMALL:       nest.for "b.2_i.3" %{{.*}} = 0 to 448 parallel
// SMALL:         nest.for "k.3.o" %{{.*}} = 0 to 2 {
// SMALL-NEXT:      nest.for "j.3.o" %{{.*}} = 0 to 4 {
// SMALL-NEXT:        nest.alloc "t" : memref<1x1x14x32xf32>
// NARROW-LABEL: func.func @first
// NARROW:      nest.for "j.1.i.at" %{{.*}} = 0 to 6 unrolled
// NARROW-NEXT:   nest.for "k.1.i.at" %{{.*}} = 0 to 16 vectorized(16)
func.func @first(%x: memref<8x16x56x56xf32>, %w: memref<64x16x3x3xf32>, %y: memref<8x64x56x56xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %p = nest.alloc "p" : memref<8x16x58x58xf32>
  nest.for "b" %b = 0 to 8 {
    nest.for "c" %c = 0 to 16 {
      nest.for "i" %i = 0 to 58 {
        nest.for "j" %j = 0 to 58 {
          nest.store "p" %zero, %p[%b, %c, %i, %j] : memref<8x16x58x58xf32>
          %e = nest.load %x[%b, %c, %i - 1, %j - 1] : memref<8x16x56x56xf32>
          nest.store "p" %e, %p[%b, %c, %i, %j] where (%i >= 1, %i < 57, %j >= 1, %j < 57) : memref<8x16x58x58xf32>
        }
      }
    }
  }
  %t = nest.alloc "t" : memref<8x56x56x64xf32>
  nest.for "b.0" %b = 0 to 8 {
    nest.for "i.0" %i = 0 to 56 {
      nest.for "j.0" %j = 0 to 56 {
        nest.for "k.0" %k = 0 to 64 {
          nest.store "t" %zero, %t[%b, %i, %j, %k] : memref<8x56x56x64xf32>
        }
      }
    }
  }
  nest.for "b.1" %b = 0 to 8 {
    nest.for "i.1" %i = 0 to 56 {
      nest.for "j.1" %j = 0 to 56 {
        nest.for "k.1" %k = 0 to 64 {
          nest.for "c.1" %c = 0 to 16 {
            nest.for "u" %u = 0 to 3 {
              nest.for "v" %v = 0 to 3 {
                %e = nest.load %p[%b, %c, %i + %u, %j + %v] : memref<8x16x58x58xf32>
                %f = nest.load %w[%k, %c, %u, %v] : memref<64x16x3x3xf32>
                %g = arith.mulf %e, %f : f32
                nest.accumulate "t" add %g, %t[%b, %i, %j, %k] : memref<8x56x56x64xf32>
              }
            }
          }
        }
      }
    }
  }
  nest.for "b.2" %b = 0 to 8 {
    nest.for "k.3" %k = 0 to 64 {
      nest.for "i.3" %i = 0 to 56 {
        nest.for "j.3" %j = 0 to 56 {
          %e = nest.load %t[%b, %i, %j, %k] : memref<8x56x56x64xf32>
          nest.store "y" %e, %y[%b, %k, %i, %j] : memref<8x64x56x56xf32>
        }
      }
    }
  }
  func.return
}

// Lines, channels last, from an argument: sums start from what is stored first.
// CHECK-LABEL: func.func @lines
// CHECK:       nest.alloc "panel" : memref<5x5x7x8xf64>
// CHECK:       nest.for "b.o" %{{.*}} = 0 to %n ceildiv 4 parallel
// CHECK:         nest.for "i.o"
// CHECK:           %[[S:.*]] = nest.alloc "sums" : memref<14x8xf64>
// CHECK:             nest.store "y" %zero, %[[S]]
// CHECK:             nest.for "i.1.i" %[[R:.*]] = 0 to 14 unrolled {
// CHECK:                 nest.load %x[{{.*}} + 2 * %[[R]] + {{.*}}]
// CHECK:               nest.accumulate "y" add %{{.*}} where
func.func @lines(%x: memref<?x?x7xf64>, %w: memref<5x7x40xf64>, %y: memref<?x?x40xf64> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?x?x40xf64>
  %m = memref.dim %y, %c1 : memref<?x?x40xf64>
  nest.for "b" %b = 0 to %n {
    nest.for "i" %i = 0 to %m {
      nest.for "k" %k = 0 to 40 {
        nest.store "y" %zero, %y[%b, %i, %k] : memref<?x?x40xf64>
      }
    }
  }
  nest.for "b.1" %b = 0 to %n {
    nest.for "i.1" %i = 0 to %m {
      nest.for "k.1" %k = 0 to 40 {
        nest.for "u" %u = 0 to 5 {
          nest.for "c" %c = 0 to 7 {
            %e = nest.load %x[%b, 2 * %i + %u, %c] : memref<?x?x7xf64>
            %f = nest.load %w[%u, %c, %k] : memref<5x7x40xf64>
            %g = arith.mulf %e, %f : f64
            nest.accumulate "y" add %g, %y[%b, %i, %k] : memref<?x?x40xf64>
          }
        }
      }
    }
  }
  func.return
}

// No tiles: a sum over two loops of one operand; one of two lanes; one whose order is given.
// CHECK-LABEL: func.func @others
// CHECK-NOT:   "panel"
// CHECK-NOT:   "sums"
// CHECK:       func.return
func.func @others(%x: memref<64x30x20xf64>, %w: memref<20x2xf64>, %s: memref<64xf64>, %y: memref<64x2xf64>, %z: memref<64x30xf64>) {
  nest.for "i" %i = 0 to 64 {
    nest.for "u" %u = 0 to 30 {
      nest.for "v" %v = 0 to 20 {
        %e = nest.load %x[%i, %u, %v] : memref<64x30x20xf64>
        nest.accumulate "s" add %e, %s[%i] : memref<64xf64>
      }
    }
  }
  nest.for "i.1" %i = 0 to 64 {
    nest.for "k" %k = 0 to 2 {
      nest.for "u.1" %u = 0 to 30 {
        nest.for "v.1" %v = 0 to 20 {
          %e = nest.load %x[%i, %u, %v] : memref<64x30x20xf64>
          %f = nest.load %w[%v, %k] : memref<20x2xf64>
          %g = arith.mulf %e, %f : f64
          nest.accumulate "y" add %g, %y[%i, %k] : memref<64x2xf64>
        }
      }
    }
  }
  nest.for "i.2" %i = 0 to 64 {
    nest.for "k.2" %k = 0 to 30 {
      nest.for "u.2" %u = 0 to 30 {
        nest.for "v.2" %v = 0 to 20 {
          %e = nest.load %x[%i, %u, %v] : memref<64x30x20xf64>
          %f = nest.load %x[%v, %u, %k] : memref<64x30x20xf64>
          %g = arith.mulf %e, %f : f64
          nest.accumulate "z" add %g, %z[%i, %k] order(sequential) : memref<64x30xf64>
        }
      }
    }
  }
  func.return
}

// Many weights: the window's axes are few iterations, so threads share them together with the channels.
// CHECK-LABEL: func.func @many_weights
// CHECK:       %[[W:.*]] = nest.alloc "panel" : memref<8x3x3x128x32xf32>
// CHECK:       nest.for "{{.*}}ax0_{{.*}}ax1_{{.*}}ax2" %{{.*}} = 0 to 1152 parallel
// CHECK-NEXT:    nest.for "panel.load.ax3.o" %{{.*}} = 0 to 8 {
// CHECK-NEXT:      nest.for "panel.load.ax3.i" %{{.*}} = 0 to 32 vectorized(32) {
func.func @many_weights(%x: memref<4x9x9x128xf32>, %w: memref<3x3x128x256xf32>, %y: memref<4x7x7x256xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "b" %b = 0 to 4 {
    nest.for "i" %i = 0 to 7 {
      nest.for "j" %j = 0 to 7 {
        nest.for "k" %k = 0 to 256 {
          nest.store "y" %zero, %y[%b, %i, %j, %k] : memref<4x7x7x256xf32>
        }
      }
    }
  }
  nest.for "b.1" %b = 0 to 4 {
    nest.for "i.1" %i = 0 to 7 {
      nest.for "j.1" %j = 0 to 7 {
        nest.for "k.1" %k = 0 to 256 {
          nest.for "u" %u = 0 to 3 {
            nest.for "v" %v = 0 to 3 {
              nest.for "c" %c = 0 to 128 {
                %e = nest.load %x[%b, %i + %u, %j + %v, %c] : memref<4x9x9x128xf32>
                %f = nest.load %w[%u, %v, %c, %k] : memref<3x3x128x256xf32>
                %p = arith.mulf %e, %f : f32
                nest.accumulate "y" add %p, %y[%b, %i, %j, %k] : memref<4x7x7x256xf32>
              }
            }
          }
        }
      }
    }
  }
  func.return
}
