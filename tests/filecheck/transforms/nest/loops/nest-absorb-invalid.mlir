// Statements do not move into a loop that may run more than once, or that is marked, nor where an order would be turned around.
// RUN: opt-tool %s -p 'nest-absorb{loop=i}' --split-input-file --verify-diagnostics

func.func @twice(%s: memref<f32>, %x: f32) {
  nest.store "s" %x, %s[] : memref<f32>
  // expected-error @below {{cannot absorb into the loop "i": it may not run just once}}
  nest.for "i" %i = 0 to 2 {
    nest.accumulate "s" add %x, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @unknown(%n: index, %s: memref<f32>, %x: f32) {
  nest.store "s" %x, %s[] : memref<f32>
  // expected-error @below {{cannot absorb into the loop "i": it may not run just once}}
  nest.for "i" %i = 0 to %n {
    nest.accumulate "s" add %x, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @marked(%s: memref<f32>, %x: f32) {
  nest.store "s" %x, %s[] : memref<f32>
  // expected-error @below {{cannot absorb into the loop "i": it is bound to block.x}}
  nest.for "i" %i = 0 to 1 bind "block.x" {
    nest.accumulate "s" add %x, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @parallel(%s: memref<f32>, %x: f32) {
  nest.store "s" %x, %s[] : memref<f32>
  // expected-error @below {{cannot absorb into the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 1 parallel {
    nest.accumulate "s" add %x, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @order(%s: memref<f32>, %y: memref<8xf32>, %x: f32) {
  nest.store "s" %x, %s[] : memref<f32>
  nest.for "k" %k = 0 to 8 {
    %a = nest.load %s[] : memref<f32>
    nest.store "y" %a, %y[%k] : memref<8xf32>
  }
  // expected-error @below {{cannot absorb into the loop "i": no statement beside it writes what it touches and can move}}
  nest.for "i" %i = 0 to 1 {
    nest.accumulate "s" add %x, %s[] : memref<f32>
  }
  %b = nest.load %s[] : memref<f32>
  nest.store "t" %x, %s[] : memref<f32>
  nest.for "j" %j = 0 to 8 {
    nest.store "y" %b, %y[%j] : memref<8xf32>
  }
  func.return
}
