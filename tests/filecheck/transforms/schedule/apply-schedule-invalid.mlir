// What is refused says which step it was, what became of a loop, and the two accesses; nothing was done then.
// RUN: opt-tool %s --split-input-file --verify-diagnostics -p apply-schedule

func.func @replaced(%x: memref<8x8xf32>) {
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 8 {
      %v = nest.load %x[%i, %j] : memref<8x8xf32>
      nest.store "x" %v, %x[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}

schedule.sequence @s {
  %i, %j = schedule.match loops ["i", "j"]
  %f = schedule.flatten %i, %j
  // expected-error @below {{step 3, `%k = schedule.match loops ["i"]`: unknown loop "i": step 2, `%f = schedule.flatten %i, %j`, replaced it by "i_j"}}
  %k = schedule.match loops ["i"]
}

// -----

func.func @stale(%x: memref<8xf32>) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "x" %v, %x[%i] : memref<8xf32>
  }
  func.return
}

schedule.sequence @s {
  // expected-error @below {{the handle of "i" stands for nothing any more: step 3, `%a, %b = schedule.split %j by 4 tail(mask)`, replaced it}}
  %i = schedule.match loops ["i"]
  %j = schedule.match loops ["i"]
  %a, %b = schedule.split %j by 4 tail(mask)
  // expected-note @below {{this step of the schedule}}
  schedule.parallel %i
}

// -----

func.func @carried(%x: memref<9xf32>) {
  // expected-error @below {{step 2, `schedule.parallel %i`: cannot parallelize the loop "i": a flow dependence on "x" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{reads the same element in a later one}}
    %v = nest.load %x[%i] : memref<9xf32>
    // expected-note @below {{writes "x" in an earlier iteration of "i"}}
    nest.store "x" %v, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

schedule.sequence @s {
  %i = schedule.match loops ["i"]
  // expected-note @below {{this step of the schedule}}
  schedule.parallel %i
}

// -----

func.func @names(%x: memref<8xf32>) {
  // expected-error @below {{there are 2 loops called "i"}}
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "x" %v, %x[%i] : memref<8xf32>
  }
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "x" %v, %x[%i] : memref<8xf32>
  }
  func.return
}

schedule.sequence @s {
  // expected-note @below {{this step of the schedule}}
  %i = schedule.match loops ["i"]
}

// -----

func.func @nothing() {
  func.return
}

schedule.sequence @s {
  // expected-error @below {{step 1, `%i = schedule.match buffers ["x"]`: unknown buffer "x"}}
  %i = schedule.match buffers ["x"]
}

// -----

func.func @pattern(%x: memref<8xf32>) {
  func.return
}

schedule.sequence @s {
  // expected-error @below {{no loop is contiguous "x"}}
  %i = schedule.match loops contiguous "x"
}

// -----

func.func @function() {
  func.return
}

// expected-error @below {{unknown function "g"}}
schedule.sequence @s for @g {
}

// -----

func.func @several(%x: memref<8xf32>) {
  // expected-error @below {{'outer' stands for 2 loops, one is expected}}
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "x" %v, %x[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %v = nest.load %x[%j] : memref<8xf32>
    nest.store "x" %v, %x[%j] : memref<8xf32>
  }
  func.return
}

schedule.sequence @s {
  %i = schedule.match loops containing "nest.store"
  %j = schedule.match loops ["j"]
  // expected-note @below {{this step of the schedule}}
  %f = schedule.flatten %i, %j
}
