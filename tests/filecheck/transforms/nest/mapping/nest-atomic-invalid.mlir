// Updates that are not made in one step, and loops that carry none.
// RUN: opt-tool %s -p 'nest-atomic{loop=i}' --split-input-file --verify-diagnostics

func.func @floats(%b: memref<8xi64>, %x: memref<8xf32>, %y: memref<16xf32>) {
  // expected-error @below {{cannot make updates atomic in the loop "i": "add" of f32 is not done to memory in one step}}
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %v : i64 to index
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this update}}
    nest.accumulate "y" add %a, %y[%k] : memref<16xf32>
  }
  func.return
}

// -----

func.func @products(%x: memref<8xi64>, %y: memref<i64>) {
  // expected-error @below {{"mul" of i64 is not done to memory in one step}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xi64>
    // expected-note @below {{this update}}
    nest.accumulate "y" mul %a, %y[] : memref<i64>
  }
  func.return
}

// -----

func.func @independent(%x: memref<8xi64>, %y: memref<8xi64>) {
  // expected-error @below {{cannot make updates atomic in the loop "i": it carries no reduction}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xi64>
    nest.accumulate "y" add %a, %y[%i] : memref<8xi64>
  }
  func.return
}

// -----

func.func @lanes(%x: memref<8x4xi64>, %y: memref<4xi64>) {
  // expected-note @below {{that loop is here}}
  nest.for "j" %j = 0 to 4 vectorized(4) {
    // expected-error @below {{cannot make updates atomic in the loop "i": it is inside of the vectorized loop "j"}}
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i, %j] : memref<8x4xi64>
      nest.accumulate "y" add %a, %y[%j] : memref<4xi64>
    }
  }
  func.return
}
