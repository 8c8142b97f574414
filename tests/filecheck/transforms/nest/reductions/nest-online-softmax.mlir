// A softmax and the product that uses it, block by block: a running maximum, and sums that are scaled when it changes.
// RUN: opt-tool %s -p 'nest-online-softmax{rows=i product=i.1 factor=4}' --split-input-file | filecheck %s

// CHECK-LABEL: @attention
// CHECK: [[M:%\S+]] = nest.alloc "running_maximum" : memref<5xf32>
// CHECK: [[S:%\S+]] = nest.alloc "running_sum" : memref<5xf32>
// CHECK: [[F:%\S+]] = nest.alloc "scale" : memref<5xf32>
// CHECK: [[Y:%\S+]] = nest.alloc "y_sums" : memref<5x3xf32>
// CHECK: nest.for "i.start" [[I:%\S+]] = 0 to 5 {
// CHECK: arith.constant 0xff800000
// CHECK: nest.store "running_maximum" {{%\S+}}, [[M]]{{\[}}[[I]]]
// CHECK: nest.store "running_sum" {{%\S+}}, [[S]]{{\[}}[[I]]]
// CHECK: nest.for "i.1.start"
// CHECK: nest.store "y_sums" {{%\S+}}, [[Y]]
// What sets the scores can be fused with the blocks: nothing stands between.
// CHECK: nest.for "a"
// CHECK: nest.for "j.o" [[O:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to 5 {
// CHECK: [[BEFORE:%\S+]] = nest.load [[M]]{{\[}}[[I]]]
// CHECK: nest.for "j" [[J:%\S+]] = 0 to min(4, 10 - 4 * [[O]]) {
// CHECK-NEXT: [[A:%\S+]] = nest.load %t{{\[}}[[I]], 4 * [[O]] + [[J]]]
// CHECK-NEXT: nest.accumulate "m" maximum [[A]], [[M]]{{\[}}[[I]]]
// Where all scores are -inf so far, exp is of them, and not of -inf + inf.
// CHECK: [[NOW:%\S+]] = nest.load [[M]]{{\[}}[[I]]]
// CHECK: [[IS:%\S+]] = arith.cmpf oeq, [[NOW]], {{%\S+}}
// CHECK: [[SHIFT:%\S+]] = arith.select [[IS]], {{%\S+}}, [[NOW]]
// CHECK: [[LESS:%\S+]] = arith.subf [[BEFORE]], [[SHIFT]]
// CHECK: [[SCALE:%\S+]] = math.exp [[LESS]]
// CHECK: nest.store "scale" [[SCALE]], [[F]]{{\[}}[[I]]]
// CHECK: arith.mulf {{%\S+}}, [[SCALE]]
// CHECK: nest.store "sum" {{%\S+}}, [[S]]{{\[}}[[I]]]
// CHECK: nest.for "j.1"
// CHECK: arith.subf {{%\S+}}, [[SHIFT]]
// CHECK: nest.store "e"
// CHECK-NEXT: nest.accumulate "s" add {{%\S+}}, [[S]]{{\[}}[[I]]]
// CHECK-NOT: divf
// CHECK: nest.for "i.1.scale" [[I:%\S+]] = 0 to 5 {
// CHECK-NEXT: nest.for "l.scale" [[L:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.load [[Y]]{{\[}}[[I]], [[L]]]
// CHECK-NEXT: nest.load [[F]]{{\[}}[[I]]]
// CHECK: nest.for "i.1" [[I:%\S+]] = 0 to 5 {
// CHECK-NEXT: nest.for "l" [[L:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.for "j.3" [[J:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.load %t{{\[}}[[I]], 4 * [[O]] + [[J]]]
// CHECK-NEXT: nest.load %v[4 * [[O]] + [[J]], [[L]]]
// CHECK: nest.accumulate "y" add {{%\S+}}, [[Y]]{{\[}}[[I]], [[L]]] where (4 * [[O]] + [[J]] < 10)
// CHECK: nest.for "i.1.end" [[I:%\S+]] = 0 to 5 {
// CHECK: [[Q:%\S+]] = arith.divf
// CHECK-NEXT: nest.accumulate "y" add [[Q]], %y{{\[}}[[I]], {{%\S+}}]
func.func @attention(%x: memref<5x10xf32>, %v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  nest.for "a" %i = 0 to 5 {
    nest.for "b" %j = 0 to 10 {
      %e = nest.load %x[%i, %j] : memref<5x10xf32>
      nest.store "t" %e, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %l = 0 to 3 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// Any number of rows; scores of a row are as many as elements of another buffer, and one more: there is at least one.

// CHECK-LABEL: @of_sizes
// CHECK: nest.alloc "running_maximum"({{%\S+}}) : memref<?xf32>
// CHECK: [[Y:%\S+]] = nest.alloc "y_sums"({{%\S+}}) : memref<?xf32>
// CHECK: nest.for "i.start" {{%\S+}} = 0 to %n {
// CHECK: nest.for "j.o" [[O:%\S+]] = 0 to (%k + 1) ceildiv 4 {
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK: nest.for "j" [[J:%\S+]] = 0 to min(4, %k - 4 * [[O]] + 1) {
// CHECK: nest.for "i.1" [[I:%\S+]] = 0 to %n {
// CHECK-NEXT: nest.for "j.3" [[J:%\S+]] = 0 to 4 {
// CHECK: nest.accumulate "y" add {{%\S+}}, [[Y]]{{\[}}[[I]]] where (4 * [[O]] + [[J]] < %k + 1)
// CHECK: nest.for "i.1.end" {{%\S+}} = 0 to %n {
func.func @of_sizes(%n: index, %x: memref<?xf32>, %v: memref<?xf32>, %y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %axis = arith.constant 0 : index
  %one = arith.constant 1 : index
  %k = memref.dim %x, %axis : memref<?xf32>
  %scores = arith.addi %k, %one : index
  %t = nest.alloc "t"(%n, %scores) : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to %k + 1 {
      %a = nest.load %t[%i, %j] : memref<?x?xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to %k + 1 {
      %a = nest.load %t[%i, %j] : memref<?x?xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to %k + 1 {
      %e = nest.load %t[%i, %j] : memref<?x?xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<?x?xf32>
    }
  }
  nest.for "i.1" %i = 0 to %n {
    nest.for "j.3" %j = 0 to %k + 1 {
      %p = nest.load %t[%i, %j] : memref<?x?xf32>
      %b = nest.load %v[%j] : memref<?xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Scores in 32 bits, exponentials in 16 bits in a buffer of their own: the maximum has 16 bits, what is added up 32.

// CHECK-LABEL: @halves
// CHECK: [[M:%\S+]] = nest.alloc "running_maximum" : memref<5xf16>
// CHECK: [[S:%\S+]] = nest.alloc "running_sum" : memref<5xf32>
// CHECK: [[F:%\S+]] = nest.alloc "scale" : memref<5xf32>
// CHECK: [[Y:%\S+]] = nest.alloc "y_sums" : memref<5x3xf32>
// What starts them stands before the nest of the scores.
// CHECK: nest.for "i.start"
// CHECK: nest.for "a"
// CHECK: nest.for "j.o"
// CHECK: [[BEFORE:%\S+]] = nest.load [[M]]
// CHECK: nest.accumulate "m" maximum {{%\S+}}, [[M]]
// CHECK: [[SHIFT:%\S+]] = arith.select
// CHECK: [[EARLIER:%\S+]] = arith.extf [[BEFORE]] : f16 to f32
// CHECK: [[NOW:%\S+]] = arith.extf [[SHIFT]] : f16 to f32
// CHECK: arith.subf [[EARLIER]], [[NOW]] : f32
// CHECK: [[E:%\S+]] = math.exp {{%\S+}} : f16
// CHECK-NEXT: nest.store "e" [[E]], %w
// CHECK-NEXT: [[WIDE:%\S+]] = arith.extf [[E]] : f16 to f32
// CHECK-NEXT: nest.accumulate "s" add [[WIDE]], [[S]]
// CHECK: nest.for "i.1.end"
// CHECK: arith.divf {{%\S+}}, {{%\S+}} : f32
func.func @halves(%x: memref<5x10x2xf16>, %v: memref<10x3xf16>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xfc00 : f16
  %t = nest.alloc "t" : memref<5x10xf32>
  nest.for "a" %i = 0 to 5 {
    nest.for "b" %j = 0 to 10 {
      nest.store "t" %zero, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "a.1" %i = 0 to 5 {
    nest.for "b.1" %j = 0 to 10 {
      nest.for "d" %d = 0 to 2 {
        %e = nest.load %x[%i, %j, %d] : memref<5x10x2xf16>
        %f = arith.extf %e : f16 to f32
        nest.accumulate "t" add %f, %t[%i, %j] : memref<5x10xf32>
      }
    }
  }
  %w = nest.alloc "w" : memref<5x10xf16>
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f16>
    nest.store "m" %lowest, %maximum[] : memref<f16>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %n = arith.truncf %a : f32 to f16
      nest.accumulate "m" maximum %n, %maximum[] : memref<f16>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f16>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %n = arith.truncf %a : f32 to f16
      %d = arith.subf %n, %m : f16
      %e = math.exp %d : f16
      nest.store "e" %e, %w[%i, %j] : memref<5x10xf16>
      %f = arith.extf %e : f16 to f32
      nest.accumulate "s" add %f, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    %r = arith.truncf %s : f32 to f16
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %w[%i, %j] : memref<5x10xf16>
      %p = arith.divf %e, %r : f16
      nest.store "p" %p, %w[%i, %j] : memref<5x10xf16>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %l = 0 to 3 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %w[%i, %j] : memref<5x10xf16>
        %pf = arith.extf %p : f16 to f32
        %b = nest.load %v[%j, %l] : memref<10x3xf16>
        %bf = arith.extf %b : f16 to f32
        %q = arith.mulf %pf, %bf : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}
