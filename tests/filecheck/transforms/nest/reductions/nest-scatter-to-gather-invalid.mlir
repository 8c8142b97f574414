// Sums that are not gathered, and why.
// RUN: opt-tool %s -p 'nest-scatter-to-gather{buffer=x loop=i}' --split-input-file --verify-diagnostics

// A sweep in place, backwards: what is read was updated one iteration before, and what was stored is updated then.
func.func @gauss_seidel(%x: memref<12xf64>, %y: memref<12xf64>) {
  %zero = arith.constant 0.0 : f64
  // expected-error @below {{cannot gather what the loop "i" adds to "x": it can be moved neither before the loop nor behind it}}
  nest.for "i" %i = 1 to 11 {
    // expected-note @below {{it would come before this}}
    // expected-note @below {{it would come after this}}
    %g = nest.load %x[11 - %i] : memref<12xf64>
    nest.store "y" %g, %y[11 - %i] : memref<12xf64>
    nest.store "x" %zero, %x[11 - %i] : memref<12xf64>
    %v = nest.load %y[11 - %i] : memref<12xf64>
    // expected-note @below {{it is added here; after the loop,}}
    nest.accumulate "x" add %v, %x[10 - %i] : memref<12xf64>
    // expected-note @below {{it is added here; before the loop,}}
    nest.accumulate "x" add %v, %x[12 - %i] : memref<12xf64>
  }
  func.return
}

// -----

// What is added is overwritten later, and made only in the loop.
func.func @overwritten(%c: memref<8xf32>, %x: memref<9xf32>, %v: f32) {
  // expected-error @below {{it can be moved neither before the loop nor behind it}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{it would come before this}}
    nest.store "c" %v, %c[%i] : memref<8xf32>
    // expected-note @below {{what is added is read here; before the loop,}}
    // expected-note @below {{what is added is read here; after the loop,}}
    %g = nest.load %c[%i] : memref<8xf32>
    %w = arith.addf %g, %v : f32
    // expected-note @below {{it would come after this}}
    nest.store "c" %w, %c[%i] : memref<8xf32>
    nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

// -----

func.func @aliased(%c: memref<9xf32> {nest.alias_set = 0 : i64}, %x: memref<9xf32> {nest.alias_set = 0 : i64}) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": it depends on what is added to}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{here}}
    %g = nest.load %c[%i] : memref<9xf32>
    // expected-note @below {{it is added here}}
    nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

// -----

func.func @ordered(%c: memref<9xf32>, %x: memref<9xf32>) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": it adds nothing to it}}
  nest.for "i" %i = 0 to 8 {
    %g = nest.load %c[%i] : memref<9xf32>
    nest.accumulate "x" add %g, %x[%i + 1] order(sequential) : memref<9xf32>
  }
  func.return
}

// -----

func.func @from_data(%c: memref<9xf32>, %k: memref<9xindex>, %x: memref<9xf32>) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": an index is not affine in the variables of the loops}}
  nest.for "i" %i = 0 to 8 {
    %g = nest.load %c[%i] : memref<9xf32>
    %at = nest.load %k[%i] : memref<9xindex>
    // expected-note @below {{it is added here}}
    nest.accumulate "x" add %g, %x[%at] : memref<9xf32>
  }
  func.return
}

// -----

func.func @one(%c: memref<9xf32>, %x: memref<9xf32>, %k: index) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": all iterations add to one element}}
  nest.for "i" %i = 0 to 8 {
    %g = nest.load %c[%i] : memref<9xf32>
    // expected-note @below {{it is added here}}
    nest.accumulate "x" add %g, %x[%k] : memref<9xf32>
  }
  func.return
}

// -----

func.func @branch(%c: memref<9xf32>, %x: memref<9xf32>, %b: i1) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": something else than loops decides whether it is added}}
  nest.for "i" %i = 0 to 8 {
    nest.if %b {
      %g = nest.load %c[%i] : memref<9xf32>
      // expected-note @below {{it is added here}}
      nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
    }
  }
  func.return
}

// -----

