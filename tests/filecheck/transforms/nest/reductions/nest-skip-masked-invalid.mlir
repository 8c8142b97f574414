// What is no running softmax, or no mask, that leaves out blocks.
// RUN: opt-tool %s -p 'nest-skip-masked{loop=o}' --split-input-file --verify-diagnostics

// A sum that something else is part of.
func.func @f0(%x: memref<8x64xf32>, %v: memref<64x3xf32>, %y: memref<8x3xf32> {nest.role = "out"}, %z: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xff800000 : f32
  %four = arith.constant 4 : index
  %m = nest.alloc "m" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  %scale = nest.alloc "scale" : memref<8xf32>
  %sums = nest.alloc "sums" : memref<8x3xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "m" %least, %m[%i] : memref<8xf32>
    nest.store "s" %zero, %s[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "l" %l = 0 to 3 {
      nest.store "sums" %zero, %sums[%i, %l] : memref<8x3xf32>
    }
  }
  // expected-error @below {{cannot skip masked blocks of the loop "o": a block does not just compute a running softmax of rows and its product}}
  nest.for "o" %o = 0 to 16 {
    %t = nest.alloc "t" : memref<8x4xf32>
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %j] : memref<8x64xf32>
        nest.store "t" %a, %t[%i, %j] : memref<8x4xf32>
      }
    }
    // expected-note @below {{here}}
    nest.store "z" %zero, %z[%o] : memref<16xf32>
    nest.for "i.3" %i = 0 to 8 {
      %row = arith.index_cast %i : index to i64
      %before = nest.load %m[%i] : memref<8xf32>
      nest.for "j.1" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        nest.accumulate "m" maximum %b, %m[%i] : memref<8xf32>
      }
      %found = nest.load %m[%i] : memref<8xf32>
      %none = arith.cmpf oeq, %found, %least : f32
      %shift = arith.select %none, %zero, %found : f32
      %less = arith.subf %before, %shift : f32
      %rescale = math.exp %less : f32
      nest.store "scale" %rescale, %scale[%i] : memref<8xf32>
      %old = nest.load %s[%i] : memref<8xf32>
      %scaled = arith.mulf %old, %rescale : f32
      nest.store "s" %scaled, %s[%i] : memref<8xf32>
      nest.for "j.2" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        %d = arith.subf %b, %shift : f32
        %e = math.exp %d : f32
        nest.store "t" %e, %t[%i, %j] : memref<8x4xf32>
        nest.accumulate "s" add %e, %s[%i] : memref<8xf32>
      }
    }
    nest.for "i.4" %i = 0 to 8 {
      nest.for "l.1" %l = 0 to 3 {
        %old = nest.load %sums[%i, %l] : memref<8x3xf32>
        %by = nest.load %scale[%i] : memref<8xf32>
        %new = arith.mulf %old, %by : f32
        nest.store "sums" %new, %sums[%i, %l] : memref<8x3xf32>
      }
    }
    nest.for "i.5" %i = 0 to 8 {
      nest.for "l.2" %l = 0 to 3 {
        nest.for "j.3" %j = 0 to 4 {
          %e = nest.load %t[%i, %j] : memref<8x4xf32>
          %b = nest.load %v[4 * %o + %j, %l] : memref<64x3xf32>
          %p = arith.mulf %e, %b : f32
          nest.accumulate "sums" add %p, %sums[%i, %l] : memref<8x3xf32>
        }
      }
    }
  }
  nest.for "i.6" %i = 0 to 8 {
    nest.for "l.3" %l = 0 to 3 {
      %a = nest.load %sums[%i, %l] : memref<8x3xf32>
      %b = nest.load %s[%i] : memref<8xf32>
      %q = arith.divf %a, %b : f32
      nest.store "y" %q, %y[%i, %l] : memref<8x3xf32>
    }
  }
  func.return
}

// -----

