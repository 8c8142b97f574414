// Every way in which a nest is not what the intrinsic says, or a window not what its argument takes: both places are shown.
// RUN: opt-tool %s -p 'nest-tensorize{loop=i intrinsic=t}' --split-input-file --verify-diagnostics

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": there is no such intrinsic}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// expected-note @below {{it has no attribute nest.intrinsic}}
func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": it is a function, not an intrinsic}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// expected-note @below {{the intrinsic}}
func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  %c = arith.constant 0.0 : f32
  // expected-error @below {{cannot tensorize the loop "i" to "t": the loop is the definition of that intrinsic}}
  nest.for "i" %i = 0 to 8 {
    nest.store %c, %x[%i] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

// -----

// expected-note @below {{results are written to memref arguments}}
func.func private @t(%a: f32) -> f32 attributes {nest.intrinsic} {
  func.return %a : f32
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the intrinsic has results}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// expected-note @below {{the intrinsic}}
func.func private @t(memref<8xf32, strided<[1], offset: ?>>, memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the intrinsic has no body that says what it means}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %a: f32) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  // expected-note @below {{outside of its nest}}
  %b = arith.addf %a, %a : f32
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the body of the intrinsic is more than one nest}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// expected-note @below {{the intrinsic}}
func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  nest.for "m" %m = 0 to 8 {
    %u = nest.load %x[%m] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%m] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the body of the intrinsic is 2 nests}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// expected-note @below {{the intrinsic}}
func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %a: f32) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": nothing says what the argument "a" is}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// expected-note @below {{the intrinsic}}
func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %z: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": nothing says what the argument "z" is}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  // expected-note @below {{in the intrinsic}}
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the loop "i" is marked parallel already}}
  // expected-note @below {{in the nest}}
  nest.for "i" %i = 0 to 8 parallel {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  // expected-note @below {{in the intrinsic}}
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>, %n: index) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the loop "i" and the loop "l" of the intrinsic: a bound is a min or max of several expressions}}
  // expected-note @below {{in the nest}}
  nest.for "i" %i = 0 to min(8, %n) {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  // expected-note @below {{in the intrinsic}}
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the loop "i" and the loop "l" of the intrinsic have steps 2 and 1}}
  // expected-note @below {{in the nest}}
  nest.for "i" %i = 0 to 8 step 2 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  // expected-note @below {{in the intrinsic}}
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the loop "i" and the loop "l" of the intrinsic have different extents}}
  // expected-note @below {{in the nest}}
  nest.for "i" %i = 0 to 9 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %s: index) attributes {nest.intrinsic} {
  // expected-note @below {{in the intrinsic}}
  nest.for "l" %l = %s to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": nothing says what the lower bound of "l" is}}
  // expected-note @below {{in the nest}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %s: index) attributes {nest.intrinsic} {
  // expected-note @below {{in the intrinsic}}
  nest.for "l" %l = 0 to %s + 1 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": nothing says what the upper bound of "l" is}}
  // expected-note @below {{in the nest}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %n: index) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    nest.for "m" %m = 0 to %n {
    %u = nest.load %x[%m] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%m] : memref<8xf32, strided<[1], offset: ?>>
    }
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the extent of the loop "j" varies in the nest}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    nest.for "j" %j = 0 to %i {
    %u = nest.load %x[%j] : memref<64xf32>
    nest.store %u, %y[%j] : memref<64xf32>
    }
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  // expected-note @below {{in the intrinsic}}
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the nest has one operation more, 'nest.store'}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
    // expected-note @below {{in the nest}}
    nest.store %u, %y[%i + 9] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{in the intrinsic}}
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the intrinsic has one operation more, 'nest.store'}}
  // expected-note @below {{in the nest}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{in the intrinsic}}
    %v = arith.addf %u, %u : f32
    nest.store %v, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the nest has 'arith.mulf' where the intrinsic has 'arith.addf'}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{in the nest}}
    %v = arith.mulf %u, %u : f32
    nest.store %v, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{in the intrinsic}}
    %v = arith.addf %u, %u : f32
    nest.store %v, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the two 'arith.addf' are not of one form}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{in the nest}}
    %v = arith.addf %u, %u fastmath<nnan> : f32
    nest.store %v, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{in the intrinsic}}
    nest.accumulate add %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the two 'nest.accumulate' are not of one form}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{in the nest}}
    nest.accumulate add %u, %y[%i] order(sequential) : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %k = nest.index %l of 8 axis 0 of "x"
    %u = nest.load %x[%k] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": 'nest.index' cannot be part of an intrinsic}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %k = nest.index %i of 8 axis 0 of "x"
    %u = nest.load %x[%k] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %a: f32) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    nest.store %a, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%y: memref<64xf64>, %a: f64) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": an operand is f64 in the nest, f32 there}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    nest.store %a, %y[%i] : memref<64xf64>
  }
  func.return
}

