// After each step all marks of the function are looked at, also those that no step of the schedule has made.
// RUN: opt-tool %s --split-input-file --verify-diagnostics -p apply-schedule

func.func @parallel(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  // expected-note @below {{here}}
  nest.for "i" %i = 0 to 8 parallel {
    // expected-error @below {{step 2, `schedule.rename %j to "k"`: cannot compile the parallel loop "k": the loop "i" around it is parallel as well}}
    nest.for "j" %j = 0 to 8 parallel {
      %v = nest.load %x[%i, %j] : memref<8x8xf32>
      nest.store "y" %v, %y[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}

schedule.sequence @s {
  %j = schedule.match loops ["j"]
  // expected-note @below {{this step of the schedule}}
  schedule.rename %j to "k"
}

// -----

func.func @tile(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  // expected-error @below {{cannot compile the loop "i", annotated "nestor.amx": it does more than add up products of two elements}}
  nest.for "i" %i = 0 to 8 attributes {nestor.amx} {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to 8 {
      %v = nest.load %x[%i, %j] : memref<8x8xf32>
      nest.store "y" %v, %y[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}

schedule.sequence @s {
  %j = schedule.match loops ["j"]
  // expected-note @below {{this step of the schedule}}
  schedule.rename %j to "k"
}
