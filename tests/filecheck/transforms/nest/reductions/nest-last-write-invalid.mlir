// Loops of which the last write cannot be looked for, and why.
// RUN: opt-tool %s -p 'nest-last-write{loop=i}' --split-input-file --verify-diagnostics

func.func @two(%v: memref<8xf32>, %y: memref<16xf32>) {
  // expected-error @below {{cannot look for the last write of the loop "i": its loops are not perfectly nested around one store}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %v[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<16xf32>
    nest.store "y" %a, %y[%i + 1] : memref<16xf32>
  }
  func.return
}

// -----

func.func @checked(%v: memref<8xf32>, %b: memref<8xi64>, %y: memref<16xf32>) {
  // expected-error @below {{an error in it would come at another time}}
  nest.for "i" %i = 0 to 8 {
    %w = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %w : i64 to index
    // expected-note @below {{here}}
    %0 = nest.index %k of 16 axis 0 of "y"
    %a = nest.load %v[%i] : memref<8xf32>
    nest.store "y" %a, %y[%0] : memref<16xf32>
  }
  func.return
}

// -----

func.func @updates(%v: memref<8xf32>, %s: memref<f32>, %y: memref<16xf32>) {
  // expected-error @below {{it does something beside the store}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %v[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.accumulate "s" add %a, %s[] : memref<f32>
    nest.store "y" %a, %y[%i] : memref<16xf32>
  }
  func.return
}

// -----

func.func @reads(%b: memref<8xi64>, %y: memref<16xf32>) {
  // expected-error @below {{it reads what it writes, or what may share memory with it}}
  nest.for "i" %i = 0 to 8 {
    %w = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %w : i64 to index
    // expected-note @below {{here}}
    %a = nest.load %y[%i] : memref<16xf32>
    nest.store "y" %a, %y[%k] : memref<16xf32>
  }
  func.return
}

// -----

func.func @sometimes(%v: memref<8xf32>, %b: memref<8xi64>, %y: memref<16xf32>) {
  // expected-error @below {{the store is not always done}}
  nest.for "i" %i = 0 to 8 {
    %w = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %w : i64 to index
    %a = nest.load %v[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "y" %a, %y[%k] where (%i >= 3) : memref<16xf32>
  }
  func.return
}

// -----

func.func @one(%v: memref<8xf32>, %y: memref<f32>) {
  // expected-error @below {{all iterations write one element}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %v[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "y" %a, %y[] : memref<f32>
  }
  func.return
}

// -----

func.func @later(%v: memref<8xf32>, %b: memref<8xi64>, %y: memref<16xf32>) {
  // expected-error @below {{a loop does not run from 0 in steps of 1 to one bound}}
  // expected-note @below {{here}}
  nest.for "i" %i = 1 to 8 {
    %w = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %w : i64 to index
    %a = nest.load %v[%i] : memref<8xf32>
    nest.store "y" %a, %y[%k] : memref<16xf32>
  }
  func.return
}

// -----

func.func @triangle(%v: memref<8xf32>, %b: memref<8xi64>, %y: memref<16xf32>) {
  // expected-error @below {{a bound is computed in the loop}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to %i {
      %w = nest.load %b[%j] : memref<8xi64>
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %v[%i] : memref<8xf32>
      nest.store "y" %a, %y[%k] : memref<16xf32>
    }
  }
  func.return
}

// -----

func.func @own(%v: memref<8xf32>) {
  // expected-error @below {{its loops are not perfectly nested around one store}}
  nest.for "i" %i = 0 to 8 {
    %y = nest.alloc "y" : memref<4xf32>
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %v[%i] : memref<8xf32>
      nest.store "y" %a, %y[%j] : memref<4xf32>
    }
  }
  func.return
}

// -----

func.func @lanes(%v: memref<8x4xf32>, %b: memref<8xi64>, %y: memref<16x4xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "j" %j = 0 to 4 vectorized(4) {
    // expected-error @below {{the loop "i": it is inside of the vectorized loop "j"}}
    nest.for "i" %i = 0 to 8 {
      %w = nest.load %b[%i] : memref<8xi64>
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %v[%i, %j] : memref<8x4xf32>
      nest.store "y" %a, %y[%k, %j] : memref<16x4xf32>
    }
  }
  func.return
}

// -----

func.func @bound(%v: memref<8xf32>, %b: memref<8xi64>, %y: memref<16xf32>) {
  // expected-error @below {{the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 8 parallel {
    %w = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %w : i64 to index
    %a = nest.load %v[%i] : memref<8xf32>
    nest.store "y" %a, %y[%k] : memref<16xf32>
  }
  func.return
}

// -----

// Each iteration would go over all elements, while others add to theirs.
func.func @in_parallel(%v: memref<8xf32>, %y: memref<16xf32>) {
  // expected-note @below {{here}}
  nest.for "p" %p = 0 to 16 parallel {
    // expected-error @below {{iterations of the loop "p" would touch each other's elements}}
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %v[%i] : memref<8xf32>
      nest.store "y" %a, %y[%p] : memref<16xf32>
    }
  }
  func.return
}
