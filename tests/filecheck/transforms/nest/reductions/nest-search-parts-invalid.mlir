// Pairs of loops that do not find the place of an extreme, or not one that parts of the row tell, and why.
// RUN: opt-tool %s -p 'nest-search-parts{extreme=j search=j.1 parts=4}' --split-input-file --verify-diagnostics

func.func @marked(%x: memref<12xf32>, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 2147483647 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
    nest.for "j" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-error @below {{cannot search the loop "j.1": it is unrolled already}}
  nest.for "j.1" %j = 0 to 12 unrolled {
    %a = nest.load %x[%j] : memref<12xf32>
    %found = arith.cmpf oeq, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}

// -----

func.func @unknown(%x: memref<?xf32>, %n: index, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 2147483647 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
  // expected-note @below {{it is here}}
  nest.for "j" %j = 0 to %n {
    %a = nest.load %x[%j] : memref<?xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-error @below {{cannot search parts in the loop "j.1": the loops do not run equally often, a constant number of times}}
  nest.for "j.1" %j = 0 to %n {
    %a = nest.load %x[%j] : memref<?xf32>
    %found = arith.cmpf oeq, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}

// -----

func.func @from_four(%x: memref<12xf32>, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 2147483647 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
  // expected-note @below {{it is here}}
  nest.for "j" %j = 4 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-error @below {{cannot search parts in the loop "j.1": the loops do not start at 0 and go on in steps of 1}}
  nest.for "j.1" %j = 4 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    %found = arith.cmpf oeq, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}

// -----

func.func @uneven(%x: memref<12xf32>, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 2147483647 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
  // expected-note @below {{it is here}}
  nest.for "j" %j = 0 to 10 {
    %a = nest.load %x[%j] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-error @below {{cannot search parts in the loop "j.1": 10 iterations are not 4 parts of equal length, two at least}}
  nest.for "j.1" %j = 0 to 10 {
    %a = nest.load %x[%j] : memref<12xf32>
    %found = arith.cmpf oeq, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}

// -----

func.func @sum(%x: memref<12xf32>, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 2147483647 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
  // expected-note @below {{it is here}}
  nest.for "j" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    nest.accumulate "m" add %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-error @below {{cannot search parts in the loop "j.1": the other loop does not find the extreme of what it loads}}
  nest.for "j.1" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    %found = arith.cmpf oeq, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}

// -----

func.func @written(%x: memref<12xf32>, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 2147483647 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
  nest.for "j" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-note @below {{it is here}}
  nest.store "x" %lowest, %x[3] : memref<12xf32>
  // expected-error @below {{cannot search parts in the loop "j.1": it does not follow the other one with nothing but values between them}}
  nest.for "j.1" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    %found = arith.cmpf oeq, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}

// -----

func.func @less(%x: memref<12xf32>, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 2147483647 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
  // expected-note @below {{it is here}}
  nest.for "j" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-error @below {{cannot search parts in the loop "j.1": it does not find the first of the same elements that equals the extreme}}
  nest.for "j.1" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    %found = arith.cmpf olt, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}

// -----

func.func @others(%x: memref<12xf32>, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 2147483647 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
  // expected-note @below {{it is here}}
  nest.for "j" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-error @below {{cannot search parts in the loop "j.1": it does not find the first of the same elements that equals the extreme}}
  nest.for "j.1" %j = 0 to 12 {
    %a = nest.load %x[11 - %j] : memref<12xf32>
    %found = arith.cmpf oeq, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}

// -----

func.func @none_in_the_row(%x: memref<12xf32>, %out: memref<i32> {nest.role = "out"}) {
  %none = arith.constant 7 : i32
  %lowest = arith.constant 0xff800000 : f32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %lowest, %m[] : memref<f32>
  %p = nest.alloc "p" : memref<i32>
  nest.store "p" %none, %p[] : memref<i32>
  // expected-note @below {{it is here}}
  nest.for "j" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  // expected-error @below {{cannot search parts in the loop "j.1": it does not find the first of the same elements that equals the extreme}}
  nest.for "j.1" %j = 0 to 12 {
    %a = nest.load %x[%j] : memref<12xf32>
    %found = arith.cmpf oeq, %a, %largest : f32
    %k = arith.index_cast %j : index to i32
    %place = arith.select %found, %k, %none : i32
    nest.accumulate "p" minsi %place, %p[] : memref<i32>
  }
  %q = nest.load %p[] : memref<i32>
  nest.store "out" %q, %out[] : memref<i32>
  func.return
}
