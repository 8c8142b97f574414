// Loops that cannot be put beside each other, and why; and what is in their order only, which threads may not share.
// RUN: opt-tool %s -p 'nest-beside{first=i second=j}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %s -p 'nest-beside{first=i second=j}' --split-input-file 2>&1 | filecheck %s --check-prefix=HELP
// RUN: not opt-tool %S/nest-beside.mlir -p 'nest-beside{first=j second=i}' 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: not opt-tool %s -p 'nest-beside{first=i second=j},nest-parallel{loop=i_j}' --split-input-file 2>&1 | filecheck %s --check-prefix=THREADS

// HELP: help: cut it at a constant first
// HELP: help: move it before the first loop, or after the second one
// ORDER: error: cannot pair the loops "j" and "i": the second one does not follow in the same body
// ORDER: note: the second loop is here
// THREADS: error: cannot parallelize the loop "i_j"

func.func @unknown(%n: index, %a: memref<?xf32>, %v: f32) {
  // expected-error @below {{cannot pair the loop "i": its iterations are not known in number}}
  nest.for "i" %i = 0 to %n {
    nest.store "a" %v, %a[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to 8 {
    nest.store "a" %v, %a[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @between(%a: memref<8xf32>, %s: memref<f32>, %v: f32) {
  // expected-error @below {{cannot pair the loops "i" and "j": something other than computations is between them}}
  nest.for "i" %i = 0 to 8 {
    nest.store "a" %v, %a[%i] : memref<8xf32>
  }
  // expected-note @below {{here}}
  nest.store "s" %v, %s[] : memref<f32>
  nest.for "j" %j = 0 to 8 {
    nest.store "a" %v, %a[%j] : memref<8xf32>
  }
  func.return
}

// -----

// Legal, and not for threads.
func.func @dependent(%a: memref<8xf32>, %b: memref<8xf32>, %v: f32) {
  nest.for "i" %k = 0 to 8 {
    nest.store "a" %v, %a[%k] : memref<8xf32>
  }
  nest.for "j" %l = 0 to 8 {
    %0 = nest.load %a[7 - %l] : memref<8xf32>
    nest.store "b" %0, %b[%l] : memref<8xf32>
  }
  func.return
}

// -----

func.func @marked(%a: memref<8xf32>, %b: memref<8xf32>, %v: f32) {
  // expected-error @below {{cannot pair the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 8 parallel {
    nest.store "a" %v, %a[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    nest.store "b" %v, %b[%j] : memref<8xf32>
  }
  func.return
}
