// Buffers that cannot be rolled in a loop, and why.
// RUN: opt-tool %s -p 'nest-rolling-buffer{buffer=t loop=o}' --split-input-file --verify-diagnostics

func.func @marked(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot roll a buffer in the loop "o": it is parallel already}}
  nest.for "o" %o = 0 to 6 parallel {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @several(%n: index, %m: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot roll a buffer in the loop "o": its lower bound is a max of several expressions}}
  nest.for "o" %o = max(%n, %m) to 6 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @made_inside(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot roll the buffer "t" in the loop "o": the loop is not inside of the block that makes it}}
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{the buffer is made here}}
    %t = nest.alloc "t" : memref<8xf32>
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @odd(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{this operation}}
  scf.for %k = %c0 to %n step %c1 {
    // expected-error @below {{cannot roll the buffer "t" in the loop "o": the loop is inside an operation that is not known}}
    nest.for "o" %o = 0 to 6 {
      nest.for "i" %i = %o to %o + 3 {
        %a = nest.load %x[%i] : memref<8xf32>
        nest.store "t" %a, %t[%i] : memref<8xf32>
      }
      %p = nest.load %t[%o] : memref<8xf32>
      nest.store "y" %p, %y[%o] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @written_outside(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{this statement writes it}}
  nest.store "t" %zero, %t[0] : memref<8xf32>
  // expected-error @below {{it is written outside of the loop}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @nothing_writes(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{nothing writes it}}
  nest.for "o" %o = 0 to 6 {
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @branch(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{what writes it is neither a nest nor a statement}}
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{it is written here}}
    nest.if %c {
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

func.func @read_first(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{it is read before it is computed}}
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{this load reads it}}
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
    // expected-note @below {{it is computed here}}
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @marked_inside(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 6 {
    // expected-error @below {{cannot roll the loop "i": it is unrolled already}}
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
  // expected-error @below {{its computation can fail}}
  nest.for "o" %o = 0 to 6 {
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

func.func @effects(%v: f32, %x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{what writes it has other effects}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      // expected-note @below {{this operation has another effect}}
      nest.store "z" %v, %z[%i] : memref<8xf32>
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @scan(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{its elements are computed from others of them}}
  nest.for "o" %o = 0 to 6 {
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
  // expected-error @below {{what is computed depends on the iteration}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      // expected-note @below {{this operation uses it}}
      %a = nest.load %x[%i - %o] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @computed_value(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{what is computed uses a value of the iteration}}
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{the value is made here}}
    %v = nest.load %x[%o] : memref<8xf32>
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

func.func @apart(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{no iteration computes what the one before has computed}}
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{it is computed here}}
    nest.for "i" %i = %o to %o + 1 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @stands(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{no iteration computes what the one before has computed}}
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{it is computed here}}
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @steps(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{the loop "i" has a step}}
  nest.for "o" %o = 0 to 3 {
    // expected-note @below {{the loop is here}}
    nest.for "i" %i = %o to %o + 5 step 2 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @computed_in_steps(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{the loop "i" of the nest that writes it has a step}}
  nest.for "o" %o = 0 to 3 {
    // expected-note @below {{the loop is here}}
    nest.for "i" %i = 0 to %o + 2 step 2 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @holes(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{an element that is not new may not have been computed in the iteration before}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      // expected-note @below {{this statement writes it}}
      // expected-note @below {{here it may be left out}}
      nest.store "t" %a, %t[%i] where (%i <= 2 * %o + 1) : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @more_before(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{the iteration before may compute another value for an element that is not new}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      // expected-note @below {{this statement writes it}}
      nest.store "t" %a, %t[%i] : memref<8xf32>
      nest.for "k" %k = 0 to 6 - %o {
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

func.func @adds_up(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{an element may be computed from its value of the iteration before}}
  nest.for "o" %o = 0 to 6 {
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

func.func @own_reads(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{some of its elements would be read and not be computed}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = 2 * %o to 2 * %o + 6 {
      %a = nest.load %x[0] : memref<8xf32>
      // expected-note @below {{this statement writes it}}
      nest.store "t" %a, %t[%i floordiv 2] : memref<8xf32>
      // expected-note @below {{this load reads an element}}
      %b = nest.load %t[%i floordiv 2] : memref<8xf32>
      %d = arith.addf %b, %a : f32
      nest.store "t" %d, %t[%i floordiv 2] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @private(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{iterations of "i" that are left out write what later ones may read}}
  nest.for "o" %o = 0 to 6 {
    nest.for "once" %once = 0 to 1 {
      %s = nest.alloc "s" : memref<8xf32>
      nest.for "i" %i = %o to %o + 3 {
        %a = nest.load %x[%i] : memref<8xf32>
        // expected-note @below {{this statement writes it}}
        nest.store "s" %a, %s[%i] : memref<8xf32>
        nest.store "t" %a, %t[%i] : memref<8xf32>
      }
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @inputs(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{an element that it is computed from may be written by the loop}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      // expected-note @below {{this load reads the element}}
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    // expected-note @below {{this operation may write it}}
    nest.store "x" %p, %x[%o + 2] : memref<8xf32>
  }
  func.return
}

// -----

func.func @inputs_before(%v: f32, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{an element that it is computed from may be written by the loop}}
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{this operation may write it}}
    nest.store "x" %v, %x[%o] : memref<8xf32>
    nest.for "i" %i = %o to %o + 3 {
      // expected-note @below {{this load reads the element}}
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @growing(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{the part that an iteration computes has no constant extent}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = 0 to %o + 1 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @layout(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32, strided<[2]>>
  // expected-error @below {{its layout is fixed, and a smaller buffer has another}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32, strided<[2]>>
    }
    %p = nest.load %t[%o] : memref<8xf32, strided<[2]>>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @shared(%x: memref<8xf32>, %y: memref<4x8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is marked here}}
  nest.for "k" %k = 0 to 4 parallel {
    // expected-error @below {{iterations of "k" would share the few elements that are kept}}
    nest.for "o" %o = 0 to 6 {
      nest.for "i" %i = %o to %o + 3 {
        %a = nest.load %x[%i] : memref<8xf32>
        nest.store "t" %a, %t[%i] : memref<8xf32>
      }
      %p = nest.load %t[%o] : memref<8xf32>
      nest.store "y" %p, %y[%k, %o] : memref<4x8xf32>
    }
  }
  func.return
}

// -----

func.func @moves_back(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{no iteration computes what the one before has computed, in a window that moves one way}}
  nest.for "o" %o = 0 to 6 {
    // expected-note @below {{it is computed here}}
    nest.for "i" %i = %o mod 2 to %o mod 2 + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o mod 2] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @read_outside(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{it is read outside of the loop}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  // expected-note @below {{this load reads it}}
  %q = nest.load %t[7] : memref<8xf32>
  nest.store "y" %q, %y[7] : memref<8xf32>
  func.return
}

// -----

func.func @read_late(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{an element that is read may not be kept any more}}
  nest.for "o" %o = 1 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    // expected-note @below {{this load reads it}}
    %p = nest.load %t[%o - 1] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @other_run(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "k" %k = 0 to 2 {
    // expected-error @below {{an element that is read may be one that another run of the loop has computed}}
    nest.for "o" %o = 0 to 5 {
      nest.for "i" %i = %o to %o + 3 {
        %a = nest.load %x[%i] : memref<8xf32>
        nest.store "t" %a, %t[%i] where (%k < 1) : memref<8xf32>
      }
      // expected-note @below {{this load reads it}}
      %p = nest.load %t[%o + 2] : memref<8xf32>
      nest.store "y" %p, %y[%o] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @updates(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{an element may be computed from its value of the iteration before}}
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<8xf32>
      // expected-note @below {{this operation uses the element before it is written}}
      %b = nest.load %t[%i] : memref<8xf32>
      %d = arith.addf %b, %a : f32
      nest.store "t" %d, %t[%i] : memref<8xf32>
    }
    %p = nest.load %t[%o] : memref<8xf32>
    nest.store "y" %p, %y[%o] : memref<8xf32>
  }
  func.return
}
