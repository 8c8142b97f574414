// Parts of a reduction loop get accumulators of their own: chunks of its iterations, or one of every four.
// RUN: opt-tool %s -p 'nest-privatise{loop=i parts=4},nest-parallel{loop=i.p}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-privatise{loop=i parts=4 share=cyclic},nest-parallel{loop=i.p}' --split-input-file | filecheck %s --check-prefix=CYCLIC

// An unknown extent, from 3: the size of a chunk is computed.
// CHECK-LABEL: @sum
// CHECK: [[ACC:%\S+]] = nest.alloc "s_parts" : memref<4xi64>
// CHECK: [[N:%\S+]] = arith.addi %n, {{%\S+}} : index
// CHECK: [[SIZE:%\S+]] = arith.ceildivsi [[N]], {{%\S+}} : index
// CHECK: [[ZERO:%\S+]] = arith.constant 0 : i64
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 parallel {
// CHECK-NEXT: nest.store "s" [[ZERO]], [[ACC]]{{\[}}[[P]]]
// CHECK-NEXT: [[START:%\S+]] = arith.muli [[P]], [[SIZE]] : index
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = [[START]] + 3 to min([[START]] + [[SIZE]] + 3, %n) {
// CHECK: nest.load %x{{\[}}[[I]]]
// CHECK: nest.accumulate "s" add {{%\S+}}, [[ACC]]{{\[}}[[P]]]
// CHECK: nest.for "i.combine" [[C:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[V:%\S+]] = nest.load [[ACC]]{{\[}}[[C]]]
// CHECK-NEXT: nest.accumulate "s" add [[V]], %s[]

// CYCLIC-LABEL: @sum
// CYCLIC: nest.for "i.p" [[P:%\S+]] = 0 to 4 parallel {
// CYCLIC: nest.for "i" {{%\S+}} = [[P]] + 3 to %n step 4 {
func.func @sum(%n: index, %x: memref<?xi64>, %s: memref<i64>) {
  nest.for "i" %i = 3 to %n {
    %a = nest.load %x[%i] : memref<?xi64>
    nest.accumulate "s" add %a, %s[] : memref<i64>
  }
  func.return
}

// -----

// Sums of columns: a part has all of the elements. Ten rows in chunks of three.
// CHECK-LABEL: @columns
// CHECK: [[ACC:%\S+]] = nest.alloc "s_parts"(%m) : memref<4x?xf32>
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 4 parallel {
// CHECK-NEXT: nest.for "i.init.ax0" [[A:%\S+]] = 0 to %m {
// CHECK-NEXT: nest.store "s" {{%\S+}}, [[ACC]]{{\[}}[[P]], [[A]]]
// CHECK: nest.for "i" {{%\S+}} = 3 * [[P]] to min(3 * [[P]] + 3, 10) {
// CHECK-NEXT: nest.for "j" [[J:%\S+]] = 0 to %m {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[ACC]]{{\[}}[[P]], [[J]]]
// CHECK: nest.for "i.combine" [[C:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "i.combine.ax0" [[B:%\S+]] = 0 to %m {
// CHECK-NEXT: [[V:%\S+]] = nest.load [[ACC]]{{\[}}[[C]], [[B]]]
// CHECK-NEXT: nest.accumulate "s" add [[V]], %s{{\[}}[[B]]] : memref<?xf32>
// CYCLIC-LABEL: @columns
// CYCLIC: nest.for "i" {{%\S+}} = {{%\S+}} to 10 step 4 {
func.func @columns(%x: memref<10x?xf32>, %s: memref<?xf32> {nest.role = "out"}) {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.dim %s, %c0 : memref<?xf32>
  nest.for "first" %f = 0 to %m {
    nest.store "s" %z, %s[%f] : memref<?xf32>
  }
  nest.for "i" %i = 0 to 10 {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<10x?xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf32>
    }
  }
  func.return
}

// -----

// A histogram, whose bins are known when the values are; and chunks that are all of one size.
// CHECK-LABEL: @histogram
// CHECK: [[ACC:%\S+]] = nest.alloc "h_parts" : memref<4x256xi64>
// CHECK: nest.for "i" {{%\S+}} = 16 * [[P:%\S+]] + 8 to 16 * [[P]] + 24 step 2 {
// CHECK: [[K:%\S+]] = nest.load %k
// CHECK: nest.accumulate "h" add %one, [[ACC]]{{\[}}[[P]], [[K]]]
// CYCLIC-LABEL: @histogram
// CYCLIC: nest.for "i" {{%\S+}} = 2 * {{%\S+}} + 8 to 72 step 8 {
func.func @histogram(%k: memref<72xindex>, %one: i64, %h: memref<256xi64>) {
  nest.for "i" %i = 8 to 72 step 2 {
    %a = nest.load %k[%i] : memref<72xindex>
    nest.accumulate "h" add %one, %h[%a] : memref<256xi64>
  }
  func.return
}

// -----

// Inside of other loops the total goes to an element that may not exist: where it is in the buffer.
// CHECK-LABEL: @rows
// CHECK: nest.for "i" {{%\S+}} = {{.*}} to {{.*}} {
// CHECK: nest.accumulate "s" maxsi {{%\S+}}, {{%\S+}}{{\[}}{{%\S+}}] where (%i < %q) : memref<4xi32>
// CHECK: nest.for "i.combine"
// CHECK: nest.accumulate "s" maxsi {{%\S+}}, %s[%r] where (%r < 8) : memref<8xi32>
// CYCLIC-LABEL: @rows
func.func @rows(%n: index, %q: index, %x: memref<?x?xi32>, %s: memref<8xi32>) {
  nest.for "r" %r = 0 to %n {
    nest.for "i" %i = %r to %n {
      %a = nest.load %x[%r, %i] : memref<?x?xi32>
      nest.accumulate "s" maxsi %a, %s[%r] where (%i < %q) : memref<8xi32>
    }
  }
  func.return
}

// -----

// Two buffers at once, and an element that is set beside the loop.
// CHECK-LABEL: @argmax
// CHECK: [[S:%\S+]] = nest.alloc "s_parts" : memref<4xf32>
// CHECK: [[A:%\S+]] = nest.alloc "a_parts" : memref<4xi32>
// CHECK: nest.store "s" {{%\S+}}, [[S]]
// CHECK: nest.store "s" {{%\S+}}, [[A]]
// CHECK: nest.accumulate "s" custom ({{%\S+}}, {{%\S+}}), ([[S]], [[A]])[%p] identity
// CHECK: nest.for "i.combine"
// CHECK: nest.accumulate "s" custom ({{%\S+}}, {{%\S+}}), (%s, %a)[%r] identity {{.*}} {
// CYCLIC-LABEL: @argmax
func.func @argmax(%n: index, %x: memref<?x?xf32>, %k: memref<?xi32>, %low: f32, %none: i32, %s: memref<?xf32>, %a: memref<?xi32>) {
  nest.for "r" %r = 0 to %n {
    nest.accumulate "s" custom (%low, %none), (%s, %a)[%r] identity [-1.0 : f32, 7 : i32] {
    ^bb0(%old: f32, %was: i32, %new: f32, %is: i32):
      nest.yield %new, %is : f32, i32
    } : memref<?xf32>, memref<?xi32>
    nest.for "i" %i = 0 to %n {
      %p = nest.load %x[%r, %i] : memref<?x?xf32>
      %q = nest.load %k[%i] : memref<?xi32>
      nest.accumulate "s" custom (%p, %q), (%s, %a)[%r] identity [-1.0 : f32, 7 : i32] {
      ^bb0(%old: f32, %was: i32, %new: f32, %is: i32):
        %c = arith.cmpf ogt, %new, %old : f32
        %d = arith.select %c, %new, %old : f32
        %e = arith.select %c, %is, %was : i32
        nest.yield %d, %e : f32, i32
      } : memref<?xf32>, memref<?xi32>
    }
  }
  func.return
}

// -----

// Two updates of the same buffers by combiners that are written alike have the same accumulators.
// CHECK-LABEL: @alike
// CHECK: nest.for "i.p" %p
// CHECK: custom ({{%\S+}}, {{%\S+}}), (%s_parts, %t_parts)[%p] identity
// CHECK: custom ({{%\S+}}, {{%\S+}}), (%s_parts, %t_parts)[%p] identity
// CHECK: nest.for "i.combine" %c
// CHECK: custom ({{%\S+}}, {{%\S+}}), (%s, %t)[] identity
// CHECK-NOT: custom
// CHECK: return
// CYCLIC-LABEL: @alike
func.func @alike(%x: memref<12xf32>, %s: memref<f32>, %t: memref<f32>) {
  nest.for "i" %i = 0 to 6 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate custom (%a, %a), (%s, %t)[] identity [0.0 : f32, 0.0 : f32] {
    ^bb0(%s1: f32, %t1: f32, %s2: f32, %t2: f32):
      %s3 = arith.addf %s1, %s2 : f32
      %t3 = arith.maximumf %t1, %t2 : f32
      nest.yield %s3, %t3 : f32, f32
    } : memref<f32>, memref<f32>
    %b = nest.load %x[%i + 6] : memref<12xf32>
    nest.accumulate custom (%b, %b), (%s, %t)[] identity [0.0 : f32, 0.0 : f32] {
    ^bb0(%old: f32, %most: f32, %new: f32, %other: f32):
      %sum = arith.addf %old, %new : f32
      %larger = arith.maximumf %most, %other : f32
      nest.yield %sum, %larger : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}
