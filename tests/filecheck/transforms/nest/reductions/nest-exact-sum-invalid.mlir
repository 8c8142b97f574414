// Reductions that do not become sums of integers, and why.
// RUN: opt-tool %s -p 'nest-exact-sum{loop=i}' --split-input-file --verify-diagnostics

func.func @checked(%v: memref<8xf32>, %b: memref<8xi64>, %y: memref<16xf32>) {
  // expected-error @below {{cannot add up integers in the loop "i": an error in it would come at another time}}
  nest.for "i" %i = 0 to 8 {
    %w = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %w : i64 to index
    // expected-note @below {{here}}
    %0 = nest.index %k of 16 axis 0 of "y"
    %a = nest.load %v[%i] : memref<8xf32>
    nest.accumulate "y" add %a, %y[%0] : memref<16xf32>
  }
  func.return
}

// -----

func.func @two(%v: memref<8xf32>, %y: memref<16xf32>) {
  // expected-error @below {{it does not have exactly one reduction}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %v[%i] : memref<8xf32>
    nest.accumulate "y" add %a, %y[%i] : memref<16xf32>
    nest.accumulate "y" add %a, %y[%i + 1] : memref<16xf32>
  }
  func.return
}

// -----

func.func @integers(%v: memref<8xi64>, %y: memref<16xi64>) {
  // expected-error @below {{it does not add up f32 or f64 numbers}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %v[%i] : memref<8xi64>
    // expected-note @below {{here}}
    nest.accumulate "y" add %a, %y[%i] : memref<16xi64>
  }
  func.return
}

// -----

func.func @ordered(%v: memref<8xf32>, %y: memref<16xf32>) {
  // expected-error @below {{the numbers are added up in an order}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %v[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.accumulate "y" add %a, %y[%i] order(sequential) : memref<16xf32>
  }
  func.return
}

// -----

func.func @one(%v: memref<8xf32>, %y: memref<f32>) {
  // expected-error @below {{it has no element for each of some indices}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %v[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.accumulate "y" add %a, %y[] : memref<f32>
  }
  func.return
}

// -----

func.func @marked(%v: memref<8x4xf32>, %y: memref<16xf32>) {
  // expected-error @below {{the loop "j" in it is marked parallel}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to 4 parallel {
      %a = nest.load %v[%i, %j] : memref<8x4xf32>
      nest.accumulate "y" add %a, %y[%j] : memref<16xf32>
    }
  }
  func.return
}

// -----

func.func @stores(%v: memref<8xf32>, %x: memref<8xf32>, %y: memref<16xf32>) {
  // expected-error @below {{it does something beside the reduction}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %v[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "x" %a, %x[%i] : memref<8xf32>
    nest.accumulate "y" add %a, %y[%i] : memref<16xf32>
  }
  func.return
}

// -----

func.func @reads(%y: memref<16xf32>) {
  // expected-error @below {{it reads what it adds to, or what may share memory with it}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{here}}
    %a = nest.load %y[%i + 8] : memref<16xf32>
    nest.accumulate "y" add %a, %y[%i] : memref<16xf32>
  }
  func.return
}

// -----

func.func @many(%v: memref<8xf32>, %y: memref<16xf32>) {
  // expected-error @below {{there are 40000000000 numbers, and the integers have room for 17179869184}}
  nest.for "i" %i = 0 to 40000000000 {
    %a = nest.load %v[%i mod 8] : memref<8xf32>
    nest.accumulate "y" add %a, %y[%i mod 16] : memref<16xf32>
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
      nest.accumulate "y" add %a, %y[%p] : memref<16xf32>
    }
  }
  func.return
}
