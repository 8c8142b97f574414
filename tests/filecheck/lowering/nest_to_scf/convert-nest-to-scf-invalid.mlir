// What the CPU lowering cannot make is refused at the loop or statement at fault, never made slow in silence.
// RUN: opt-tool %s -p convert-nest-to-scf --split-input-file --verify-diagnostics

// expected-error @below {{a function of loop nests has one block}}
func.func @two_blocks(%y: memref<4xf32>) {
  cf.br ^bb1
^bb1:
  func.return
}

// -----

func.func @foreign(%t: tensor<4xf32>, %y: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{'tensor.extract' cannot stand in a loop nest that is lowered}}
    %a = tensor.extract %t[%i] : tensor<4xf32>
    nest.store "y" %a, %y[%i] : memref<4xf32>
  }
  func.return
}

// -----

func.func @bound_to_a_gpu(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{the loop "i" is marked block.x, which has no meaning here}}
  nest.for "i" %i = 0 to 4 bind "block.x" {
    nest.store "y" %zero, %y[%i] : memref<4xf32>
  }
  func.return
}

// -----

func.func @parallel_twice(%y: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{the loop "i"}}
  nest.for "i" %i = 0 to 4 parallel {
    // expected-error @below {{the loop "j" is parallel inside another parallel loop}}
    nest.for "j" %j = 0 to 4 parallel {
      nest.store "y" %zero, %y[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// -----

func.func @unrolled_without_end(%y: memref<?xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{the loop "i" is marked unrolled, but its bounds are not constant}}
  nest.for "i" %i = 0 to %n unrolled {
    nest.store "y" %zero, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @more_iterations_than_lanes(%y: memref<32xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{the loop "i" has 32 iterations, more than its 16 lanes}}
  nest.for "i" %i = 0 to 32 vectorized(16) {
    nest.store "y" %zero, %y[%i] : memref<32xf32>
  }
  func.return
}

// -----

func.func @branch(%p: i1, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    // expected-error @below {{cannot vectorize the loop "i": 'nest.if' has no vector form}}
    nest.if %p {
      nest.store "y" %zero, %y[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @buffer_a_lane(%y: memref<8xf32>) {
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    // expected-error @below {{cannot vectorize the loop "i": 'nest.alloc' has no vector form}}
    %t = nest.alloc "t" : memref<2xf32>
    %a = nest.load %t[0] : memref<2xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @last_store_wins(%x: memref<8xf32>, %y: memref<f32>) {
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-error @below {{all its iterations store to one element, and which one is last is not known}}
    nest.store "y" %a, %y[] : memref<f32>
  }
  func.return
}

// -----

func.func @order_asked_for(%x: memref<8xf32>, %s: memref<f32>) {
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-error @below {{it reduces in sequential order, which fixes the order of the additions}}
    nest.accumulate "s" add %a, %s[] order(sequential) : memref<f32>
  }
  func.return
}

// -----

func.func @parallel_inside(%y: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    // expected-error @below {{cannot vectorize the loop "i": the loop "k" inside it is marked parallel}}
    nest.for "k" %k = 0 to 4 parallel {
      nest.store "y" %zero, %y[%k, %i] : memref<4x8xf32>
    }
  }
  func.return
}

// -----

func.func @triangle(%y: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    // expected-error @below {{the bounds of the loop "k" inside it depend on "i"}}
    nest.for "k" %k = 0 to %i {
      nest.store "y" %zero, %y[%k, %i] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @checked_lanes(%x: memref<8xf32>, %y: memref<8xf32>, %j: index) {
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    // expected-error @below {{a checked index that differs between the lanes has no vector form}}
    %p = nest.index %i + %j of 8 axis 0 of "x"
    %a = nest.load %x[%p] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @element_of_a_tensor(%y: memref<4xf32>, %t: tensor<4xf32>) {
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 4 vectorized(4) {
    // expected-error @below {{cannot vectorize the loop "i": 'tensor.extract' has no vector form}}
    %a = tensor.extract %t[%i] : tensor<4xf32>
    nest.store "y" %a, %y[%i] : memref<4xf32>
  }
  func.return
}

// -----

func.func @complex(%x: memref<complex<f64>>, %c: i1) {
  // expected-error @below {{a complex number under a condition has no form here}}
  %a = nest.load %x[] : memref<complex<f64>>
  nest.accumulate "x" mul %a, %x[] mask %c : memref<complex<f64>>
  func.return
}

// -----

// Lanes would load and store an element that other threads update meanwhile.
func.func @atomic_in_lanes(%b: memref<32xi64>, %h: memref<64xi64>) {
  // expected-note @below {{the loop "i" is marked vectorized here}}
  nest.for "i" %i = 0 to 32 vectorized(32) {
    %v = nest.load %b[%i] : memref<32xi64>
    %k = arith.index_cast %v : i64 to index
    // expected-error @below {{cannot vectorize the loop "i": an atomic update has no vector form}}
    nest.accumulate "h" add %v, %h[%k] order(atomic) : memref<64xi64>
  }
  func.return
}