func.func @stepped(%c: memref<9xf32>, %x: memref<9xf32>) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": a loop has a step}}
  nest.for "i" %i = 0 to 8 step 2 {
    %g = nest.load %c[%i] : memref<9xf32>
    nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

// -----

func.func @checked(%c: memref<9xf32>, %x: memref<9xf32>, %n: index) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": an error must be that of the first iteration in program order}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this check can fail}}
    %at = nest.index %i + 1 of %n axis 0 of "c"
    %g = nest.load %c[%at] : memref<9xf32>
    nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

// -----

func.func @apart(%c: memref<9xf32>, %x: memref<32xf32>) {
  // expected-error @below {{elements along an axis are 2 apart, and others in each iteration of a further loop}}
  nest.for "i" %i = 0 to 8 {
    nest.for "k" %k = 0 to 4 {
      %g = nest.load %c[%i] : memref<9xf32>
      // expected-note @below {{it is added here}}
      nest.accumulate "x" add %g, %x[2 * %i + 3 * %k] : memref<32xf32>
    }
  }
  func.return
}

// -----

func.func @own(%c: memref<9xf32>) {
  nest.for "t" %t = 0 to 2 {
    // expected-error @below {{cannot gather what the loop "i" adds to "x": the loop makes the buffer itself}}
    nest.for "i" %i = 0 to 8 {
      %x = nest.alloc "x" : memref<9xf32>
      %g = nest.load %c[%i] : memref<9xf32>
      nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
    }
  }
  func.return
}

// -----

func.func @scratch(%c: memref<9xf32>, %x: memref<9xf32>) {
  // expected-error @below {{it depends on "t", which the loop makes itself}}
  nest.for "i" %i = 0 to 8 {
    %t = nest.alloc "t" : memref<f32>
    %g = nest.load %c[%i] : memref<9xf32>
    nest.store "t" %g, %t[] : memref<f32>
    // expected-note @below {{here}}
    %h = nest.load %t[] : memref<f32>
    // expected-note @below {{it is added here}}
    nest.accumulate "x" add %h, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

// -----

func.func @marked(%c: memref<9xf32>, %x: memref<9xf32>) {
  // expected-error @below {{cannot gather what is added in the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 8 parallel {
    %g = nest.load %c[%i] : memref<9xf32>
    nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

// -----

func.func @in_a_vector(%c: memref<9xf32>, %x: memref<9xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "l" %l = 0 to 4 vectorized(4) {
    // expected-error @below {{cannot gather what is added in the loop "i": it is inside of the vectorized loop "l"}}
    nest.for "i" %i = 0 to 8 {
      %g = nest.load %c[%i] : memref<9xf32>
      nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
    }
  }
  func.return
}

// -----

// What a lookup records when it fails is that of one place in the program.
func.func @looked_up(%c: memref<9xf32>, %k: memref<9xi64>, %n: i64, %x: memref<9xf32>) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": it depends on the result of 'nest.lookup', which cannot be computed again}}
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %k[%i] : memref<9xi64>
    // expected-note @below {{here}}
    %at = nest.lookup %v of %n axis 0 of "c"
    %g = nest.load %c[%at] : memref<9xf32>
    // expected-note @below {{it is added here}}
    nest.accumulate "x" add %g, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

// -----

func.func @bounds_from_data(%c: memref<9xf32>, %ends: memref<9xindex>, %x: memref<9x9xf32>) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": the bounds of a loop are not affine in the variables of the loops around it}}
  nest.for "i" %i = 0 to 8 {
    %end = nest.load %ends[%i] : memref<9xindex>
    nest.for "k" %k = 0 to %end {
      %g = nest.load %c[%k] : memref<9xf32>
      nest.accumulate "x" add %g, %x[%i + 1, %k] : memref<9x9xf32>
    }
  }
  func.return
}

// -----

// Every second element, but from which one on to which one is the least of several numbers.
func.func @unknown_ends(%c: memref<?xf32>, %x: memref<?xf32>, %n: index, %m: index) {
  // expected-error @below {{cannot gather what the loop "i" adds to "x": which elements it adds to is not known before}}
  nest.for "i" %i = 0 to %n {
    nest.for "k" %k = 0 to min(3, %m) {
      %g = nest.load %c[%i] : memref<?xf32>
      // expected-note @below {{it is added here}}
      nest.accumulate "x" add %g, %x[2 * %i + 2 * %k] : memref<?xf32>
    }
  }
  func.return
}