// -----

func.func private @t(%y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %c = arith.constant 0.0 : f32
    // expected-note @below {{in the intrinsic}}
    nest.store %c, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": 'nest.store' has another operand in the intrinsic}}
  nest.for "i" %i = 0 to 8 {
    %c = arith.constant -0.0 : f32
    // expected-note @below {{in the nest}}
    nest.store %c, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %a: f32) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{in the intrinsic}}
    nest.store %a, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": 'nest.store' has another operand in the intrinsic}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{in the nest}}
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %z: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    %v = arith.addf %u, %u : f32
    // expected-note @below {{in the intrinsic}}
    %w = arith.mulf %u, %v : f32
    nest.store %w, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": 'arith.mulf' has another operand in the intrinsic}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    %v = arith.addf %u, %u : f32
    // expected-note @below {{in the nest}}
    %w = arith.mulf %v, %v : f32
    nest.store %w, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %a = arith.index_cast %l : index to i64
    %u = arith.sitofp %a : i64 to f32
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%y: memref<64xf32>, %n: index) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": 'arith.index_cast' has another operand in the intrinsic}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %a = arith.index_cast %n : index to i64
    %u = arith.sitofp %a : i64 to f32
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>, %n: index) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": a statement of the nest has a domain}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{it runs under a condition}}
    nest.store %u, %y[%i] where (%i < %n) : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %m: i1) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{it runs under a condition}}
    nest.store %u, %y[%l] mask %m : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": a statement of the intrinsic has a domain}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{in the intrinsic}}
    %w = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    %s = arith.addf %u, %w : f32
    nest.store %s, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %z: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": one buffer of the intrinsic would be two buffers of the nest}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{in the nest}}
    %w = nest.load %z[%i] : memref<64xf32>
    %s = arith.addf %u, %w : f32
    nest.store %s, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%a: f32, %s: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %q = nest.alloc "q" : memref<8xf32>
    // expected-note @below {{in the intrinsic}}
    nest.store %a, %s[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%a: f32) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the buffer is made inside the nest}}
  nest.for "i" %i = 0 to 8 {
    %t = nest.alloc "t" : memref<8xf32>
    // expected-note @below {{in the nest}}
    nest.store %a, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func private @t(%a: f32) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %q = nest.alloc "q" : memref<8xf32>
    // expected-note @below {{in the intrinsic}}
    nest.store %a, %q[%l] : memref<8xf32>
  }
  func.return
}

func.func @f(%a: f32) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the two access different elements}}
  nest.for "i" %i = 0 to 8 {
    %t = nest.alloc "t" : memref<8xf32>
    // expected-note @below {{in the nest}}
    nest.store %a, %t[7 - %i] : memref<8xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>, 3 : i64>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{in the intrinsic}}
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>, 3 : i64>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the argument "y" is in another memory space}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{in the nest}}
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%y: memref<1x8xf32, strided<[?, 1], offset: ?>>, %a: f32) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    nest.store %a, %y[0, %l] : memref<1x8xf32, strided<[?, 1], offset: ?>>
  }
  func.return
}

func.func @f(%y: memref<4x4x64xf32>, %a: f32) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": which axis of the buffer is an axis of the argument "y" of extent 1 is ambiguous}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    nest.store %a, %y[0, 0, %i] : memref<4x4x64xf32>
  }
  func.return
}

// -----

func.func private @t(%y: memref<1x8xf32, strided<[?, 1], offset: ?>>, %a: f32) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    nest.store %a, %y[0, %l] : memref<1x8xf32, strided<[?, 1], offset: ?>>
  }
  func.return
}