// Another nest writes what is read behind the loop.
func.func @f1(%x: memref<8x64xf32>, %v: memref<64x3xf32>, %y: memref<8x3xf32> {nest.role = "out"}, %z: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xff800000 : f32
  %four = arith.constant 4 : index
  %m = nest.alloc "m" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  %scale = nest.alloc "scale" : memref<8xf32>
  %sums = nest.alloc "sums" : memref<8x3xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "m" %least, %m[%i] : memref<8xf32>
    nest.store "s" %zero, %s[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "l" %l = 0 to 3 {
      nest.store "sums" %zero, %sums[%i, %l] : memref<8x3xf32>
    }
  }
  // expected-error @below {{cannot skip masked blocks of the loop "o": a nest in it writes what is not the block's own}}
  nest.for "o" %o = 0 to 16 {
    %t = nest.alloc "t" : memref<8x4xf32>
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %j] : memref<8x64xf32>
        nest.store "t" %a, %t[%i, %j] : memref<8x4xf32>
      }
    }
    nest.for "k" %k = 0 to 4 {
      // expected-note @below {{here}}
      nest.store "z" %zero, %z[4 * %o + %k] : memref<64xf32>
    }
    nest.for "i.3" %i = 0 to 8 {
      %row = arith.index_cast %i : index to i64
      %before = nest.load %m[%i] : memref<8xf32>
      nest.for "j.1" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        nest.accumulate "m" maximum %b, %m[%i] : memref<8xf32>
      }
      %found = nest.load %m[%i] : memref<8xf32>
      %none = arith.cmpf oeq, %found, %least : f32
      %shift = arith.select %none, %zero, %found : f32
      %less = arith.subf %before, %shift : f32
      %rescale = math.exp %less : f32
      nest.store "scale" %rescale, %scale[%i] : memref<8xf32>
      %old = nest.load %s[%i] : memref<8xf32>
      %scaled = arith.mulf %old, %rescale : f32
      nest.store "s" %scaled, %s[%i] : memref<8xf32>
      nest.for "j.2" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        %d = arith.subf %b, %shift : f32
        %e = math.exp %d : f32
        nest.store "t" %e, %t[%i, %j] : memref<8x4xf32>
        nest.accumulate "s" add %e, %s[%i] : memref<8xf32>
      }
    }
    nest.for "i.4" %i = 0 to 8 {
      nest.for "l.1" %l = 0 to 3 {
        %old = nest.load %sums[%i, %l] : memref<8x3xf32>
        %by = nest.load %scale[%i] : memref<8xf32>
        %new = arith.mulf %old, %by : f32
        nest.store "sums" %new, %sums[%i, %l] : memref<8x3xf32>
      }
    }
    nest.for "i.5" %i = 0 to 8 {
      nest.for "l.2" %l = 0 to 3 {
        nest.for "j.3" %j = 0 to 4 {
          %e = nest.load %t[%i, %j] : memref<8x4xf32>
          %b = nest.load %v[4 * %o + %j, %l] : memref<64x3xf32>
          %p = arith.mulf %e, %b : f32
          nest.accumulate "sums" add %p, %sums[%i, %l] : memref<8x3xf32>
        }
      }
    }
  }
  nest.for "i.6" %i = 0 to 8 {
    nest.for "l.3" %l = 0 to 3 {
      %a = nest.load %sums[%i, %l] : memref<8x3xf32>
      %b = nest.load %s[%i] : memref<8xf32>
      %q = arith.divf %a, %b : f32
      nest.store "y" %q, %y[%i, %l] : memref<8x3xf32>
    }
  }
  func.return
}

// -----

