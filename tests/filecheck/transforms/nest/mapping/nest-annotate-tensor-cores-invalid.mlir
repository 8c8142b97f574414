// Nests that are no product of tiles of matrices as lanes have them, and loops that are no asynchronous copies, and why.
// RUN: opt-tool %s -p 'nest-annotate{loop=m mark="nestor.matrix"}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %s -p 'nest-annotate{loop=r mark="nestor.async"}' --split-input-file 2>&1 | filecheck %s --check-prefix=PLAIN
// PLAIN: cannot annotate the loop "r" with "nestor.async": it is not vectorized: the elements of an iteration are copied together

func.func @threads(%p: memref<32x16xf16, 3>, %q: memref<16x8xf16, 3>, %sums: memref<32x2x2x2xf32>, %n: index) {
  nest.for "lane" %l = 0 to 32 bind "thread.x" {
    // expected-error @below {{cannot annotate the loop "m" with "nestor.matrix": it is not in a loop over the 32 lanes of a warp, or in a branch of it}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 2 {
          nest.for "h" %h = 0 to 2 {
            nest.for "e" %e = 0 to 8 {
              %a = nest.load %p[16 * %m + 8 * %r + %l floordiv 4, 8 * %h + %e] : memref<32x16xf16, 3>
              %b = nest.load %q[8 * %h + %e, 2 * (%l mod 4) + %c] : memref<16x8xf16, 3>
              %af = arith.extf %a : f16 to f32
              %bf = arith.extf %b : f16 to f32
              %ab = arith.mulf %af, %bf : f32
              nest.accumulate "sums" add %ab, %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32>
            }
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @singles(%p: memref<32x16xf32, 3>, %q: memref<16x8xf32, 3>, %sums: memref<32x2x2x2xf32>, %n: index) {
  nest.for "lane" %l = 0 to 32 bind "lane" {
    // expected-error @below {{cannot annotate the loop "m" with "nestor.matrix": tensor cores would round the factors to tf32, which was not asked for}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 2 {
          nest.for "h" %h = 0 to 2 {
            nest.for "e" %e = 0 to 8 {
              %a = nest.load %p[16 * %m + 8 * %r + %l floordiv 4, 8 * %h + %e] : memref<32x16xf32, 3>
              %b = nest.load %q[8 * %h + %e, 2 * (%l mod 4) + %c] : memref<16x8xf32, 3>
              %ab = arith.mulf %a, %b : f32
              // expected-note @below {{here}}
              nest.accumulate "sums" add %ab, %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32>
            }
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @masked(%p: memref<32x16xf16, 3>, %q: memref<16x8xf16, 3>, %sums: memref<32x2x2x2xf32>, %n: index) {
  nest.for "lane" %l = 0 to 32 bind "lane" {
    // expected-error @below {{cannot annotate the loop "m" with "nestor.matrix": it has a domain, and a tensor core adds up whole tiles: pad the operands with zeros}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 2 {
          nest.for "h" %h = 0 to 2 {
            nest.for "e" %e = 0 to 8 {
              %a = nest.load %p[16 * %m + 8 * %r + %l floordiv 4, 8 * %h + %e] : memref<32x16xf16, 3>
              %b = nest.load %q[8 * %h + %e, 2 * (%l mod 4) + %c] : memref<16x8xf16, 3>
              %af = arith.extf %a : f16 to f32
              %bf = arith.extf %b : f16 to f32
              %ab = arith.mulf %af, %bf : f32
              // expected-note @below {{here}}
              nest.accumulate "sums" add %ab, %sums[%l, %m, %r, %c] where (%h < %n) : memref<32x2x2x2xf32>
            }
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @corner(%p: memref<32x16xf16, 3>, %q: memref<16x8xf16, 3>, %sums: memref<32x2x2x2xf32>, %n: index) {
  nest.for "lane" %l = 0 to 32 bind "lane" {
    // expected-error @below {{cannot annotate the loop "m" with "nestor.matrix": this depends on the lane in another way than its row, or column, does}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 2 {
          nest.for "h" %h = 0 to 2 {
            nest.for "e" %e = 0 to 8 {
              %a = nest.load %p[16 * %m + 8 * %r + %l floordiv 4, 8 * %h + %e] : memref<32x16xf16, 3>
              // expected-note @below {{here}}
              %b = nest.load %q[8 * %h + %e, 2 * (%l mod 4) + %c] : memref<16x8xf16, 3>
              %af = arith.extf %a : f16 to f32
              %bf = arith.extf %b : f16 to f32
              %ab = arith.mulf %af, %bf : f32
              nest.accumulate "sums" add %ab, %sums[%l, %m, %c, %r] : memref<32x2x2x2xf32>
            }
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @lane(%p: memref<32x16xf16, 3>, %q: memref<16x8xf16, 3>, %sums: memref<32x2x2x2xf32>, %n: index) {
  nest.for "lane" %l = 0 to 32 bind "lane" {
    // expected-error @below {{cannot annotate the loop "m" with "nestor.matrix": this depends on the lane in another way than its row, or column, does}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 2 {
          nest.for "h" %h = 0 to 2 {
            nest.for "e" %e = 0 to 8 {
              // expected-note @below {{here}}
              %a = nest.load %p[16 * %m + 8 * %r + %l mod 8, 8 * %h + %e] : memref<32x16xf16, 3>
              %b = nest.load %q[8 * %h + %e, 2 * (%l mod 4) + %c] : memref<16x8xf16, 3>
              %af = arith.extf %a : f16 to f32
              %bf = arith.extf %b : f16 to f32
              %ab = arith.mulf %af, %bf : f32
              nest.accumulate "sums" add %ab, %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32>
            }
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @column(%p: memref<32x16xf16, 3>, %q: memref<16x8xf16, 3>, %sums: memref<32x2x2x2xf32>, %n: index) {
  nest.for "lane" %l = 0 to 32 bind "lane" {
    // expected-error @below {{cannot annotate the loop "m" with "nestor.matrix": no 8 elements of this operand that an instruction needs together are so in memory}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 2 {
          nest.for "h" %h = 0 to 2 {
            nest.for "e" %e = 0 to 8 {
              %a = nest.load %p[16 * %m + 8 * %r + %l floordiv 4, 8 * %h + %e] : memref<32x16xf16, 3>
              // expected-note @below {{here}}
              %b = nest.load %q[8 * %h + %e, %l mod 4 + 4 * %c] : memref<16x8xf16, 3>
              %af = arith.extf %a : f16 to f32
              %bf = arith.extf %b : f16 to f32
              %ab = arith.mulf %af, %bf : f32
              nest.accumulate "sums" add %ab, %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32>
            }
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @global(%p: memref<32x16xf16>, %q: memref<16x8xf16, 3>, %sums: memref<32x2x2x2xf32>, %n: index) {
  nest.for "lane" %l = 0 to 32 bind "lane" {
    // expected-error @below {{cannot annotate the loop "m" with "nestor.matrix": this operand is not in shared memory, by rows}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 2 {
          nest.for "h" %h = 0 to 2 {
            nest.for "e" %e = 0 to 8 {
              // expected-note @below {{here}}
              %a = nest.load %p[16 * %m + 8 * %r + %l floordiv 4, 8 * %h + %e] : memref<32x16xf16>
              %b = nest.load %q[8 * %h + %e, 2 * (%l mod 4) + %c] : memref<16x8xf16, 3>
              %af = arith.extf %a : f16 to f32
              %bf = arith.extf %b : f16 to f32
              %ab = arith.mulf %af, %bf : f32
              nest.accumulate "sums" add %ab, %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32>
            }
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @apart(%p: memref<32x16xf16, 3>, %q: memref<16x8xf16, 3>, %sums: memref<32x2x2x2xf32>, %n: index) {
  nest.for "lane" %l = 0 to 32 bind "lane" {
    // expected-error @below {{cannot annotate the loop "m" with "nestor.matrix": no 8 elements of this operand that an instruction needs together are so in memory}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 2 {
          nest.for "h" %h = 0 to 2 {
            nest.for "e" %e = 0 to 8 {
              // expected-note @below {{here}}
              %a = nest.load %p[16 * %m + 8 * %r + %l floordiv 4, 2 * %e + %h] : memref<32x16xf16, 3>
              %b = nest.load %q[8 * %h + %e, 2 * (%l mod 4) + %c] : memref<16x8xf16, 3>
              %af = arith.extf %a : f16 to f32
              %bf = arith.extf %b : f16 to f32
              %ab = arith.mulf %af, %bf : f32
              nest.accumulate "sums" add %ab, %sums[%l, %m, %r, %c] : memref<32x2x2x2xf32>
            }
          }
        }
      }
    }
  }
  func.return
}
