// Buffers that cannot be inlined, and why.
// RUN: opt-tool %s -p 'nest-compute-inline{buffer=t duplicate=refuse}' --split-input-file --verify-diagnostics

// expected-error @below {{unknown buffer "t"}}
func.func @unknown(%x: memref<8xf32>) {
  %u = nest.alloc "u" : memref<8xf32>
  func.return
}

// -----

func.func @ambiguous(%x: memref<8xf32>) {
  // expected-error @below {{there are 2 buffers called "t"}}
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{another one is here}}
  %u = nest.alloc "t" : memref<8xf32>
  func.return
}

// -----

func.func @view(%y: memref<8xf32>) {
  // expected-error @below {{cannot inline the buffer "t": it is used by an operation other than loads and statements}}
  %t = nest.alloc "t" : memref<2x4xf32>
  // expected-note @below {{this operation uses it}}
  %v = "memref.cast"(%t) : (memref<2x4xf32>) -> memref<?x4xf32>
  func.return
}

// -----

func.func @nothing(%y: memref<8xf32>) {
  // expected-error @below {{cannot inline the buffer "t": nothing writes it}}
  %t = nest.alloc "t" : memref<8xf32>
  func.return
}

// -----

func.func @branch(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its store does not run in every iteration}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{it is inside of this}}
    nest.if %c {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @odd_loop(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{its store does not run in every iteration}}
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{it is inside of this}}
  scf.for %i = %c0 to %n step %c1 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @reduction(%x: memref<8x8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{it holds a reduction}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "t" %zero, %t[%i] : memref<8xf32>
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%i, %j] : memref<8x8xf32>
      // expected-note @below {{the reduction is here}}
      nest.accumulate "t" add %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @two_stores(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{2 statements write it}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this statement writes it}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
    // expected-note @below {{this statement writes it}}
    nest.store "t" %a, %t[7 - %i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @domain(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its store has a domain, outside of which elements are not written}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "t" %a, %t[%i] where (%i < 7) : memref<8xf32>
  }
  func.return
}

// -----

func.func @mask(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its store has a domain, outside of which elements are not written}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "t" %a, %t[%i] mask %c : memref<8xf32>
  }
  func.return
}

// -----

func.func @overwritten(%x: memref<8x8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its store's indices are not one variable each, plus something fixed, for the loop "j"}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{the loop is here}}
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%i, %j] : memref<8x8xf32>
      // expected-note @below {{the store is here}}
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @split_already(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its store's indices are not one variable each, plus something fixed, for the loop "o"}}
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is here}}
  nest.for "o" %o = 0 to 2 {
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %x[4 * %o + %i] : memref<8xf32>
      // expected-note @below {{the store is here}}
      nest.store "t" %a, %t[4 * %o + %i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @steps(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{the loop "i" has a step and several lower bounds}}
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is here}}
  nest.for "i" %i = max(0, %n) to 8 step 2 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @computed_index(%x: memref<8xf32>, %k: memref<8xindex>) {
  // expected-error @below {{an index or bound is computed in the nest that writes it}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    %o = nest.load %k[%i] : memref<8xindex>
    // expected-note @below {{the store is here}}
    nest.store "t" %a, %t[%i + %o] : memref<8xf32>
  }
  func.return
}

// -----