// A sum that starts from 1 is scaled by exp(-inf) as long as there is no score.
func.func @f2(%x: memref<8x64xf32>, %v: memref<64x3xf32>, %y: memref<8x3xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xff800000 : f32
  %four = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %m = nest.alloc "m" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  %scale = nest.alloc "scale" : memref<8xf32>
  %sums = nest.alloc "sums" : memref<8x3xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "m" %least, %m[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "s" %one, %s[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "l" %l = 0 to 3 {
      nest.store "sums" %zero, %sums[%i, %l] : memref<8x3xf32>
    }
  }
  // expected-error @below {{cannot skip masked blocks of the loop "o": its maxima do not start from -inf, or its sums not from 0}}
  nest.for "o" %o = 0 to 16 {
    %t = nest.alloc "t" : memref<8x4xf32>
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %j] : memref<8x64xf32>
        nest.store "t" %a, %t[%i, %j] : memref<8x4xf32>
      }
    }
    nest.for "i.3" %i = 0 to 8 {
      %row = arith.index_cast %i : index to i64
      %before = nest.load %m[%i] : memref<8xf32>
      nest.for "j.1" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        nest.accumulate "m" maximum %b, %m[%i] : memref<8xf32>
      }
      %found = nest.load %m[%i] : memref<8xf32>
      %none = arith.cmpf oeq, %found, %least : f32
      %shift = arith.select %none, %zero, %found : f32
      %less = arith.subf %before, %shift : f32
      %rescale = math.exp %less : f32
      nest.store "scale" %rescale, %scale[%i] : memref<8xf32>
      %old = nest.load %s[%i] : memref<8xf32>
      %scaled = arith.mulf %old, %rescale : f32
      nest.store "s" %scaled, %s[%i] : memref<8xf32>
      nest.for "j.2" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        %d = arith.subf %b, %shift : f32
        %e = math.exp %d : f32
        nest.store "t" %e, %t[%i, %j] : memref<8x4xf32>
        nest.accumulate "s" add %e, %s[%i] : memref<8xf32>
      }
    }
    nest.for "i.4" %i = 0 to 8 {
      nest.for "l.1" %l = 0 to 3 {
        %old = nest.load %sums[%i, %l] : memref<8x3xf32>
        %by = nest.load %scale[%i] : memref<8xf32>
        %new = arith.mulf %old, %by : f32
        nest.store "sums" %new, %sums[%i, %l] : memref<8x3xf32>
      }
    }
    nest.for "i.5" %i = 0 to 8 {
      nest.for "l.2" %l = 0 to 3 {
        nest.for "j.3" %j = 0 to 4 {
          %e = nest.load %t[%i, %j] : memref<8x4xf32>
          %b = nest.load %v[4 * %o + %j, %l] : memref<64x3xf32>
          %p = arith.mulf %e, %b : f32
          nest.accumulate "sums" add %p, %sums[%i, %l] : memref<8x3xf32>
        }
      }
    }
  }
  nest.for "i.6" %i = 0 to 8 {
    nest.for "l.3" %l = 0 to 3 {
      %a = nest.load %sums[%i, %l] : memref<8x3xf32>
      %b = nest.load %s[%i] : memref<8xf32>
      %q = arith.divf %a, %b : f32
      nest.store "y" %q, %y[%i, %l] : memref<8x3xf32>
    }
  }
  func.return
}

// -----

