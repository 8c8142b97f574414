// Nests that cannot be computed before the loops around them, and why.
// RUN: opt-tool %s -p 'nest-compute-root{loop=i}' --split-input-file --verify-diagnostics

func.func @outermost(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  %o = arith.constant 0 : index
    // expected-error @below {{cannot compute the loop "i" at the root: there is no loop around it}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  func.return
}

// -----

func.func @branch(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{it is inside of this}}
    nest.if %c {
    // expected-error @below {{it does not run in every iteration}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @marked_around(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is marked here}}
  nest.for "o" %o = 0 to 6 vectorized(8) {
    // expected-error @below {{the loop "o" is vectorized already}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @argument(%t: memref<8xf32>, %x: memref<8xf32>, %y: memref<8xf32>) {
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{it writes what is not made by a nest.alloc}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      // expected-note @below {{this operation writes it}}
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @two_buffers(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-note @below {{this buffer}}
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{this buffer}}
  %s = nest.alloc "s" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{it writes 2 buffers, not one}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "s" %a, %s[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @written_elsewhere(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{its buffer is written elsewhere too}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  %z = arith.constant 0.0 : f32
  // expected-note @below {{this statement writes it}}
  nest.store "t" %z, %t[0] : memref<8xf32>
  func.return
}

// -----

func.func @marked(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{cannot move the loop "i": it is unrolled already}}
    nest.for "i" %i = %o to %o + 3 unrolled {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @can_fail(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{its computation can fail}}
    nest.for "i" %i = %o to %o + 3 {
      // expected-note @below {{this check can fail}}
      %k = nest.index %i of 8 axis 0 of "x"
      %a = nest.load %x[%k] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @effects(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{what writes its buffer has other effects}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    nest.for "h" %h = 6 to 8 {
      %b = nest.load %x[%h] : memref<8xf32>
      // expected-note @below {{this operation has another effect}}
      nest.store "y" %b, %y[%h] : memref<8xf32>
      nest.store "t" %b, %t[%h] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @scan(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{its elements are computed from others of them}}
    nest.for "i" %i = %o + 1 to %o + 3 {
      // expected-note @below {{this load reads an element}}
      %a = nest.load %t[%i - 1] : memref<8xf32>
      // expected-note @below {{this statement writes another}}
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @depends(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{what it computes depends on the iteration}}
    nest.for "i" %i = %o to %o + 3 {
      // expected-note @below {{this operation uses the loop's variable}}
      %a = nest.load %x[%i - %o] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @value(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{the value is made here}}
    %v = nest.load %x[%o] : memref<8xf32>
    // expected-error @below {{what it computes uses a value of the iteration}}
    nest.for "i" %i = %o to %o + 3 {
      // expected-note @below {{this operation uses it}}
      nest.store "t" %v, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @not_affine(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{there is no affine bound for all parts of "i"}}
    // expected-note @below {{the loop is here}}
    nest.for "i" %i = %o mod 3 to 6 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @steps(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{the loop "i" has a step}}
    // expected-note @below {{the loop is here}}
    nest.for "i" %i = %o to 8 step 2 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @holes(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    // expected-error @below {{all iterations together may not compute every element of a box}}
    nest.for "i" %i = 3 * %o to 3 * %o + 2 {
      %a = nest.load %x[%i] : memref<8xf32>
      // expected-note @below {{this statement writes them}}
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @grows(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 6 {
    nest.for "h" %h = 0 to 8 {
      // expected-note @below {{this statement writes it}}
      nest.store "t" %zero, %t[%h] : memref<8xf32>
    }
    // expected-error @below {{an iteration may compute another value of an element than a later one}}
    nest.for "i" %i = 0 to 8 {
      nest.for "k" %k = 0 to %o + 1 {
        %b = nest.load %x[%k] : memref<8xf32>
        // expected-note @below {{it may be written here as well}}
        nest.accumulate "t" add %b, %t[%i] : memref<8xf32>
      }
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @goes_on(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{an element may be computed from its value of the iteration before}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      // expected-note @below {{this operation uses the element before it is written}}
      nest.accumulate "t" add %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @inputs(%v: f32, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{an element that it is computed from may be written by the loops around it}}
    nest.for "i" %i = %o to %o + 3 {
      // expected-note @below {{this load reads the element}}
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    // expected-note @below {{this operation may write it}}
    nest.store "x" %v, %x[%o + 1] : memref<8xf32>
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @layout(%x: memref<8xf32>, %y: memref<8xf32>) {
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{the buffer is made here}}
    %t = nest.alloc "t" : memref<3xf32, strided<[2]>>
    // expected-error @below {{the layout of its buffer is fixed}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i - %o] : memref<3xf32, strided<[2]>>
    }
  }
  func.return
}
