// Loops whose running results are not lanes of a vector, and why.
// RUN: opt-tool %s -p 'nest-annotate{loop=i mark="nestor.scan"}' --split-input-file --verify-diagnostics

func.func @unknown(%n: index, %x: memref<?xf32>, %y: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot scan in lanes the loop "i": how many lanes there are is not known}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @read_again(%x: memref<17xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot scan in lanes the loop "i": a flow dependence on "x" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 16 {
    // expected-note @below {{reads the same element in a later one}}
    %a = nest.load %x[%i] : memref<17xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    // expected-note @below {{writes "x" in an earlier iteration of "i"}}
    nest.store "x" %b, %x[%i + 1] : memref<17xf32>
  }
  func.return
}

// -----

func.func @one_place(%x: memref<16xf32>, %y: memref<f32>, %s: memref<f32>) {
  // expected-error @below {{cannot scan in lanes the loop "i": an output dependence on "y" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 16 {
    %a = nest.load %x[%i] : memref<16xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    // expected-note @below {{writes "y" in an earlier iteration and writes it again in a later one}}
    nest.store "y" %b, %y[] : memref<f32>
  }
  func.return
}

// -----

func.func @none(%x: memref<16xf32>, %y: memref<16xf32>) {
  // expected-error @below {{cannot scan in lanes the loop "i": it has 0 reductions, and one is expected}}
  nest.for "i" %i = 0 to 16 {
    %a = nest.load %x[%i] : memref<16xf32>
    nest.store "y" %a, %y[%i] : memref<16xf32>
  }
  func.return
}

// -----

func.func @some(%n: index, %x: memref<16xf32>, %y: memref<16xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot scan in lanes the loop "i": a store leaves out iterations}}
  nest.for "i" %i = 0 to 16 {
    %a = nest.load %x[%i] : memref<16xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    // expected-note @below {{here}}
    nest.store "y" %b, %y[%i] where (%n - %i - 1 >= 0) : memref<16xf32>
  }
  func.return
}
