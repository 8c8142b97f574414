// Refusals of primitives on handles that their passes would not choose: any two loops, an argument as a buffer.
// RUN: opt-tool %s --split-input-file --verify-diagnostics -p apply-schedule

func.func @apart(%v: f32, %x: memref<8x8x8xf32>) {
  // expected-error @below {{step 2, `%f = schedule.flatten %i, %k`: cannot flatten the loops "i" and "k": it is not all of the body of the outer loop}}
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 8 {
      // expected-note @below {{here}}
      nest.for "k" %k = 0 to 8 {
        nest.store "x" %v, %x[%i, %j, %k] : memref<8x8x8xf32>
      }
    }
  }
  func.return
}

schedule.sequence @s {
  %i, %k = schedule.match loops ["i", "k"]
  // expected-note @below {{this step of the schedule}}
  %f = schedule.flatten %i, %k
}

// -----

// expected-error @below {{step 2, `schedule.compute_inline %x`: cannot inline the buffer "x": it is not made by a nest.alloc of this function}}
func.func @given(%x: memref<8xf32>) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "x" %v, %x[%i] : memref<8xf32>
  }
  func.return
}

schedule.sequence @s {
  %x = schedule.match buffers ["x"]
  // expected-note @below {{this step of the schedule}}
  schedule.compute_inline %x
}
