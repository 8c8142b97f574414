// Consumers that cannot be inlined into the nest that computes a buffer, and why.
// RUN: opt-tool %s -p 'nest-reverse-compute-inline{buffer=t}' --split-input-file --verify-diagnostics

func.func @view(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot inline the consumer of the buffer "t": it is used by an operation other than loads and statements}}
  %t = nest.alloc "t" : memref<2x4xf32>
  // expected-note @below {{this operation uses it}}
  %v = memref.collapse_shape %t [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  func.return
}

// -----

func.func @nothing_writes(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot inline the consumer of the buffer "t": nothing writes it}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @reduction(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot inline the consumer of the buffer "t": it holds a reduction, whose elements are complete only later}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "t" add %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @two_stores(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{2 statements write it}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this statement writes it}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "h" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this statement writes it}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @mask(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its store has a mask}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{the store is here}}
    nest.store "t" %a, %t[%i] mask %c : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @nothing_reads(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{nothing reads it}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @two_readers(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{2 nests read it}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{it is read here}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  // expected-note @below {{it is read here}}
  nest.for "k" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @same_nest(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{the nest that writes it reads it as well}}
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{that nest is here}}
  nest.for "o" %o = 0 to 2 {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  }
  func.return
}

// -----

func.func @no_nest(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{what reads it is not a nest}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{it is read here}}
  %p = nest.load %t[3] : memref<8xf32>
  nest.store "y" %p, %y[3] : memref<8xf32>
  func.return
}

// -----

func.func @branch(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its store is not directly in a loop}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.if %c {
      // expected-note @below {{the store is here}}
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @other_elements(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its consumer needs other elements than the one that is there}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{the element is made here}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    // expected-note @below {{this load reads it}}
    %q = nest.load %t[0] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @later_elements(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this access}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-error @below {{something that runs before it would run after it}}
  nest.for "j" %j = 0 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    // expected-note @below {{touches an element of this one}}
    %q = nest.load %t[7 - %j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @branch_without_domain(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its consumer does not run for each element, and more than its statements would need a domain}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 1 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    %c = arith.cmpf ogt, %p, %p : f32
    // expected-note @below {{this operation cannot have one}}
    nest.if %c {
      nest.store "y" %p, %y[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @bound_without_domain(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xindex>) {
  // expected-error @below {{its consumer does not run for each element, and more than its statements would need a domain}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 1 to 8 {
    %p = nest.load %t[%j] : memref<8xf32>
    %m = nest.load %z[%j - 1] : memref<8xindex>
    // expected-note @below {{this operation cannot have one}}
    nest.for "k" %k = 0 to %m {
      nest.store "y" %p, %y[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @unwritten(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{an element that its consumer uses may be one that the store does not write}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{the store is here}}
    nest.store "t" %a, %t[%i] where (%i < 7) : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{this load reads it}}
    %p = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %p, %y[%j] : memref<8xf32>
  }
  func.return
}
