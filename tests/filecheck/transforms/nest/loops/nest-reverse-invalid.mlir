// Loops that cannot run backwards: the notes are at the two accesses.
// RUN: opt-tool %s -p 'nest-reverse{loop=i}' --split-input-file --verify-diagnostics

func.func @scan(%n: index, %a: memref<?xf32>) {
  // expected-error @below {{cannot reverse the loop "i": a flow dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 1 to %n {
    // expected-note @below {{reads the same element in a later one}}
    %u = nest.load %a[%i - 1] : memref<?xf32>
    // expected-note @below {{writes "a" in an earlier iteration of "i"}}
    nest.store "a" %u, %a[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @ordered(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot reverse the loop "i"}}
  nest.for "i" %i = 0 to %n {
    %u = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{writes "s" in an earlier iteration and reads it again in a later one}}
    nest.accumulate "s" add %u, %s[] order(sequential) : memref<f32>
  }
  func.return
}

// -----

func.func @aliases(%n: index, %x: memref<?xf32> {nest.alias_set = 0 : i64}, %y: memref<?xf32> {nest.alias_set = 0 : i64}) {
  // expected-error @below {{cannot reverse the loop "i"}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{reads "x" in an earlier iteration of "i"}}
    %u = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{writes the same element in a later one}}
    nest.store "y" %u, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @checks(%n: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot reverse the loop "i": an error must be that of the first iteration in program order}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{this check can fail}}
    %k = nest.index %i + 1 of %n axis 0 of "y"
    nest.store "y" %x, %y[%k] : memref<?xf32>
  }
  func.return
}

// -----

func.func @lower(%n: index, %m: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot reverse the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%n, %m) to 32 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @upper(%n: index, %m: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot reverse the loop "i": its upper bound is a min of several expressions}}
  nest.for "i" %i = 0 to min(%n, %m) {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @marked(%x: f32, %y: memref<32xf32>) {
  // expected-error @below {{cannot reverse the loop "i": it is bound to block.x already}}
  nest.for "i" %i = 0 to 32 bind "block.x" {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  func.return
}
