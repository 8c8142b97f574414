// Two symbols of one name: the later one is at fault, and the earlier one is shown.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

// expected-note @below {{it is defined here as well}}
func.func private @f(i32)
func.func private @g(i32)
// expected-error @below {{redefinition of symbol '@f'}}
func.func @f(%x: f32) {
  func.return
}

// -----

gpu.module @k {
  // expected-note @below {{it is defined here as well}}
  gpu.func @a() kernel {
    gpu.return
  }
  // expected-error @below {{redefinition of symbol '@a'}}
  gpu.func @a() kernel {
    gpu.return
  }
}

// -----

// A label that a branch has named before it is defined, twice.
func.func @label() {
  cf.br ^end
// expected-note @below {{originally declared here}}
^end:
// expected-error @below {{re-declaration of block 'end'}}
^end:
  func.return
}
