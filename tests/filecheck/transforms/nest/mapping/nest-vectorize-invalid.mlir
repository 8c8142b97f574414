// Loops that cannot become lanes, and why.
// RUN: opt-tool %s -p 'nest-vectorize{loop=i width=16}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-vectorize.mlir -p 'nest-vectorize{loop=i}' --split-input-file 2>&1 | filecheck %s --check-prefix=WIDTH
// RUN: not opt-tool %S/nest-vectorize.mlir -p 'nest-vectorize{loop=i width=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not opt-tool %S/nest-vectorize.mlir -p 'nest-vectorize{loop=i width=65537}' --split-input-file 2>&1 | filecheck %s --check-prefix=MOST

// MOST: error: cannot vectorize the loop "i" by 65537: a vector has at most 65536 lanes
// WIDTH: error: cannot vectorize the loop "i": its extent is unknown
// ZERO: error: cannot vectorize the loop "i" by 0: the width must be positive

func.func @carried(%a: memref<64xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": a flow dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 1 to 64 {
    // expected-note @below {{reads the same element in a later one}}
    %v = nest.load %a[%i - 1] : memref<64xf32>
    // expected-note @below {{writes "a" in an earlier iteration of "i"}}
    nest.store "a" %v, %a[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @histogram(%k: memref<64xindex>, %one: i32, %h: memref<?xi32>) {
  // expected-error @below {{cannot vectorize the loop "i": two lanes may update one element}}
  nest.for "i" %i = 0 to 64 {
    %b = nest.load %k[%i] : memref<64xindex>
    // expected-note @below {{updates "h" in an earlier iteration and updates it again in a later one}}
    nest.accumulate "h" add %one, %h[%b] : memref<?xi32>
  }
  func.return
}

// -----

func.func @branch(%c: i1, %x: f32, %y: memref<64xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": its body is not straight-line code}}
  nest.for "i" %i = 0 to 64 {
    // expected-note @below {{'nest.if' has no vector form}}
    nest.if %c {
      nest.store "y" %x, %y[%i] : memref<64xf32>
    }
  }
  func.return
}

// -----

func.func @triangle(%x: f32, %y: memref<64x64xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": its body is not straight-line code}}
  nest.for "i" %i = 0 to 64 {
    // expected-note @below {{the bounds of the loop "k" inside it depend on "i"}}
    nest.for "k" %k = 0 to %i {
      nest.store "y" %x, %y[%i, %k] : memref<64x64xf32>
    }
  }
  func.return
}

// -----

func.func @inner(%x: f32, %y: memref<64x64xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": its body is not straight-line code}}
  nest.for "i" %i = 0 to 64 {
    // expected-note @below {{the loop "k" inside it is marked vectorized}}
    nest.for "k" %k = 0 to 64 vectorized(64) {
      nest.store "y" %x, %y[%i, %k] : memref<64x64xf32>
    }
  }
  func.return
}

// -----

func.func @step(%n: index, %m: index, %x: f32, %y: memref<64xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%n, %m) to min(%n + 8, 64) step 4 {
    nest.store "y" %x, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// The store of a lane stands before the load of an earlier one.
func.func @after(%x: f32, %a: memref<65xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": an anti dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 64 {
    // expected-note @below {{writes the same element in a later one}}
    nest.store "a" %x, %a[%i] : memref<65xf32>
    // expected-note @below {{reads "a" in an earlier iteration of "i"}}
    %v = nest.load %a[%i + 1] : memref<65xf32>
    nest.store "y" %v, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// In loops inside, lanes meet in another order than that of the statements.
func.func @loops(%a: memref<65x8xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": an anti dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 64 {
    nest.for "k" %k = 0 to 7 {
      // expected-note @below {{reads "a" in an earlier iteration of "i"}}
      %v = nest.load %a[%i + 1, %k + 1] : memref<65x8xf32>
      // expected-note @below {{writes the same element in a later one}}
      nest.store "a" %v, %a[%i, %k] : memref<65x8xf32>
    }
  }
  func.return
}

// -----

// Fifteen iterations apart are two lanes of one vector.
func.func @near(%a: memref<79xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": a flow dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 64 {
    // expected-note @below {{reads the same element in a later one}}
    %v = nest.load %a[%i] : memref<79xf32>
    // expected-note @below {{writes "a" in an earlier iteration of "i"}}
    nest.store "a" %v, %a[%i + 15] : memref<79xf32>
  }
  func.return
}

// -----

func.func @one_element(%x: f32, %y: memref<f32>) {
  // expected-error @below {{cannot vectorize the loop "i": all its iterations write one element}}
  nest.for "i" %i = 3 to 4 {
    // expected-note @below {{this element}}
    nest.store "y" %x, %y[] : memref<f32>
  }
  func.return
}

// -----

func.func @marked(%x: f32, %y: memref<16xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": it is unrolled already}}
  nest.for "i" %i = 0 to 16 unrolled {
    nest.store "y" %x, %y[%i] : memref<16xf32>
  }
  func.return
}

// -----

func.func @lanes(%x: f32, %y: memref<8x16xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "v" %v = 0 to 16 vectorized(16) {
    // expected-error @below {{cannot vectorize the loop "i": it is inside of the vectorized loop "v"}}
    nest.for "i" %i = 0 to 8 {
      nest.store "y" %x, %y[%i, %v] : memref<8x16xf32>
    }
  }
  func.return
}

// -----

func.func @fetched(%k: memref<?xindex>, %x: memref<?xf32>, %y: memref<16xf32>) {
  // expected-error @below {{cannot vectorize the loop "i": its body is not straight-line code}}
  nest.for "i" %i = 0 to 16 {
    %j = nest.load %k[%i + 8] : memref<?xindex>
    // expected-note @below {{a prefetch through indices computed in its iterations has no vector form}}
    nest.prefetch %x[%j] : memref<?xf32>
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<16xf32>
  }
  func.return
}

// -----

// One iteration at most depends on nothing, but the element is not one of the lanes'.

func.func @shared(%x: f32, %y: memref<8xf32>) {
  nest.for "j" %j = 0 to 2 {
    // expected-error @below {{cannot vectorize the loop "i": all its iterations write one element}}
    nest.for "i" %i = 0 to %j {
      nest.for "k" %k = 0 to 8 {
        // expected-note @below {{this element}}
        nest.store "y" %x, %y[%k] : memref<8xf32>
      }
    }
  }
  func.return
}

// -----

func.func @a_check(%x: memref<8x8xf32>, %y: memref<8xf32>, %n: index) {
  // expected-error @below {{cannot vectorize the loop "i": its body is not straight-line code}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{'nest.index' can stop the kernel}}
    %k = nest.index %n of 8 axis 0 of "x"
    %v = nest.load %x[%k, %i] : memref<8x8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @atomic(%b: memref<32xi64>, %h: memref<64xi64>) {
  // expected-error @below {{cannot vectorize the loop "i": an atomic update has no vector form}}
  nest.for "i" %i = 0 to 32 {
    %v = nest.load %b[%i] : memref<32xi64>
    %k = arith.index_cast %v : i64 to index
    // expected-note @below {{this update}}
    nest.accumulate "h" add %v, %h[%k] order(atomic) : memref<64xi64>
  }
  func.return
}