func.func @f(%y: memref<64xf32>, %a: f32) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the argument "y" has 2 axes, the buffer 1}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    nest.store %a, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the elements accessed are not those of one window for the argument "x"}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[2 * %i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    // expected-note @below {{in the intrinsic}}
    %w = nest.load %x[7 - %l] : memref<8xf32, strided<[1], offset: ?>>
    %s = arith.addf %u, %w : f32
    nest.store %s, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the elements accessed are not those of one window for the argument "x"}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{in the nest}}
    %w = nest.load %x[8 - %i] : memref<64xf32>
    %s = arith.addf %u, %w : f32
    nest.store %s, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>, %s: index) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l + %s] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": nothing says what an index of the intrinsic is}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i + 3] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<8xf32>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the argument "x" is contiguous, and the window need not be}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1]>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<8xf32, strided<[1]>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the argument "x" begins at a fixed offset, the window elsewhere}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i + 8] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32, strided<[?]>>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the stride 0 of the argument "x" is 1, that of the window is not known}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i] : memref<64xf32, strided<[?]>>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32, strided<[2]>>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the stride 0 of the argument "x" is 1, that of the window 2}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i] : memref<64xf32, strided<[2]>>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32, affine_map<(d0) -> (d0 mod 8)>>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the buffer has a layout without strides}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i] : memref<64xf32, affine_map<(d0) -> (d0 mod 8)>>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 4 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the window that would be the argument "x" is not proved to be inside its buffer}}
  nest.for "i" %i = 0 to 4 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i] : memref<?xf32>
    nest.store %u, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l + 1] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": this is not proved to be inside the argument "x"}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i + 1] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l - 1] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": this is not proved to be inside the argument "x"}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i + 5] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<?xf32, strided<[1], offset: ?>>, %y: memref<?xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32, strided<[1], offset: ?>>
  nest.for "l" %l = 0 to %n {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<?xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<?xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the extent 0 of the argument "x" is not proved to be at least 0}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i] : memref<?xf32>
    nest.store %u, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<?xf32, strided<[1], offset: ?>> {nest.dims = ["n"]}, %y: memref<?xf32, strided<[1], offset: ?>> {nest.dims = ["n"]}) attributes {nest.intrinsic} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32, strided<[1], offset: ?>>
  nest.for "l" %l = 0 to %n {
    // expected-note @below {{in the intrinsic}}
    %u = nest.load %x[%l] : memref<?xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<?xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the extent 0 of the argument "x" is not proved to be at least 2}}
  nest.for "i" %i = 0 to 1 {
    // expected-note @below {{in the nest}}
    %u = nest.load %x[%i] : memref<64xf32>
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32>) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the argument "x" and the argument "y" may overlap, and one is written}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{one accesses this}}
    %u = nest.load %x[%i + 1] : memref<64xf32>
    // expected-note @below {{the other this}}
    nest.store %u, %x[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<64xf32> {nest.alias_set = 1 : i64}, %y: memref<64xf32> {nest.alias_set = 1 : i64}) {
  // expected-error @below {{cannot tensorize the loop "i" to "t": the argument "x" and the argument "y" may overlap, and one is written}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{one accesses this}}
    %u = nest.load %x[%i] : memref<64xf32>
    // expected-note @below {{the other this}}
    nest.store %u, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

// The extent of the argument is not known there, but what is left of the buffer is one row.
func.func private @t(%y: memref<?x8xf32, strided<[?, 1], offset: ?>>, %a: f32) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    // expected-note @below {{in the intrinsic}}
    nest.store %a, %y[0, %l] : memref<?x8xf32, strided<[?, 1], offset: ?>>
  }
  func.return
}

func.func @f(%y: memref<4x1x8xf32>, %a: f32) {
  // expected-error @below {{which axis of the buffer is an axis of the argument "y" of extent 1 is ambiguous}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{in the nest}}
    nest.store %a, %y[3, 0, %i] : memref<4x1x8xf32>
  }
  func.return
}

// -----

func.func private @t(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[%l] : memref<8xf32, strided<[1], offset: ?>>
    nest.store %u, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  // expected-note @below {{here}}
  nest.for "b" %b = 0 to 8 bind "block.x" {
    %u = nest.load %x[%b] : memref<8xf32>
    nest.store %u, %z[%b] : memref<8xf32>
  }
  // expected-error @below {{cannot tensorize the loop "i": the loop "b" of this function is bound to block.x, and a GPU has no code for that}}
  nest.for "i" %i = 0 to 8 {
    %u = nest.load %x[%i] : memref<8xf32>
    nest.store %u, %y[%i] : memref<8xf32>
  }
  func.return
}
