// Buffers that a loop cannot write through a copy, and why.
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=i}' --split-input-file --verify-diagnostics

func.func @view(%y: memref<2x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %v = memref.collapse_shape %y [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  // expected-error @below {{cannot cache what is written of the buffer "y" in the loop "i": another access in the loop may touch the same memory}}
  nest.for "i" %i = 0 to 4 {
    nest.store "y" %zero, %y[1, %i] : memref<2x4xf32>
    // expected-note @below {{touches "v"}}
    %a = nest.load %v[%i] : memref<8xf32>
    nest.store "y" %a, %y[1, %i] : memref<2x4xf32>
  }
  func.return
}

// -----

// "x" is written before "y" is read: a copy that is loaded first would hold what was there before.
func.func @written_before(%v: f32, %x: memref<8xf32> {nest.alias_set = 1 : i64}, %y: memref<8xf32> {nest.alias_set = 1 : i64}) {
  // expected-error @below {{another access in the loop may touch the same memory}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{touches "x"}}
    nest.store "x" %v, %x[%i] : memref<8xf32>
    %a = nest.load %y[%i] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    nest.store "y" %b, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

// What goes back as it was loaded, elements 1 and 3 of a window of five, may be what "x" was written to.
func.func @written_between(%v: f32, %x: memref<40xf32> {nest.alias_set = 1 : i64}, %y: memref<40xf32> {nest.alias_set = 1 : i64}) {
  // expected-error @below {{another access in the loop may touch the same memory}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{touches "x"}}
    nest.store "x" %v, %x[%i] : memref<40xf32>
    nest.for "j" %j = 0 to 6 step 2 {
      nest.store "y" %v, %y[5 * %i + %j] : memref<40xf32>
    }
  }
  func.return
}

// -----

func.func @not_written(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{nothing in the loop writes it}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %y[%i] : memref<8xf32>
    nest.store "x" %a, %x[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @error(%n: index, %x: memref<?xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @below {{an error in the loop would lose what was written before it}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this check can fail}}
    %k = nest.index %i + %n of %m axis 0 of "x"
    %a = nest.load %x[%k] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @pair(%x: memref<8xf32>, %y: memref<9xf32>, %z: memref<9xf32>) {
  // expected-error @below {{"z", which is reduced together with it, is touched in another part}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{here}}
    %a = nest.load %z[%i + 1] : memref<9xf32>
    nest.accumulate "y" custom (%a, %a), (%y, %z)[%i] {
    ^bb0(%b: f32, %l: f32, %c: f32, %m: f32):
      nest.yield %c, %m : f32, f32
    } : memref<9xf32>, memref<9xf32>
  }
  func.return
}

// -----

func.func @computed(%n: memref<8xi64>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{an index is computed inside the loop}}
  nest.for "i" %i = 0 to 8 {
    %k = nest.load %n[%i] : memref<8xi64>
    %m = arith.index_cast %k : i64 to index
    // expected-note @below {{the access is here}}
    nest.store "y" %zero, %y[%m] : memref<8xf32>
  }
  func.return
}

// -----

func.func @result(%c: i1, %x: memref<8xf32>, %y: memref<8xf32> {nest.role = "out"}) {
  // expected-error @below {{it is not proved that the loop writes all of the copy before it reads it, and they may never have been written: it is a result}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] mask %c : memref<8xf32>
  }
  func.return
}

// -----

func.func @threads(%x: memref<17xf32>, %y: memref<17xf32>) {
  // expected-error @below {{elements that the loop may not write would be written back, and other iterations may write them concurrently}}
  // expected-note @below {{in parallel here}}
  nest.for "i" %i = 0 to 8 parallel {
    nest.for "j" %j = 0 to 2 {
      %a = nest.load %x[%i + 8 * %j] : memref<17xf32>
      nest.store "y" %a, %y[%i + 8 * %j] : memref<17xf32>
    }
  }
  func.return
}

// -----

// What the sums read was stored in the same iteration, by two statements together: it proves nothing of the time before.
func.func @two_stores(%n: index, %z: i32, %v: i32, %y: memref<?x2xi32> {nest.role = "out"}) {
  // expected-error @below {{it is not proved that the loop writes all of the copy before it reads it, and they may never have been written: it is a result}}
  nest.for "i" %o = 0 to %n {
    nest.store "y" %z, %y[%o, 0] : memref<?x2xi32>
    nest.for "t" %t = 1 to 2 {
      nest.store "y" %z, %y[%o, %t] : memref<?x2xi32>
    }
    nest.for "j" %j = 0 to 2 {
      nest.accumulate "y" add %v, %y[%o, %j] : memref<?x2xi32>
    }
  }
  func.return
}

// -----

// Either way an element is stored, but not the same one: element 7 only if the branch is taken.
func.func @either_way(%zero: f32, %x: memref<8xf32>, %y: memref<4x8xf32> {nest.role = "out"}) {
  // expected-error @below {{it is not proved that the loop writes all of the copy before it reads it, and they may never have been written: it is a result}}
  nest.for "i" %o = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%j] : memref<8xf32>
      %c = arith.cmpf ogt, %a, %zero : f32
      nest.if %c {
        nest.store "y" %a, %y[%o, %j] : memref<4x8xf32>
      } else {
        nest.store "y" %zero, %y[%o, %j] where (%j < 7) : memref<4x8xf32>
      }
    }
  }
  func.return
}

// -----

// The branches depend on different values: both may be left out.
func.func @two_branches(%c: i1, %d: i1, %a: f32, %y: memref<4xf32> {nest.role = "out"}) {
  // expected-error @below {{it is not proved that the loop writes all of the copy before it reads it, and they may never have been written: it is a result}}
  nest.for "i" %i = 0 to 4 {
    nest.if %c {
      nest.store "y" %a, %y[%i] : memref<4xf32>
    } else {
      nest.if %d {
        nest.store "y" %a, %y[%i] : memref<4xf32>
      }
    }
  }
  func.return
}

// -----

func.func @atomic(%x: memref<8xi64>, %y: memref<8xi64>) {
  // expected-error @below {{other iterations update it at the same time}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xi64>
    // expected-note @below {{by this statement}}
    nest.accumulate "y" add %a, %y[%i mod 2] order(atomic) : memref<8xi64>
  }
  func.return
}