// Scores are there behind the loop.
func.func @f3(%x: memref<8x64xf32>, %v: memref<64x3xf32>, %y: memref<8x3xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xff800000 : f32
  %four = arith.constant 4 : index
  %m = nest.alloc "m" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  %scale = nest.alloc "scale" : memref<8xf32>
  %sums = nest.alloc "sums" : memref<8x3xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "m" %least, %m[%i] : memref<8xf32>
    nest.store "s" %zero, %s[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "l" %l = 0 to 3 {
      nest.store "sums" %zero, %sums[%i, %l] : memref<8x3xf32>
    }
  }
  %t = nest.alloc "t" : memref<8x4xf32>
  // expected-error @below {{cannot skip masked blocks of the loop "o": exponentials are used behind their block}}
  nest.for "o" %o = 0 to 16 {
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %j] : memref<8x64xf32>
        nest.store "t" %a, %t[%i, %j] : memref<8x4xf32>
      }
    }
    nest.for "i.3" %i = 0 to 8 {
      %row = arith.index_cast %i : index to i64
      %before = nest.load %m[%i] : memref<8xf32>
      nest.for "j.1" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        nest.accumulate "m" maximum %b, %m[%i] : memref<8xf32>
      }
      %found = nest.load %m[%i] : memref<8xf32>
      %none = arith.cmpf oeq, %found, %least : f32
      %shift = arith.select %none, %zero, %found : f32
      %less = arith.subf %before, %shift : f32
      %rescale = math.exp %less : f32
      nest.store "scale" %rescale, %scale[%i] : memref<8xf32>
      %old = nest.load %s[%i] : memref<8xf32>
      %scaled = arith.mulf %old, %rescale : f32
      nest.store "s" %scaled, %s[%i] : memref<8xf32>
      nest.for "j.2" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        %d = arith.subf %b, %shift : f32
        %e = math.exp %d : f32
        // expected-note @below {{here}}
        nest.store "t" %e, %t[%i, %j] : memref<8x4xf32>
        nest.accumulate "s" add %e, %s[%i] : memref<8xf32>
      }
    }
    nest.for "i.4" %i = 0 to 8 {
      nest.for "l.1" %l = 0 to 3 {
        %old = nest.load %sums[%i, %l] : memref<8x3xf32>
        %by = nest.load %scale[%i] : memref<8xf32>
        %new = arith.mulf %old, %by : f32
        nest.store "sums" %new, %sums[%i, %l] : memref<8x3xf32>
      }
    }
    nest.for "i.5" %i = 0 to 8 {
      nest.for "l.2" %l = 0 to 3 {
        nest.for "j.3" %j = 0 to 4 {
          %e = nest.load %t[%i, %j] : memref<8x4xf32>
          %b = nest.load %v[4 * %o + %j, %l] : memref<64x3xf32>
          %p = arith.mulf %e, %b : f32
          nest.accumulate "sums" add %p, %sums[%i, %l] : memref<8x3xf32>
        }
      }
    }
  }
  nest.for "i.6" %i = 0 to 8 {
    nest.for "l.3" %l = 0 to 3 {
      %a = nest.load %sums[%i, %l] : memref<8x3xf32>
      %b = nest.load %s[%i] : memref<8xf32>
      %q = arith.divf %a, %b : f32
      nest.store "y" %q, %y[%i, %l] : memref<8x3xf32>
    }
  }
  func.return
}

// -----

// A mask that leaves out blocks at the beginning.
func.func @f4(%x: memref<8x64xf32>, %v: memref<64x3xf32>, %y: memref<8x3xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xff800000 : f32
  %four = arith.constant 4 : index
  %m = nest.alloc "m" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  %scale = nest.alloc "scale" : memref<8xf32>
  %sums = nest.alloc "sums" : memref<8x3xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "m" %least, %m[%i] : memref<8xf32>
    nest.store "s" %zero, %s[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "l" %l = 0 to 3 {
      nest.store "sums" %zero, %sums[%i, %l] : memref<8x3xf32>
    }
  }
  // expected-error @below {{cannot skip masked blocks of the loop "o": no affine condition of its mask leaves out blocks above others}}
  nest.for "o" %o = 0 to 16 {
    %t = nest.alloc "t" : memref<8x4xf32>
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %j] : memref<8x64xf32>
        nest.store "t" %a, %t[%i, %j] : memref<8x4xf32>
      }
    }
    // expected-note @below {{here}}
    nest.for "i.3" %i = 0 to 8 {
      %row = arith.index_cast %i : index to i64
      %before = nest.load %m[%i] : memref<8xf32>
      nest.for "j.1" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sle, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        nest.accumulate "m" maximum %b, %m[%i] : memref<8xf32>
      }
      %found = nest.load %m[%i] : memref<8xf32>
      %none = arith.cmpf oeq, %found, %least : f32
      %shift = arith.select %none, %zero, %found : f32
      %less = arith.subf %before, %shift : f32
      %rescale = math.exp %less : f32
      nest.store "scale" %rescale, %scale[%i] : memref<8xf32>
      %old = nest.load %s[%i] : memref<8xf32>
      %scaled = arith.mulf %old, %rescale : f32
      nest.store "s" %scaled, %s[%i] : memref<8xf32>
      nest.for "j.2" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sle, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        %d = arith.subf %b, %shift : f32
        %e = math.exp %d : f32
        nest.store "t" %e, %t[%i, %j] : memref<8x4xf32>
        nest.accumulate "s" add %e, %s[%i] : memref<8xf32>
      }
    }
    nest.for "i.4" %i = 0 to 8 {
      nest.for "l.1" %l = 0 to 3 {
        %old = nest.load %sums[%i, %l] : memref<8x3xf32>
        %by = nest.load %scale[%i] : memref<8xf32>
        %new = arith.mulf %old, %by : f32
        nest.store "sums" %new, %sums[%i, %l] : memref<8x3xf32>
      }
    }
    nest.for "i.5" %i = 0 to 8 {
      nest.for "l.2" %l = 0 to 3 {
        nest.for "j.3" %j = 0 to 4 {
          %e = nest.load %t[%i, %j] : memref<8x4xf32>
          %b = nest.load %v[4 * %o + %j, %l] : memref<64x3xf32>
          %p = arith.mulf %e, %b : f32
          nest.accumulate "sums" add %p, %sums[%i, %l] : memref<8x3xf32>
        }
      }
    }
  }
  nest.for "i.6" %i = 0 to 8 {
    nest.for "l.3" %l = 0 to 3 {
      %a = nest.load %sums[%i, %l] : memref<8x3xf32>
      %b = nest.load %s[%i] : memref<8xf32>
      %q = arith.divf %a, %b : f32
      nest.store "y" %q, %y[%i, %l] : memref<8x3xf32>
    }
  }
  func.return
}

