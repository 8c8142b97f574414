// Conditions that cannot be read, that say nothing, and loops that are on a GPU already, are refused.
// RUN: opt-tool %s -p 'nest-specialise{loop=i when="n == 64"}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-specialise.mlir -p 'nest-specialise{loop=i when="n >= 0"}' 2>&1 | filecheck %s --check-prefix=ALWAYS
// RUN: not opt-tool %S/nest-specialise.mlir -p 'nest-specialise{loop=i when="n < 4 and n == 2 * m and m > 1"}' 2>&1 | filecheck %s --check-prefix=NEVER
// RUN: not opt-tool %S/nest-specialise.mlir -p 'nest-specialise{loop=i when="q == 3"}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not opt-tool %S/nest-specialise.mlir -p 'nest-specialise{loop=i when="n = 3"}' 2>&1 | filecheck %s --check-prefix=RELATION
// RUN: not opt-tool %S/nest-specialise.mlir -p 'nest-specialise{loop=i when="n == 3 or m == 3"}' 2>&1 | filecheck %s --check-prefix=END
// RUN: not opt-tool %S/nest-specialise.mlir -p 'nest-specialise{loop=i when="upper(j) == 3"}' 2>&1 | filecheck %s --check-prefix=SEVERAL
// RUN: not opt-tool %S/nest-specialise.mlir -p 'nest-specialise{loop=i when="upper(l) == 3"}' 2>&1 | filecheck %s --check-prefix=LOOP
// RUN: not opt-tool %s --split-input-file -p 'nest-specialise{loop=i when="upper(j) == 3"}' 2>&1 | filecheck %s --check-prefix=LATER

// ALWAYS: cannot specialise the loop "i": the condition always holds there
// NEVER: cannot specialise the loop "i": the condition never holds there
// NAME: bad condition: unknown name "q"; names here: n, m2, steps, k, m
// RELATION: bad condition: expected one of ==, !=, <, <=, >, >=
// END: bad condition: expected 'and' or the end
// SEVERAL: bad condition: upper(j) is several expressions
// LOOP: bad condition: no loop "l" here; loops here: i, k.in, j
// LATER: bad condition: upper(j) is not known before the loop "i"

func.func @bound(%x: f32, %n: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot specialise the loop "i": it is bound to thread.x already}}
  nest.for "i" %i = 0 to %n bind "thread.x" {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @inside(%x: f32, %n: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot specialise the loop "i": the loop "j" is bound to thread.x already}}
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %n bind "thread.x" {
      nest.store "y" %x, %y[%i + %j] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @lanes(%x: f32, %n: index, %y: memref<?xf32>) {
  nest.for "v" %v = 0 to 8 vectorized(8) {
    // expected-error @below {{cannot specialise the loop "i": the loop "v" is vectorized already}}
    nest.for "i" %i = 0 to %n {
      nest.store "y" %x, %y[8 * %i + %v] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @inner(%x: f32, %n: i32, %y: memref<?xf32>) {
  // expected-error @below {{bad condition: unknown name "n"; names here: none}}
  nest.for "i" %i = 0 to 9 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @triangle(%x: f32, %m: index, %y: memref<?x?xf32>) {
  // expected-error @below {{bad condition: unknown name "n"; names here: m}}
  nest.for "i" %i = 0 to %m {
    nest.for "j" %j = 0 to %i {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}
