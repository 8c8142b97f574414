// What starts and ends a sum beside a loop that runs once moves into it; what has nothing to do with it stays.
// RUN: opt-tool %s -p 'nest-absorb{loop=block}' --split-input-file | filecheck %s

// CHECK-LABEL: @mean
// CHECK-NEXT:    [[SUM:%\S+]] = nest.alloc "sum"
// CHECK-NEXT:    nest.for "k"
// CHECK:         nest.for "block"
// CHECK-NEXT:      nest.store "sum" %zero, [[SUM]][]
// CHECK-NEXT:      nest.for "i"
// CHECK:           [[S:%\S+]] = nest.load [[SUM]][]
// CHECK-NEXT:      [[M:%\S+]] = arith.mulf [[S]], %c
// CHECK-NEXT:      nest.store "mean" [[M]], %out[]
// CHECK-NEXT:    }
// CHECK-NEXT:    nest.store "other" %zero, %other[]
// CHECK-NEXT:    func.return
func.func @mean(%x: memref<64xf32>, %y: memref<64xf32>, %zero: f32, %c: f32, %out: memref<f32>, %other: memref<f32>) {
  %sum = nest.alloc "sum" : memref<f32>
  nest.store "sum" %zero, %sum[] : memref<f32>
  nest.for "k" %k = 0 to 64 {
    nest.store "y" %c, %y[%k] : memref<64xf32>
  }
  nest.for "block" %b = 0 to 1 {
    nest.for "i" %i = 0 to 64 {
      %a = nest.load %x[%i] : memref<64xf32>
      nest.accumulate "sum" add %a, %sum[] : memref<f32>
    }
  }
  nest.store "other" %zero, %other[] : memref<f32>
  %s = nest.load %sum[] : memref<f32>
  %m = arith.mulf %s, %c : f32
  nest.store "mean" %m, %out[] : memref<f32>
  func.return
}

// -----

// A value that others need as well is made twice; a statement stays where a loop in between reads what it writes.
// CHECK-LABEL: @twice
// CHECK:         nest.store "sum" %zero
// CHECK-NEXT:    nest.for "k"
// CHECK:         nest.for "block"
// CHECK:           [[S:%\S+]] = nest.load %sum[]
// CHECK-NEXT:      nest.store "out" [[S]], %out[]
// CHECK-NEXT:    }
// CHECK-NEXT:    [[T:%\S+]] = nest.load %sum[]
// CHECK-NEXT:    nest.for "j"
// CHECK-NEXT:      nest.store "y" [[T]], %y
func.func @twice(%n: index, %x: memref<?xf32>, %y: memref<64xf32>, %sum: memref<f32>, %zero: f32, %out: memref<f32>) {
  nest.store "sum" %zero, %sum[] : memref<f32>
  nest.for "k" %k = 0 to 64 {
    %a = nest.load %sum[] : memref<f32>
    nest.store "y" %a, %y[%k] : memref<64xf32>
  }
  nest.for "block" %b = 2 to 3 {
    nest.for "i" %i = 2 to %n {
      %a = nest.load %x[%i] : memref<?xf32>
      nest.accumulate "sum" add %a, %sum[] : memref<f32>
    }
  }
  %s = nest.load %sum[] : memref<f32>
  nest.store "out" %s, %out[] : memref<f32>
  nest.for "j" %j = 0 to 64 {
    nest.store "y" %s, %y[%j] : memref<64xf32>
  }
  func.return
}

// -----

// What ends the block of a condition stays: it is a computation that nothing uses, and no dead one.
// CHECK-LABEL: @condition
// CHECK:       scf.while
// CHECK:         nest.for "block"
// CHECK-NEXT:      nest.store "sum" %zero
// CHECK:           nest.store "is_large"
// CHECK-NEXT:    }
// CHECK-NEXT:    [[GOES:%\S+]] = nest.load %is_large[]
// CHECK-NEXT:    scf.condition([[GOES]])
func.func @condition(%x: memref<64xf32>, %sum: memref<f32>, %zero: f32, %is_large: memref<i1>) {
  scf.while () : () -> () {
    nest.store "sum" %zero, %sum[] : memref<f32>
    nest.for "block" %b = 0 to 1 {
      nest.for "i" %i = 0 to 64 {
        %a = nest.load %x[%i] : memref<64xf32>
        nest.accumulate "sum" add %a, %sum[] : memref<f32>
      }
    }
    %s = nest.load %sum[] : memref<f32>
    %large = arith.cmpf ogt, %s, %zero : f32
    nest.store "is_large" %large, %is_large[] : memref<i1>
    %goes = nest.load %is_large[] : memref<i1>
    scf.condition(%goes)
  } do {
    scf.yield
  }
  func.return
}