// -----

// Scores that no mask selects.
func.func @f5(%x: memref<8x64xf32>, %v: memref<64x3xf32>, %y: memref<8x3xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xff800000 : f32
  %four = arith.constant 4 : index
  %m = nest.alloc "m" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  %scale = nest.alloc "scale" : memref<8xf32>
  %sums = nest.alloc "sums" : memref<8x3xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "m" %least, %m[%i] : memref<8xf32>
    nest.store "s" %zero, %s[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "l" %l = 0 to 3 {
      nest.store "sums" %zero, %sums[%i, %l] : memref<8x3xf32>
    }
  }
  // expected-error @below {{cannot skip masked blocks of the loop "o": its scores are not those that a mask selects, or -inf}}
  nest.for "o" %o = 0 to 16 {
    %t = nest.alloc "t" : memref<8x4xf32>
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %j] : memref<8x64xf32>
        nest.store "t" %a, %t[%i, %j] : memref<8x4xf32>
      }
    }
    nest.for "i.3" %i = 0 to 8 {
      %row = arith.index_cast %i : index to i64
      %before = nest.load %m[%i] : memref<8xf32>
      nest.for "j.1" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        // expected-note @below {{here}}
        %b = arith.addf %a, %a : f32
        nest.accumulate "m" maximum %b, %m[%i] : memref<8xf32>
      }
      %found = nest.load %m[%i] : memref<8xf32>
      %none = arith.cmpf oeq, %found, %least : f32
      %shift = arith.select %none, %zero, %found : f32
      %less = arith.subf %before, %shift : f32
      %rescale = math.exp %less : f32
      nest.store "scale" %rescale, %scale[%i] : memref<8xf32>
      %old = nest.load %s[%i] : memref<8xf32>
      %scaled = arith.mulf %old, %rescale : f32
      nest.store "s" %scaled, %s[%i] : memref<8xf32>
      nest.for "j.2" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        %d = arith.subf %b, %shift : f32
        %e = math.exp %d : f32
        nest.store "t" %e, %t[%i, %j] : memref<8x4xf32>
        nest.accumulate "s" add %e, %s[%i] : memref<8xf32>
      }
    }
    nest.for "i.4" %i = 0 to 8 {
      nest.for "l.1" %l = 0 to 3 {
        %old = nest.load %sums[%i, %l] : memref<8x3xf32>
        %by = nest.load %scale[%i] : memref<8xf32>
        %new = arith.mulf %old, %by : f32
        nest.store "sums" %new, %sums[%i, %l] : memref<8x3xf32>
      }
    }
    nest.for "i.5" %i = 0 to 8 {
      nest.for "l.2" %l = 0 to 3 {
        nest.for "j.3" %j = 0 to 4 {
          %e = nest.load %t[%i, %j] : memref<8x4xf32>
          %b = nest.load %v[4 * %o + %j, %l] : memref<64x3xf32>
          %p = arith.mulf %e, %b : f32
          nest.accumulate "sums" add %p, %sums[%i, %l] : memref<8x3xf32>
        }
      }
    }
  }
  nest.for "i.6" %i = 0 to 8 {
    nest.for "l.3" %l = 0 to 3 {
      %a = nest.load %sums[%i, %l] : memref<8x3xf32>
      %b = nest.load %s[%i] : memref<8xf32>
      %q = arith.divf %a, %b : f32
      nest.store "y" %q, %y[%i, %l] : memref<8x3xf32>
    }
  }
  func.return
}

