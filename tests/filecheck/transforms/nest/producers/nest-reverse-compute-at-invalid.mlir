// Nests that cannot run at a loop, and why.
// RUN: opt-tool %s -p 'nest-reverse-compute-at{consumer=j loop=o}' --split-input-file --verify-diagnostics

func.func @inside(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot run the loop "j" at the loop "o": the loop is not in another nest of the same block}}
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{the loop is here}}
    nest.for "o" %o = 0 to 2 {
    }
  }
  func.return
}

// -----

func.func @elsewhere(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is here}}
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  nest.for "k" %k = 0 to 1 {
    // expected-error @below {{the loop is not in another nest of the same block}}
    nest.for "j" %j = 0 to 8 {
      %p = nest.load %t[%j] : memref<8xf32>
      nest.store "y" %p, %y[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @later(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{the loop comes after it}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  // expected-note @below {{the loop is here}}
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @branch(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "k" %k = 0 to 1 {
    // expected-note @below {{it is inside of this}}
    nest.if %c {
      nest.for "o" %o = 0 to 2 {
        nest.for "i" %i = 0 to 4 {
          %a = nest.load %x[4 * %o + %i] : memref<8xf32>
          nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
        }
      }
    }
  }
  // expected-error @below {{the loop does not run in every iteration}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @bound(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is marked here}}
  nest.for "o" %o = 0 to 2 bind "block.x" {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{the loop "o" is block.x already}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @marked(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{cannot move the loop "j": it is parallel already}}
  nest.for "j" %j = 0 to 8 parallel {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @consumer_fails(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{an error must leave behind what it does in program order}}
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{this check can fail}}
    %k = nest.index %j + %n of 8 axis 0 of "y"
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%k] : memref<8xf32>
  }
  func.return
}

// -----

func.func @producer_fails(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      // expected-note @below {{this check can fail}}
      %k = nest.index 4 * %o + %i + %n of 8 axis 0 of "x"
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{an error must leave behind what it does in program order}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @computed_later(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-note @below {{this operation is needed}}
  %v = nest.load %x[0] : memref<8xf32>
  // expected-error @below {{it uses what is computed after the loop}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    %q = arith.addf %p, %v : f32
    nest.store "y" %q, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @unrelated(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is here}}
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{it reads nothing that the loop writes}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %x[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @computed_index(%m: memref<8xindex>, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %k = nest.load %m[%i] : memref<8xindex>
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      // expected-note @below {{this statement writes the part}}
      nest.store "t" %a, %t[%k] : memref<8xf32>
    }
  }
  // expected-error @below {{an index is computed inside the loop}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @steps(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{the loop "j" has a step}}
  // expected-note @below {{the loop is here}}
  nest.for "j" %j = 0 to 8 step 2 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @computed_bound(%s: memref<2xindex>, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "k" %k = 0 to 2 {
    %m = nest.load %s[%k] : memref<2xindex>
    // expected-note @below {{the loop is here}}
    nest.for "o" %o = 0 to 2 {
      nest.for "i" %i = 0 to 4 {
        %a = nest.load %x[4 * %o + %i] : memref<8xf32>
        nest.store "t" %a, %t[%m + 4 * %o + %i] : memref<8xf32>
      }
    }
  }
  // expected-error @below {{a bound is computed in the nest of the loop}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @more_than_written(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is here}}
  nest.for "o" %o = 0 to %n {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{some of its iterations would run in no iteration of the loop}}
  // expected-note @below {{the iterations of this loop}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @overlapping(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is here}}
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[3 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{some of its iterations would run in several iterations of the loop}}
  // expected-note @below {{the iterations of this loop}}
  nest.for "j" %j = 0 to 7 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @scalar(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<f32>
  nest.store "t" %zero, %t[] : memref<f32>
  // expected-note @below {{the loop is here}}
  nest.for "o" %o = 0 to 8 {
    %a = nest.load %x[%o] : memref<8xf32>
    nest.accumulate "t" add %a, %t[] : memref<f32>
  }
  // expected-error @below {{some of its iterations would run in several iterations of the loop}}
  // expected-note @below {{the iterations of this loop}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[] : memref<f32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

// Blocks are made in parallel: that of a neighbour may not be complete.
func.func @stencil(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 parallel {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      // expected-note @below {{this access}}
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{something that runs before it would run after it}}
  nest.for "j" %j = 1 to 7 {
    %p = nest.load %t[%j - 1] : memref<8xf32>
    // expected-note @below {{touches an element of this one}}
    %q = nest.load %t[%j + 1] : memref<8xf32>
    %r = arith.addf %p, %q : f32
    nest.store "y" %r, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @overwritten_input(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      // expected-note @below {{this access}}
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{something that runs before it would run after it}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    // expected-note @below {{touches an element of this one}}
    nest.store "y" %p, %x[7 - %j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @between(%v: f32, %x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-note @below {{this access}}
  nest.accumulate "y" add %v, %y[3] : memref<8xf32>
  // expected-error @below {{something that runs before it would run after it}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    // expected-note @below {{touches an element of this one}}
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @unknown_between(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-note @below {{this access}}
  func.call @unknown_between(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  // expected-error @below {{something that runs before it would run after it}}
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{touches an element of this one}}
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @backwards(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[7 - 4 * %o - %i] : memref<8xf32>
    }
  }
  // expected-error @below {{its own iterations would run in another order}}
  nest.for "j" %j = 1 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    // expected-note @below {{touches an element of this one}}
    %q = nest.load %y[%j - 1] : memref<8xf32>
    %r = arith.addf %p, %q : f32
    // expected-note @below {{this access}}
    nest.store "y" %r, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

// In a loop that runs in parallel, two iterations write one element.
func.func @race(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "o" %o = 0 to 2 parallel {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  // expected-error @below {{its own iterations would run in another order}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    // expected-note @below {{this access}}
    // expected-note @below {{touches an element of this one}}
    nest.store "y" %p, %y[0] : memref<8xf32>
  }
  func.return
}

// -----

// Sums may be taken in any order, but not by two threads at a time.
func.func @sums_of_threads(%x: memref<2x8xf32>, %s: memref<8xf32>) {
  %t = nest.alloc "t" : memref<2x8xf32>
  nest.for "o" %o = 0 to 2 parallel {
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%o, %i] : memref<2x8xf32>
      nest.store "t" %a, %t[%o, %i] : memref<2x8xf32>
    }
  }
  // expected-error @below {{its own iterations would run in another order}}
  nest.for "j" %j = 0 to 2 {
    nest.for "k" %k = 0 to 8 {
      %p = nest.load %t[%j, %k] : memref<2x8xf32>
      // expected-note @below {{this access}}
      // expected-note @below {{touches an element of this one}}
      nest.accumulate "s" add %p, %s[%k] : memref<8xf32>
    }
  }
  func.return
}

// -----

// The loop reads what is stored between the nests: the store cannot move before it.
func.func @start_is_read(%x: memref<64xf32>, %s: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<64xf32>
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 16 {
      // expected-note @below {{this access}}
      %a = nest.load %s[] : memref<f32>
      nest.store "t" %a, %t[16 * %o + %i] : memref<64xf32>
    }
  }
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{something that runs before it would run after it}}
  nest.for "j" %j = 0 to 64 {
    %p = nest.load %t[%j] : memref<64xf32>
    // expected-note @below {{touches an element of this one}}
    nest.accumulate "s" add %p, %s[] : memref<f32>
  }
  func.return
}
