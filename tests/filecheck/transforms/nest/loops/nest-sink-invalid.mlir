// What cannot be repeated by each iteration of the inner loop stays, and why is said.
// RUN: opt-tool %s -p 'nest-sink{loop=i}' --split-input-file --verify-diagnostics

func.func @no_loop(%y: memref<8xf32>) {
  // expected-error @below {{cannot sink what is in the loop "i": its body does not end with a loop}}
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %y[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @nothing(%x: f32, %y: memref<8x8xf32>) {
  // expected-error @below {{cannot sink what is in the loop "i": nothing is before the loop "k"}}
  nest.for "i" %i = 0 to 8 {
    nest.for "k" %k = 0 to 8 {
      nest.store "y" %x, %y[%i, %k] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @statement(%x: f32, %s: memref<8xf32>, %y: memref<8x8xf32>) {
  // expected-error @below {{cannot sink what is in the loop "i": only loads and computations can be repeated}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{'nest.store' is neither}}
    nest.store "s" %x, %s[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 8 {
      nest.store "y" %x, %y[%i, %k] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @bound(%x: f32, %n: memref<8xi64>, %y: memref<8x8xf32>) {
  // expected-error @below {{cannot sink what is in the loop "i": the bounds of the loop "k" need it}}
  nest.for "i" %i = 0 to 8 {
    %e = nest.load %n[%i] : memref<8xi64>
    // expected-note @below {{this value}}
    %m = arith.index_cast %e : i64 to index
    nest.for "k" %k = 0 to min(8, %m) {
      nest.store "y" %x, %y[%i, %k] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @written(%y: memref<8xf32>) {
  // expected-error @below {{cannot sink what is in the loop "i": an iteration of the loop "k" may write what is loaded}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{loads an element of "y"}}
    %v = nest.load %y[0] : memref<8xf32>
    nest.for "k" %k = 0 to 8 {
      // expected-note @below {{which this may write}}
      nest.store "y" %v, %y[%k] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @marked(%x: memref<8xf32>, %y: memref<8x8xf32>) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    // expected-error @below {{cannot sink into the loop "k"}}
    nest.for "k" %k = 0 to 8 vectorized(8) {
      nest.store "y" %v, %y[%i, %k] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @marked(%s: memref<8xf32>, %y: memref<8x8xf32>) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %s[%i] : memref<8xf32>
    // expected-error @below {{cannot sink into the loop "k": it is parallel already}}
    nest.for "k" %k = 0 to 8 parallel {
      nest.store "y" %v, %y[%i, %k] : memref<8x8xf32>
    }
  }
  func.return
}
