// What the instruction does not do is refused, with what is in the way.
// RUN: opt-tool %s -p 'nest-annotate{loop=k.i mark="nestor.bf16_pairs"}' --split-input-file --verify-diagnostics

func.func @no_lanes(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32  {
        // expected-error@+1 {{it is not right inside a vectorized loop}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @lanes(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      // expected-note@+1 {{here}}
      nest.for "c" %c = 0 to 24 vectorized(24) {
        // expected-error@+1 {{it has 24 lanes, not 16, 32 or 64}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @first_lane(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      // expected-note@+1 {{here}}
      nest.for "c" %c = 1 to 32 vectorized(32) {
        // expected-error@+1 {{its lanes do not begin at 0}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @terms(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{it is not all of 2 terms, and nothing else}}
        nest.for "k.i" %v = 0 to 3 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @halves(%x: memref<3x4xf16>, %y: memref<3x64xf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{what is added up, in f32 and in any order, is not a product of two bf16 made wider}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xf16>
          %a_1 = arith.extf %a : f16 to f32
          %b_1 = arith.extf %b : f16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          // expected-note@+1 {{here}}
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @terms_told_apart(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{its domain distinguishes terms}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          // expected-note@+1 {{here}}
          nest.accumulate "s" add %p, %s[%r, %c] where (4 - 2 * %k - %v >= 0) : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @both_move(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{one factor is the same in all lanes, and the other one moves with them}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, %c mod 2 + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          // expected-note@+1 {{here}}
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @sums(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{the sums of the lanes do not lie side by side}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          // expected-note@+1 {{here}}
          nest.accumulate "s" add %p, %s[%r, 47 - %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @sums_of_terms(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{the sums move with the terms}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          // expected-note@+1 {{here}}
          nest.accumulate "s" add %p, %s[%v, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @apart(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{the terms of a pair do not lie side by side}}
        nest.for "k.i" %v = 0 to 2 {
          // expected-note@+1 {{here}}
          %a = nest.load %x[%v, 2 * %r] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @order(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{the pairs of the lanes do not lie side by side in a row of their buffer}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          // expected-note@+1 {{here}}
          %b = nest.load %y[%k, %c + 32 * %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @short(%x: memref<3x4xbf16>, %y: memref<3x63xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{a row of the buffer is shorter than the 64 elements of all lanes}}
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          // expected-note@+1 {{here}}
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x63xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] where (%c < 31) : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @from_one(%x: memref<3x8xbf16>, %y: memref<3x80xbf16>, %s: memref<2x48xf32>) {
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        // expected-error@+1 {{it is marked, or does not count from 0}}
          nest.for "k.i" %v = 1 to 3 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x8xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x80xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x48xf32>
        }
      }
    }
  }
  func.return
}