// -----

// A number of columns that only the run time knows.
func.func @f6(%x: memref<8x64xf32>, %v: memref<64x3xf32>, %y: memref<8x3xf32> {nest.role = "out"}, %c: index) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xff800000 : f32
  %four = arith.constant 4 : index
  %m = nest.alloc "m" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  %scale = nest.alloc "scale" : memref<8xf32>
  %sums = nest.alloc "sums" : memref<8x3xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "m" %least, %m[%i] : memref<8xf32>
    nest.store "s" %zero, %s[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "l" %l = 0 to 3 {
      nest.store "sums" %zero, %sums[%i, %l] : memref<8x3xf32>
    }
  }
  // expected-error @below {{cannot skip masked blocks of the loop "o": the product is none of rows and a known number of columns, with terms of their own bounds}}
  nest.for "o" %o = 0 to 16 {
    %t = nest.alloc "t" : memref<8x4xf32>
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %j] : memref<8x64xf32>
        nest.store "t" %a, %t[%i, %j] : memref<8x4xf32>
      }
    }
    nest.for "i.3" %i = 0 to 8 {
      %row = arith.index_cast %i : index to i64
      %before = nest.load %m[%i] : memref<8xf32>
      nest.for "j.1" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        nest.accumulate "m" maximum %b, %m[%i] : memref<8xf32>
      }
      %found = nest.load %m[%i] : memref<8xf32>
      %none = arith.cmpf oeq, %found, %least : f32
      %shift = arith.select %none, %zero, %found : f32
      %less = arith.subf %before, %shift : f32
      %rescale = math.exp %less : f32
      nest.store "scale" %rescale, %scale[%i] : memref<8xf32>
      %old = nest.load %s[%i] : memref<8xf32>
      %scaled = arith.mulf %old, %rescale : f32
      nest.store "s" %scaled, %s[%i] : memref<8xf32>
      nest.for "j.2" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        %d = arith.subf %b, %shift : f32
        %e = math.exp %d : f32
        nest.store "t" %e, %t[%i, %j] : memref<8x4xf32>
        nest.accumulate "s" add %e, %s[%i] : memref<8xf32>
      }
    }
    nest.for "i.4" %i = 0 to 8 {
      nest.for "l.1" %l = 0 to 3 {
        %old = nest.load %sums[%i, %l] : memref<8x3xf32>
        %by = nest.load %scale[%i] : memref<8xf32>
        %new = arith.mulf %old, %by : f32
        nest.store "sums" %new, %sums[%i, %l] : memref<8x3xf32>
      }
    }
    nest.for "i.5" %i = 0 to 8 {
      nest.for "l.2" %l = 0 to %c {
        nest.for "j.3" %j = 0 to 4 {
          %e = nest.load %t[%i, %j] : memref<8x4xf32>
          %b = nest.load %v[4 * %o + %j, %l] : memref<64x3xf32>
          %p = arith.mulf %e, %b : f32
          // expected-note @below {{here}}
          nest.accumulate "sums" add %p, %sums[%i, %l] : memref<8x3xf32>
        }
      }
    }
  }
  nest.for "i.6" %i = 0 to 8 {
    nest.for "l.3" %l = 0 to 3 {
      %a = nest.load %sums[%i, %l] : memref<8x3xf32>
      %b = nest.load %s[%i] : memref<8xf32>
      %q = arith.divf %a, %b : f32
      nest.store "y" %q, %y[%i, %l] : memref<8x3xf32>
    }
  }
  func.return
}

