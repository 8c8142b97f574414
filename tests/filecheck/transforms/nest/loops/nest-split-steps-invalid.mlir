// Loops over steps that are not split, and why.
// RUN: opt-tool %s -p 'nest-split-steps{count=2}' --split-input-file --verify-diagnostics

func.func @read_before(%y: memref<8xf64> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f64
  nest.for "b" %i = 0 to 8 {
    nest.store "y" %zero, %y[%i] : memref<8xf64>
  }
  // expected-error @below {{cannot split steps: what is read before the loop changes after}}
  %first = nest.load %y[0] : memref<8xf64>
  nest.for "s" %s = 0 to 9 {
    nest.for "c" %i = 0 to 8 {
      %a = nest.load %y[%i] : memref<8xf64>
      %b = arith.addf %a, %first : f64
      nest.store "y" %b, %y[%i] : memref<8xf64>
    }
  }
  func.return
}

// -----

func.func private @unknown(memref<8xf64>)
func.func @calls(%y: memref<8xf64> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f64
  // expected-error @below {{cannot split steps: it is not known what the operation reads and writes}}
  func.call @unknown(%y) : (memref<8xf64>) -> ()
  nest.for "s" %s = 0 to 9 {
    nest.for "c" %i = 0 to 8 {
      nest.store "y" %zero, %y[%i] : memref<8xf64>
    }
  }
  func.return
}
