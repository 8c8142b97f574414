// Loops that cannot be pipelined, and why.
// RUN: opt-tool %s -p 'nest-pipeline{loop=i stages=3}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-pipeline.mlir -p 'nest-pipeline{loop=k stages=1 func=f}' 2>&1 | filecheck %s --check-prefix=STAGES
// STAGES: cannot pipeline the loop "k": stages is 1; it can be from 2 to 8

func.func @nothing(%x: memref<4xf32>) {
  // expected-error @below {{cannot pipeline the loop "i": no buffer is made in it}}
  nest.for "i" %i = 0 to 4 {
  }
  func.return
}

// -----

func.func @short(%x: memref<1xf32>) {
  // expected-error @below {{cannot pipeline the loop "i": it has 1 iterations, and 2 of them would be copied first}}
  nest.for "i" %i = 0 to 1 {
    %u = nest.alloc "u" : memref<f32>
    %a = nest.load %x[%i] : memref<1xf32>
    nest.store "u" %a, %u[] : memref<f32>
  }
  func.return
}

// -----

func.func @unfilled(%x: memref<9xf32>) {
  nest.for "i" %i = 0 to 9 {
    // expected-error @below {{cannot double the buffer "u" in the loop "i": nothing in the loop stores to it}}
    %u = nest.alloc "u" : memref<f32>
  }
  func.return
}

// -----

// Two iterations ahead an element is not yet what the loop writes two iterations before.
func.func @written(%x: memref<12xf32>) {
  nest.for "i" %i = 0 to 9 {
    // expected-error @below {{cannot double the buffer "u" in the loop "i": the loop writes what is copied, and the copy of the next iteration would come before that}}
    %u = nest.alloc "u" : memref<f32>
    // expected-note @below {{copies from "x"}}
    %a = nest.load %x[%i] : memref<12xf32>
    nest.store "u" %a, %u[] : memref<f32>
    %b = nest.load %u[] : memref<f32>
    // expected-note @below {{which this may write}}
    nest.store "x" %b, %x[%i + 2] : memref<12xf32>
  }
  func.return
}
