// Loops that threads must not share, and why.
// RUN: opt-tool %s -p 'nest-parallel{loop=i}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-parallel.mlir -p 'nest-parallel{loop=i grain=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=GRAIN
// RUN: not opt-tool %s -p 'nest-parallel{loop=i}' --split-input-file 2>&1 | filecheck %s --check-prefix=HELP

// HELP: help: another loop of the nest may be independent: s.dependences() prints which carries what

// GRAIN: error: cannot parallelize the loop "i": a grain is a positive number of iterations

func.func @anti(%n: index, %a: memref<?xf32>) {
  // expected-error @below {{cannot parallelize the loop "i": an anti dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{reads "a" in an earlier iteration of "i"}}
    %v = nest.load %a[%i + 1] : memref<?xf32>
    // expected-note @below {{writes the same element in a later one}}
    nest.store "a" %v, %a[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @output(%n: index, %x: memref<?xf32>, %a: memref<f32>) {
  // expected-error @below {{an output dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 0 to %n {
    %v = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{writes "a" in an earlier iteration and writes it again in a later one}}
    nest.store "a" %v, %a[] : memref<f32>
  }
  func.return
}

// -----

func.func @reduction(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{a reduction dependence on "s" is carried by the loop "i"}}
  nest.for "i" %i = 0 to %n {
    %v = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{updates "s" in an earlier iteration and updates it again in a later one}}
    nest.accumulate "s" add %v, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @aliases(%n: index, %x: memref<?xf32> {nest.alias_set = 1 : i64}, %y: memref<?xf32> {nest.alias_set = 1 : i64}) {
  // expected-error @below {{cannot parallelize the loop "i": an anti dependence}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{reads "x" in an earlier iteration of "i"}}
    %v = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{writes the same element in a later one}}
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @computed(%n: index, %k: memref<?xindex>, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{an output dependence on "y" is carried by the loop "i"}}
  nest.for "i" %i = 0 to %n {
    %j = nest.load %k[%i] : memref<?xindex>
    // expected-note @below {{writes "y" in an earlier iteration and writes it again in a later one}}
    nest.store "y" %x, %y[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @checked(%n: index, %m: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot parallelize the loop "i": an operation in it can stop the kernel}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{this check can fail}}
    %k = nest.index %i of %m axis 0 of "y"
    nest.store "y" %x, %y[%k] : memref<?xf32>
  }
  func.return
}

// -----

func.func @marked(%n: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot parallelize the loop "i": it is bound to block.x already}}
  nest.for "i" %i = 0 to %n bind "block.x" {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @lanes(%x: f32, %y: memref<8x16xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "v" %v = 0 to 16 vectorized(16) {
    // expected-error @below {{cannot parallelize the loop "i": it is inside of the vectorized loop "v"}}
    nest.for "i" %i = 0 to 8 {
      nest.store "y" %x, %y[%i, %v] : memref<8x16xf32>
    }
  }
  func.return
}

// -----

func.func @around(%x: f32, %y: memref<8x16xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "j" %j = 0 to 16 parallel {
    // expected-error @below {{cannot parallelize the loop "i": the loop "j" around it is parallel already}}
    nest.for "i" %i = 0 to 8 {
      nest.store "y" %x, %y[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}

// -----

func.func @inside(%x: f32, %y: memref<8x16xf32>) {
  // expected-error @below {{cannot parallelize the loop "i": the loop "j" inside it is parallel already}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{that loop is here}}
    nest.for "j" %j = 0 to 16 parallel {
      nest.store "y" %x, %y[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}

// -----

func.func @beside_a_kernel(%x: f32, %y: memref<8xf32>, %z: memref<8xf32>) {
  // expected-note @below {{here}}
  nest.for "b" %b = 0 to 8 bind "block.x" {
    nest.store "z" %x, %z[%b] : memref<8xf32>
  }
  // expected-error @below {{cannot parallelize the loop "i": the loop "b" of this function is bound to block.x, and a GPU has no code for that}}
  nest.for "i" %i = 0 to 8 {
    nest.store "y" %x, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

// The chunks overlap: each has an iteration more than lies between two starts.
func.func @chunks_that_overlap(%n: index, %size: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot parallelize the loop "i": an output dependence on "y" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 8 {
    %start = arith.muli %i, %size : index
    nest.for "j" %j = %start to min(%start + %size + 1, %n) {
      // expected-note @below {{writes "y" in an earlier iteration and writes it again in a later one}}
      nest.store "y" %x, %y[%j] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func private @nestor_raise_1(index)

func.func @raising(%n: index, %c: i1, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot parallelize the loop "i": an operation in it can stop the kernel}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
    nest.if %c {
      // expected-note @below {{this check can fail}}
      func.call @nestor_raise_1(%i) {nestor.kind = "Raised", nestor.raises = 1 : i64} : (index) -> ()
    }
  }
  func.return
}
