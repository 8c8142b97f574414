// Buffers that cannot be copied for a loop that reads them, and why.
// RUN: opt-tool %s -p 'nest-cache-read{buffer=x loop=i}' --split-input-file --verify-diagnostics

func.func @inside(%y: memref<8xf32>) {
  // expected-error @below {{cannot cache what is read of the buffer "x" in the loop "i": it is made inside the loop}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{here}}
    %x = nest.alloc "x" : memref<f32>
    %a = nest.load %x[] : memref<f32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @vectorized(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its iterations run together as a vector}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @inside_a_vector(%x: memref<8xf32>, %y: memref<8x8xf32>) {
  // expected-note @below {{the loop "v" is vectorized}}
  nest.for "v" %v = 0 to 8 vectorized(8) {
    // expected-error @below {{its iterations run together as a vector}}
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "y" %a, %y[%v, %i] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @between_threads(%x: memref<8xf32>, %y: memref<8x8xf32>) {
  nest.for "t" %t = 0 to 8 bind "thread.x" {
    // expected-error @below {{some loops over threads are around the copy and some are inside, so that it belongs to neither a thread nor a block}}
    nest.for "i" %i = 0 to 1 {
      // expected-note @below {{the loop "u" is bound to thread.y}}
      nest.for "u" %u = 0 to 8 bind "thread.y" {
        %a = nest.load %x[%u] : memref<8xf32>
        nest.store "y" %a, %y[%t, %u] : memref<8x8xf32>
      }
    }
  }
  func.return
}

// -----

func.func private @other()

func.func @unknown(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{it is not known which memory an operation in the loop touches}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this operation}}
    func.call @other() : () -> ()
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @written(%x: memref<8xf32>) {
  // expected-error @below {{the loop writes it as well, before it reads it}}
  nest.for "i" %i = 1 to 8 {
    nest.for "j" %j = 1 to 8 {
      %a = nest.load %x[%j - 1] : memref<8xf32>
      // expected-note @below {{writes "x"}}
      nest.store "x" %a, %x[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @aliased(%x: memref<8xf32> {nest.alias_set = 1 : i64}, %y: memref<8xf32> {nest.alias_set = 1 : i64}) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{the loop writes it as well, before it reads it}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{writes "y"}}
    nest.store "y" %zero, %y[%i] : memref<8xf32>
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @not_read(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{nothing in the loop reads it}}
  nest.for "i" %i = 0 to 8 {
    nest.store "y" %zero, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @checked_index(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{an index is computed inside the loop}}
  nest.for "i" %i = 0 to 8 {
    %k = nest.index %i - %n of 8 axis 0 of "x"
    // expected-note @below {{the access is here}}
    %a = nest.load %x[%k] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @computed_bound(%n: memref<8xi64>, %x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{the bounds of the loops inside depend on what is computed in the loop}}
  nest.for "i" %i = 0 to 8 {
    %k = nest.load %n[%i] : memref<8xi64>
    %m = arith.index_cast %k : i64 to index
    nest.for "j" %j = 0 to %m {
      // expected-note @below {{the access is here}}
      %a = nest.load %x[%j] : memref<8xf32>
      nest.store "y" %a, %y[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @two_places(%n: index, %m: index, %x: memref<?xf32>, %y: memref<8xf32>) {
  // expected-error @below {{the accesses do not stay in one box of affine bounds}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{the access is here}}
    %a = nest.load %x[%n] : memref<?xf32>
    %b = nest.load %x[%m] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    nest.store "y" %c, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @unwritten(%c: i1, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{it is made here}}
  %x = nest.alloc "x" : memref<16xf32>
  nest.for "k" %k = 0 to 8 {
    nest.store "x" %zero, %x[2 * %k] : memref<16xf32>
  }
  // expected-error @below {{the copy would hold elements that the loop may not read, and they may never have been written}}
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to 2 {
      %a = nest.load %x[4 * %i + 2 * %j] : memref<16xf32>
      nest.store "y" %a, %y[2 * %i + %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @result(%c: i1, %x: memref<8xf32> {nest.role = "out"}, %y: memref<8xf32>) {
  // expected-error @below {{they may never have been written: it is a result}}
  nest.for "i" %i = 0 to 8 {
    nest.if %c {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "y" %a, %y[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @threads(%x: memref<24xf32>, %y: memref<16xf32>) {
  nest.for "t" %t = 0 to 8 parallel {
    // expected-error @below {{the copy would hold elements that the loop may not read, and other iterations may write them concurrently}}
    nest.for "i" %i = 0 to 1 {
      nest.for "j" %j = 0 to 2 {
        %a = nest.load %x[3 * %t + 2 * %j] : memref<24xf32>
        nest.store "y" %a, %y[2 * %t + %j] : memref<16xf32>
      }
    }
    %b = nest.load %y[2 * %t] : memref<16xf32>
    // expected-note @below {{writes "x"}}
    nest.store "x" %b, %x[3 * %t + 1] : memref<24xf32>
  }
  func.return
}
