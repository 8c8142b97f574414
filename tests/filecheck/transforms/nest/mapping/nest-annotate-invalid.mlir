// Annotations that are refused: marks that need a proof, loops that cannot be written out, wrong values.
// RUN: opt-tool %s -p 'nest-annotate{loop=i mark=unrolled}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %s -p 'nest-annotate{loop=i mark=unrolled force=true}' --split-input-file 2>&1 | filecheck %s --check-prefix=FORCE
// RUN: not opt-tool %S/nest-annotate.mlir --split-input-file -p 'nest-annotate{loop=i mark=unrolled value=3}' 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not opt-tool %S/nest-annotate.mlir --split-input-file -p 'nest-annotate{loop=i mark=vectorized}' 2>&1 | filecheck %s --check-prefix=PROOF
// RUN: not opt-tool %S/nest-annotate.mlir --split-input-file -p 'nest-annotate{loop=i mark=serial}' 2>&1 | filecheck %s --check-prefix=SERIAL
// RUN: not opt-tool %S/nest-annotate.mlir --split-input-file -p 'nest-annotate{loop=i mark=hot}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not opt-tool %S/nest-annotate.mlir --split-input-file -p 'nest-annotate{loop=i mark="nestor.note" value=3 text=hot}' 2>&1 | filecheck %s --check-prefix=TWO
// RUN: not opt-tool %S/nest-annotate.mlir --split-input-file -p 'nest-annotate{loop=i mark="nestor.grain" value=0}' 2>&1 | filecheck %s --check-prefix=GRAIN
// RUN: not opt-tool %S/nest-annotate.mlir --split-input-file -p 'nest-annotate{loop=i mark="nestor.grain" value=9}' 2>&1 | filecheck %s --check-prefix=SHARED
// RUN: not opt-tool %S/nest-annotate.mlir --split-input-file -p 'nest-annotate{loop=i mark="nestor.descending" value=9}' 2>&1 | filecheck %s --check-prefix=DESCENDING

// FORCE: nest.for "i" %i = 0 to 65 unrolled
// VALUE: cannot annotate the loop "i" with "unrolled": the mark has no value
// PROOF: cannot annotate the loop "i" with "vectorized": this is not an annotation
// PROOF: help: use the primitive vectorize, which proves that it is legal
// SERIAL: cannot annotate the loop "i" with "serial": this is not an annotation
// NAME: cannot annotate the loop "i" with "hot": it is neither "unrolled" nor an attribute
// NAME: help: attributes are called "nestor.*"
// TWO: cannot annotate the loop "i" with "nestor.note": an attribute has one value, a number or a text
// GRAIN: cannot annotate the loop "i" with "nestor.grain": its value is a positive number of iterations
// SHARED: cannot annotate the loop "i" with "nestor.grain": it is not parallel
// SHARED: help: make it parallel first
// DESCENDING: cannot annotate the loop "i" with "nestor.descending": it is not parallel

func.func @many(%x: memref<65xf32>, %v: f32) {
  // expected-error @below {{cannot annotate the loop "i": 65 copies of its body are more than 64}}
  nest.for "i" %i = 0 to 65 {
    nest.store "x" %v, %x[%i] : memref<65xf32>
  }
  func.return
}

// -----

func.func @marked(%x: memref<8xf32>, %v: f32) {
  // expected-error @below {{cannot annotate the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 8 parallel {
    nest.store "x" %v, %x[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @unknown(%x: memref<?xf32>, %v: f32, %n: index) {
  // expected-error @below {{cannot annotate the loop "i" with "unrolled": it does not start at a constant and end at one}}
  nest.for "i" %i = 0 to %n {
    nest.store "x" %v, %x[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @start(%x: memref<?xf32>, %v: f32, %n: index) {
  // expected-error @below {{cannot annotate the loop "i" with "unrolled": it does not start at a constant and end at one}}
  nest.for "i" %i = max(0, %n) to 8 {
    nest.store "x" %v, %x[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @kernel(%x: memref<?xf32>, %v: f32, %n: index) {
  nest.for "b" %b = 0 to %n ceildiv 4 bind "block.x" {
    // expected-error @below {{cannot annotate the loop "i" with "unrolled": in a kernel its end must be a constant}}
    nest.for "i" %i = 0 to min(4, %n - 4 * %b) {
      nest.store "x" %v, %x[4 * %b + %i] : memref<?xf32>
    }
  }
  func.return
}
