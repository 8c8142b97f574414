// What an iteration loads must be a number of lines that is known, and not too great.
// RUN: opt-tool %s --split-input-file --verify-diagnostics -p 'nest-prefetch{loop=k buffer=x distance=8 whole=true}'

func.func @unknown(%x: memref<?x?xf32>, %y: memref<?xf32>, %n: index, %m: index) {
  // expected-error @below {{cannot prefetch "x" in the loop "k": how much an iteration loads is not constant}}
  nest.for "k" %k = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%k, %j] : memref<?x?xf32>
      nest.accumulate "y" add %a, %y[%j] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @large(%x: memref<?x2048xf32>, %y: memref<2048xf32>, %n: index) {
  // expected-error @below {{cannot prefetch "x" in the loop "k": an iteration loads more than 64 lines}}
  nest.for "k" %k = 0 to %n {
    nest.for "j" %j = 0 to 2048 {
      %a = nest.load %x[%k, %j] : memref<?x2048xf32>
      nest.accumulate "y" add %a, %y[%j] : memref<2048xf32>
    }
  }
  func.return
}

// -----

func.func @stored(%x: memref<?x64xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{cannot prefetch "x" in the loop "k": nothing there loads from it what is known ahead}}
  nest.for "k" %k = 0 to %n {
    nest.for "j" %j = 0 to 64 {
      nest.store "x" %zero, %x[%k, %j] : memref<?x64xf32>
    }
  }
  func.return
}