// -----

// Blocks from a place on that only the run time knows.
func.func @f7(%x: memref<8x64xf32>, %v: memref<64x3xf32>, %y: memref<8x3xf32> {nest.role = "out"}, %start: index) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xff800000 : f32
  %four = arith.constant 4 : index
  %m = nest.alloc "m" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  %scale = nest.alloc "scale" : memref<8xf32>
  %sums = nest.alloc "sums" : memref<8x3xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "m" %least, %m[%i] : memref<8xf32>
    nest.store "s" %zero, %s[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "l" %l = 0 to 3 {
      nest.store "sums" %zero, %sums[%i, %l] : memref<8x3xf32>
    }
  }
  // expected-error @below {{cannot skip masked blocks of the loop "o": it does not count blocks from a constant on}}
  // expected-note @below {{here}}
  nest.for "o" %o = %start to 16 {
    %t = nest.alloc "t" : memref<8x4xf32>
    nest.for "i.2" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %j] : memref<8x64xf32>
        nest.store "t" %a, %t[%i, %j] : memref<8x4xf32>
      }
    }
    nest.for "i.3" %i = 0 to 8 {
      %row = arith.index_cast %i : index to i64
      %before = nest.load %m[%i] : memref<8xf32>
      nest.for "j.1" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        nest.accumulate "m" maximum %b, %m[%i] : memref<8xf32>
      }
      %found = nest.load %m[%i] : memref<8xf32>
      %none = arith.cmpf oeq, %found, %least : f32
      %shift = arith.select %none, %zero, %found : f32
      %less = arith.subf %before, %shift : f32
      %rescale = math.exp %less : f32
      nest.store "scale" %rescale, %scale[%i] : memref<8xf32>
      %old = nest.load %s[%i] : memref<8xf32>
      %scaled = arith.mulf %old, %rescale : f32
      nest.store "s" %scaled, %s[%i] : memref<8xf32>
      nest.for "j.2" %j = 0 to 4 {
        %first = arith.muli %o, %four : index
        %place = arith.addi %first, %j : index
        %column = arith.index_cast %place : index to i64
        %mask = arith.cmpi sge, %row, %column : i64
        %a = nest.load %t[%i, %j] : memref<8x4xf32>
        %b = arith.select %mask, %a, %least : f32
        %d = arith.subf %b, %shift : f32
        %e = math.exp %d : f32
        nest.store "t" %e, %t[%i, %j] : memref<8x4xf32>
        nest.accumulate "s" add %e, %s[%i] : memref<8xf32>
      }
    }
    nest.for "i.4" %i = 0 to 8 {
      nest.for "l.1" %l = 0 to 3 {
        %old = nest.load %sums[%i, %l] : memref<8x3xf32>
        %by = nest.load %scale[%i] : memref<8xf32>
        %new = arith.mulf %old, %by : f32
        nest.store "sums" %new, %sums[%i, %l] : memref<8x3xf32>
      }
    }
    nest.for "i.5" %i = 0 to 8 {
      nest.for "l.2" %l = 0 to 3 {
        nest.for "j.3" %j = 0 to 4 {
          %e = nest.load %t[%i, %j] : memref<8x4xf32>
          %b = nest.load %v[4 * %o + %j, %l] : memref<64x3xf32>
          %p = arith.mulf %e, %b : f32
          nest.accumulate "sums" add %p, %sums[%i, %l] : memref<8x3xf32>
        }
      }
    }
  }
  nest.for "i.6" %i = 0 to 8 {
    nest.for "l.3" %l = 0 to 3 {
      %a = nest.load %sums[%i, %l] : memref<8x3xf32>
      %b = nest.load %s[%i] : memref<8xf32>
      %q = arith.divf %a, %b : f32
      nest.store "y" %q, %y[%i, %l] : memref<8x3xf32>
    }
  }
  func.return
}
