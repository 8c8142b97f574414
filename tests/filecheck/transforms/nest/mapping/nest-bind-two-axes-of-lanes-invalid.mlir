// What four lanes cannot share: more iterations, and reductions that not all of them take part in.
// RUN: opt-tool %s -p 'nest-bind{loop=x axis=lane.x}' --verify-diagnostics --split-input-file

func.func @too_many(%v: f32, %y: memref<8xf32>) {
  // expected-error @below {{cannot bind the loop "x" to lane.x: it has 8 iterations, a warp 4 lanes}}
  nest.for "x" %x = 0 to 8 {
    nest.store "y" %v, %y[%x] : memref<8xf32>
  }
  func.return
}

// -----

func.func @not_all(%v: f32, %s: memref<f32>) {
  // expected-error @below {{cannot bind the loop "x": all 4 lanes take part in a reduction, but the loop does not have 4 iterations}}
  nest.for "x" %x = 0 to 3 {
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %v, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @twice(%v: f32, %s: memref<f32>) {
  // expected-note @below {{here}}
  nest.for "y" %y = 0 to 8 bind "lane.y" {
    // expected-error @below {{cannot bind the loop "x": the lanes of this loop combine their values already}}
    nest.for "x" %x = 0 to 4 {
      // expected-note @below {{the reduction is here}}
      nest.accumulate "s" add %v, %s[] : memref<f32>
    }
  }
  func.return
}
