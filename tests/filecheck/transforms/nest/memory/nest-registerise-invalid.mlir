// Elements that cannot be kept in registers, and why.
// RUN: opt-tool %s -p 'nest-registerise{loop=k buffer=s}' --split-input-file --verify-diagnostics

func.func @varies(%n: index, %s: memref<?xf32>, %x: f32) {
  // expected-error @below {{cannot registerise the buffer "s" in the loop "k": no access to it goes to one element in all iterations}}
  nest.for "k" %k = 0 to %n {
    nest.store "s" %x, %s[%k] : memref<?xf32>
  }
  func.return
}

// -----

func.func @met(%n: index, %s: memref<?xf32>) {
  // expected-error @below {{cannot registerise the buffer "s" in the loop "k": another access in the loop may touch the element}}
  nest.for "k" %k = 0 to %n {
    // expected-note @below {{uses "s"}}
    %a = nest.load %s[5] : memref<?xf32>
    // expected-note @below {{the other access is here}}
    nest.store "s" %a, %s[%k] : memref<?xf32>
  }
  func.return
}

// -----

// One iteration of the loop inside is enough for the store, though the load is in none.
func.func @met_inside(%n: index, %s: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{another access in the loop may touch the element}}
  nest.for "k" %k = 0 to %n {
    nest.for "v" %v = 0 to %k {
      // expected-note @below {{uses "s"}}
      %a = nest.load %s[%n] : memref<?xf32>
      nest.store "y" %a, %y[%v] : memref<?xf32>
    }
    %b = nest.load %y[%k] : memref<?xf32>
    // expected-note @below {{the other access is here}}
    nest.store "s" %b, %s[%k + 1] : memref<?xf32>
  }
  func.return
}

// -----

func.func @aliased(%n: index, %s: memref<?xf32> {nest.alias_set = 1 : i64}, %t: memref<?xf32> {nest.alias_set = 1 : i64}) {
  // expected-error @below {{another access in the loop may touch the element}}
  nest.for "k" %k = 0 to %n {
    // expected-note @below {{the other access is here}}
    %a = nest.load %t[%k] : memref<?xf32>
    // expected-note @below {{uses "s"}}
    nest.accumulate "s" add %a, %s[0] : memref<?xf32>
  }
  func.return
}

// -----

func.func @fails(%n: index, %x: memref<?xf32>, %j: index, %s: memref<?xf32>) {
  // expected-error @below {{an error in the loop would lose what was written before it}}
  nest.for "k" %k = 0 to %n {
    // expected-note @below {{this check can fail}}
    %q = nest.index %k + %j of %n axis 0 of "x"
    %a = nest.load %x[%q] : memref<?xf32>
    nest.accumulate "s" add %a, %s[0] : memref<?xf32>
  }
  func.return
}

// -----

func.func @together(%n: index, %x: memref<?xf32>, %i: i32, %s: memref<f32>, %t: memref<i32>) {
  // expected-error @below {{a reduction updates it together with another buffer, at the same indices}}
  nest.for "k" %k = 0 to %n {
    %a = nest.load %x[%k] : memref<?xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" custom (%a, %i), (%s, %t)[] identity [-1.0 : f32, 7 : i32] {
    ^bb0(%old: f32, %was: i32, %new: f32, %is: i32):
      nest.yield %new, %is : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

func.func @made(%n: index, %x: memref<?xf32>) {
  // expected-error @below {{cannot registerise the buffer "s" in the loop "k": it is made inside the loop}}
  nest.for "k" %k = 0 to %n {
    // expected-note @below {{here}}
    %s = nest.alloc "s" : memref<f32>
    %a = nest.load %x[%k] : memref<?xf32>
    nest.store "s" %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @unwritten(%n: index, %x: memref<?xf32>, %s: memref<f32> {nest.role = "out"}) {
  // expected-error @below {{no access to the element is certain, and it may be unwritten, or written by other threads}}
  nest.for "k" %k = 0 to %n {
    %a = nest.load %x[%k] : memref<?xf32>
    // expected-note @below {{uses "s"}}
    nest.store "s" %a, %s[] where (%k >= 3) : memref<f32>
  }
  func.return
}

// -----

// The other threads have the element too, but for one of them there is none.
func.func @threads(%n: index, %x: memref<?x?xf32>, %s: memref<?xf32>) {
  nest.for "t" %t = 0 to 8 parallel {
    // expected-error @below {{no access to the element is certain, and it may be unwritten, or written by other threads}}
    nest.for "k" %k = 0 to %n {
      %a = nest.load %x[%t, %k] : memref<?x?xf32>
      // expected-note @below {{uses "s"}}
      nest.accumulate "s" add %a, %s[0] where (%t < 1) : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @shared(%n: index, %x: memref<?x?xf32>, %s: memref<?xf32>, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot registerise the buffer "s" in the loop "k": local memory is that of a thread, and threads would use it together}}
  nest.for "k" %k = 0 to %n {
    // expected-note @below {{the loop "t" is parallel}}
    nest.for "t" %t = 0 to 8 parallel {
      %a = nest.load %s[5] : memref<?xf32>
      nest.store "y" %a, %y[%k, %t] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @marked(%x: memref<8xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot registerise the loop "k": it is unrolled already}}
  nest.for "k" %k = 0 to 8 unrolled {
    %a = nest.load %x[%k] : memref<8xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @lanes(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "v" %v = 0 to 8 vectorized(8) {
    // expected-error @below {{cannot registerise the loop "k": it is inside of the vectorized loop "v"}}
    nest.for "k" %k = 0 to 8 {
      %a = nest.load %x[%k, %v] : memref<8x8xf32>
      nest.accumulate "s" add %a, %s[%v] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @atomic(%n: index, %s: memref<i64>, %x: memref<?xi64>) {
  // expected-error @below {{other iterations update it at the same time}}
  nest.for "k" %k = 0 to %n {
    %a = nest.load %x[%k] : memref<?xi64>
    // expected-note @below {{by this statement}}
    nest.accumulate "s" add %a, %s[] order(atomic) : memref<i64>
  }
  func.return
}