func.func @scan(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its elements are computed from others of them}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this load reads them}}
    %a = nest.load %t[%i - 1] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @private(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{its value comes from a buffer that is made inside the nest that writes it}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%j] : memref<8xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    // expected-note @below {{this load reads it}}
    %b = nest.load %s[] : memref<f32>
    nest.store "t" %b, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @checked(%k: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{its value needs more than loads and arithmetic}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this operation is needed}}
    %j = nest.index %i + %k of 8 axis 0 of "x"
    %a = nest.load %x[%j] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @unknown_reader(%n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{a load is inside an operation that is not known}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{this operation}}
  scf.for %j = %c0 to %n step %c1 {
    %a = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @too_early(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{it is read before it is written}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{this load reads it}}
    %a = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<8xf32>
  }
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{the store is here}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @too_early_in_one_loop(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{it is read before it is written}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{the store is here}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
    // expected-note @below {{this load reads it}}
    %b = nest.load %t[7 - %i] : memref<8xf32>
    nest.store "y" %b, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @not_written(%n: index, %m: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{an element that is read may be one that the store does not write}}
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{the store is here}}
    nest.store "t" %a, %t[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %m {
    // expected-note @below {{this load reads it}}
    %a = nest.load %t[%j] : memref<?xf32>
    nest.store "y" %a, %y[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @every_other(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{an element that is read may be one that the store does not write}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 step 2 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{the store is here}}
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 7 {
    // expected-note @below {{this load reads it}}
    %a = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @between(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{an element that it is computed from may be written before it is read}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{it is computed from this element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{this operation may write that}}
  nest.store "x" %zero, %x[3] : memref<8xf32>
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{this load comes later}}
    %a = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

// In place, and an element of an earlier iteration is read.
func.func @in_place(%x: memref<8xf32>) {
  // expected-error @below {{an element that it is computed from may be written before it is read}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{it is computed from this element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 1 to 8 {
    // expected-note @below {{this load comes later}}
    %a = nest.load %t[%j - 1] : memref<8xf32>
    // expected-note @below {{this operation may write that}}
    nest.store "x" %a, %x[%j] : memref<8xf32>
  }
  func.return
}

// -----

// A later iteration writes what an earlier one reads: right in program order, not when they run in any order.
func.func @parallel_reader(%x: memref<8xf32>) {
  // expected-error @below {{an element that it is computed from may be written before it is read}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{it is computed from this element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 7 parallel {
    // expected-note @below {{this load comes later}}
    %a = nest.load %t[%j + 1] : memref<8xf32>
    // expected-note @below {{this operation may write that}}
    nest.store "x" %a, %x[%j] : memref<8xf32>
  }
  func.return
}

// -----

// The nest that writes the buffer writes what it is computed from as well.
func.func @consumed(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{an element that it is computed from may be written before it is read}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{it is computed from this element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
    // expected-note @below {{this operation may write that}}
    nest.store "x" %zero, %x[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{this load comes later}}
    %a = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @aliases(%x: memref<8xf32> {nest.alias_set = 0 : i64}, %y: memref<8xf32> {nest.alias_set = 0 : i64}) {
  // expected-error @below {{an element that it is computed from may be written before it is read}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{it is computed from this element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{this load comes later}}
    %a = nest.load %t[%j] : memref<8xf32>
    // expected-note @below {{this operation may write that}}
    nest.store "y" %a, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @unknown_effect(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{an element that it is computed from may be written before it is read}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{it is computed from this element}}
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  // expected-note @below {{this operation may write that}}
  func.call @unknown_effect(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  nest.for "j" %j = 0 to 8 {
    // expected-note @below {{this load comes later}}
    %a = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @three_times(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{its elements would be computed up to 3 times}}
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "t" %a, %t[%i] : memref<?xf32>
  }
  nest.for "j" %j = 1 to %n - 1 {
    // expected-note @below {{this load would compute one}}
    %a = nest.load %t[%j - 1] : memref<?xf32>
    // expected-note @below {{this load would compute one}}
    %b = nest.load %t[%j] : memref<?xf32>
    // expected-note @below {{this load would compute one}}
    %c = nest.load %t[%j + 1] : memref<?xf32>
    %d = arith.addf %a, %b : f32
    %e = arith.addf %d, %c : f32
    nest.store "y" %e, %y[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @broadcast(%n: index, %x: memref<?xf32>, %y: memref<?x?x5xf32>) {
  // expected-error @below {{its elements would be computed up to 5 times in each iteration of "j"}}
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "t" %a, %t[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n {
    nest.for "k" %k = 0 to %n {
      nest.for "l" %l = 0 to 5 {
        // expected-note @below {{this load would compute one}}
        %a = nest.load %t[%k] : memref<?xf32>
        nest.store "y" %a, %y[%j, %k, %l] : memref<?x?x5xf32>
      }
    }
  }
  func.return
}

// -----

// Two loads of different elements compute each of them once: nothing to refuse.
func.func @halves(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %a, %t[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 4 {
    %a = nest.load %t[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<8xf32>
    %b = nest.load %t[%j + 4] : memref<8xf32>
    nest.store "y" %b, %y[%j + 4] : memref<8xf32>
  }
  func.return
}

// -----

// Another thread may have written the element by then.
func.func @threads(%x: memref<8x4xf32>) {
  nest.for "b" %b = 0 to 8 bind "block.x" {
    // expected-error @below {{an element that it is computed from may be written before it is read}}
    %t = nest.alloc "t" : memref<4xf32, 3>
    nest.for "i" %i = 0 to 4 bind "thread.x" {
      // expected-note @below {{it is computed from this element}}
      %a = nest.load %x[%b, %i] : memref<8x4xf32>
      nest.store "t" %a, %t[%i] : memref<4xf32, 3>
    }
    nest.barrier
    nest.for "u" %u = 0 to 4 bind "thread.x" {
      // expected-note @below {{this load comes later}}
      %p = nest.load %t[3 - %u] : memref<4xf32, 3>
      // expected-note @below {{this operation may write that}}
      nest.store "x" %p, %x[%b, %u] : memref<8x4xf32>
    }
  }
  func.return
}

// -----

// The second statement sets other elements than the first one.
func.func @moved_part(%x: memref<16xf32>, %y: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{cannot inline the buffer "t": 2 statements write it}}
  %t = nest.alloc "t" : memref<18xf32>
  nest.for "i" %i = 0 to 18 {
    // expected-note @below {{this statement writes it}}
    nest.store "t" %zero, %t[%i] : memref<18xf32>
    %a = nest.load %x[%i] : memref<16xf32>
    // expected-note @below {{this statement writes it}}
    nest.store "t" %a, %t[%i + 1] where (%i < 16) : memref<18xf32>
  }
  nest.for "j" %j = 0 to 16 {
    %p = nest.load %t[%j] : memref<18xf32>
    nest.store "y" %p, %y[%j] : memref<16xf32>
  }
  func.return
}

// -----

// Between the two statements another element is read.
func.func @read_where_written(%x: memref<16xf32>, %y: memref<18xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{cannot inline the buffer "t": it is read where it is written, and two statements do that}}
  %t = nest.alloc "t" : memref<18xf32>
  nest.for "i" %i = 0 to 18 {
    // expected-note @below {{the store is here}}
    nest.store "t" %zero, %t[%i] : memref<18xf32>
    %a = nest.load %x[%i - 1] : memref<16xf32>
    nest.store "t" %a, %t[%i] where (%i >= 1, %i < 17) : memref<18xf32>
    // expected-note @below {{this load reads it}}
    %p = nest.load %t[%i] : memref<18xf32>
    nest.store "y" %p, %y[%i] : memref<18xf32>
  }
  func.return
}

// -----

// A register in a loop, which is set again in some iterations: what it holds is the value of either statement.
func.func @register(%x: memref<16xf32>, %y: memref<18xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 18 {
    // expected-error @below {{cannot inline the buffer "t": 2 statements write it}}
    %t = nest.alloc "t" : memref<f32>
    // expected-note @below {{this statement writes it}}
    nest.store "t" %zero, %t[] : memref<f32>
    %a = nest.load %x[%i - 1] : memref<16xf32>
    // expected-note @below {{this statement writes it}}
    nest.store "t" %a, %t[] where (%i >= 1, %i < 17) : memref<f32>
    %p = nest.load %t[] : memref<f32>
    nest.store "y" %p, %y[%i] : memref<18xf32>
  }
  func.return
}
