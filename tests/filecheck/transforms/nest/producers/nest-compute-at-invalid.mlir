// Buffers that cannot be computed at a loop, and why.
// RUN: opt-tool %s -p 'nest-compute-at{buffer=t loop=o}' --split-input-file --verify-diagnostics

func.func @made_elsewhere(%x: memref<8xf32>, %y: memref<8xf32>) {
  nest.for "k" %k = 0 to 2 {
    // expected-note @below {{the buffer is made here}}
    %t = nest.alloc "t" : memref<8xf32>
  }
  // expected-error @below {{cannot compute the buffer "t" at the loop "o": the loop is not inside of the block that makes it}}
  nest.for "o" %o = 0 to 2 {
  }
  func.return
}

// -----

func.func @view(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{it is used by an operation other than loads and statements}}
  %t = nest.alloc "t" : memref<2x4xf32>
  // expected-note @below {{this operation uses it}}
  %v = memref.collapse_shape %t [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  nest.for "o" %o = 0 to 2 {
  }
  func.return
}

// -----

func.func @nothing_writes(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{nothing writes it}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @three_nests(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{it is written here}}
  nest.for "i0" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{it is written here}}
  nest.for "i1" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{it is written here}}
  nest.for "i2" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{it is written by 3 nests}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @same_nest(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{it is written here}}
  nest.for "n" %n = 0 to 1 {
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    // expected-error @below {{the loop is in the nest that writes it}}
    nest.for "o" %o = 0 to 2 {
      nest.for "j" %j = 0 to 4 {
        %p = nest.load %t[4 * %o + %j] : memref<8xf32>
        nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
      }
    }
  }
  func.return
}

// -----

func.func @branch(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{it is written here}}
  nest.if %c {
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  // expected-error @below {{what writes it is neither a nest nor a statement}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @written_later(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{it is written after the loop}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  // expected-note @below {{it is written here}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @read_outside(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{it is read outside of the loop as well}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  // expected-note @below {{this load is not in the loop}}
  %q = nest.load %t[3] : memref<8xf32>
  nest.store "z" %q, %y[0] : memref<8xf32>
  func.return
}

// -----

func.func @odd_reader(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{a load is inside an operation that is not known}}
  nest.for "o" %o = 0 to 2 {
    // expected-note @below {{this operation}}
    scf.for %j = %c0 to %n step %c1 {
      %p = nest.load %t[%o] : memref<8xf32>
      nest.store "y" %p, %y[%o] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @no_reader(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{nothing in the loop reads it}}
  nest.for "o" %o = 0 to 2 {
  }
  func.return
}

// -----

func.func @odd_loop(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{this operation}}
  scf.for %k = %c0 to %n step %c1 {
    // expected-error @below {{the loop is inside an operation that is not known}}
    nest.for "o" %o = 0 to 2 {
      nest.for "j" %j = 0 to 4 {
        %p = nest.load %t[4 * %o + %j] : memref<8xf32>
        nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
      }
    }
  }
  func.return
}

// -----

func.func @parallel(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{iterations of "o" run in parallel and would write the same elements}}
  // expected-note @below {{the loop is marked here}}
  nest.for "o" %o = 0 to 2 parallel {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @bound(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{the loop "o" is block.x already}}
  // expected-note @below {{the loop is marked here}}
  nest.for "o" %o = 0 to 2 bind "block.x" {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @computed_index(%x: memref<8xf32>, %y: memref<8xf32>, %k: memref<4xindex>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{an index is computed inside the loop}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %m = nest.load %k[%j] : memref<4xindex>
      // expected-note @below {{this load reads it}}
      %p = nest.load %t[%m] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @no_box(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{the accesses do not stay in one box of affine bounds}}
  nest.for "o" %o = 0 to 8 {
    // expected-note @below {{this load reads it}}
    %p = nest.load %t[%o] : memref<8xf32>
    %q = nest.load %t[7 - %o] : memref<8xf32>
    %r = arith.addf %p, %q : f32
    nest.store "y" %r, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @marked_producer(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot move the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 8 parallel {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @may_fail(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this check can fail}}
    %k = nest.index %i + %n of 8 axis 0 of "x"
    %a = nest.load %x[%k] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{its computation can fail}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @other_effects(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
    // expected-note @below {{this operation has another effect}}
    nest.store "z" %a, %z[%i] : memref<8xf32>
  }
  // expected-error @below {{the nest that writes it has other effects}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @scan(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 1 to 8 {
    // expected-note @below {{this load reads an element}}
    %a = nest.load %t[%i - 1] : memref<8xf32>
    // expected-note @below {{this statement writes another}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{its elements are computed from others of them}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @steps(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is here}}
  nest.for "i" %i = 0 to 8 step 2 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{the loop "i" of the nest that writes it has a step}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @carried(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "k" %k = 0 to 1 {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i] : memref<8xf32>
      // expected-note @below {{this statement writes it}}
      nest.store "s" %a, %s[%i] : memref<8xf32>
      %b = nest.load %s[0] : memref<8xf32>
      nest.store "t" %b, %t[%i] : memref<8xf32>
    }
  }
  // expected-error @below {{iterations of "i" that are left out write what later ones may read}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @written_between(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this load reads the element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{this operation may write it}}
  nest.store "x" %zero, %x[3] : memref<8xf32>
  // expected-error @below {{an element that it is computed from may be written before it is computed there}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @in_place(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this load reads the element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{an element that it is computed from may be written before it is computed there}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      // expected-note @below {{this operation may write it}}
      nest.store "x" %p, %x[4 * %o + %j + 1] where (4 * %o + %j < 7) : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @aliases(%x: memref<8xf32> {nest.alias_set = 0 : i64}, %y: memref<8xf32> {nest.alias_set = 0 : i64}) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this load reads the element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{an element that it is computed from may be written before it is computed there}}
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      // expected-note @below {{this operation may write it}}
      nest.store "y" %p, %y[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

// In place, but each block is computed before it is written: nothing to refuse.
func.func @in_place_by_blocks(%x: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      %p = nest.load %t[4 * %o + %j] : memref<8xf32>
      nest.store "x" %p, %x[4 * %o + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @partly(%x: memref<8xi64>, %y: memref<8xi64>) {
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t" : memref<8xi64>
  nest.for "h" %h = 0 to 8 {
    nest.store "t" %zero, %t[%h] : memref<8xi64>
  }
  nest.for "i" %i = 0 to 16 {
    // expected-note @below {{this load reads an element}}
    %a = nest.load %t[%i floordiv 2] : memref<8xi64>
    // expected-note @below {{this statement writes it}}
    nest.store "t" %a, %t[%i floordiv 2] : memref<8xi64>
  }
  // expected-error @below {{some of its elements would be read and not be computed}}
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to 2 {
      %p = nest.load %t[2 * %o + %j] : memref<8xi64>
      nest.store "y" %p, %y[2 * %o + %j] : memref<8xi64>
    }
  }
  func.return
}
