// Nests are done once more for readers, which read what was made for them alone.
// RUN: opt-tool %s -p 'nest-recompute{loops=a,b,rows}' --split-input-file | filecheck %s

// Of an unknown extent, from a bound that is not zero: a sum and what is computed of it, in place. The other reader keeps its own.
// CHECK-LABEL: @in_place
// CHECK: [[T:%\S+]] = nest.alloc "t"({{%\S+}}) : memref<?xf32>
// CHECK: nest.for "a" {{%\S+}} = 1 to %n {
// CHECK: nest.for "b" {{%\S+}} = 1 to %n {
// CHECK: [[U:%\S+]] = nest.alloc "t.1"({{%\S+}}) : memref<?xf32>
// CHECK-NEXT: nest.for "a.1" [[I:%\S+]] = 1 to %n {
// CHECK: nest.for "k.1" [[K:%\S+]] = 0 to 4 {
// CHECK: nest.accumulate "t" add {{%\S+}}, [[U]]{{\[}}[[I]]]
// CHECK: nest.for "b.1" [[J:%\S+]] = 1 to %n {
// CHECK-NEXT: nest.load [[U]]{{\[}}[[J]]]
// CHECK: nest.store "t" {{%\S+}}, [[U]]{{\[}}[[J]]]
// CHECK: nest.for "rows" [[R:%\S+]] = 1 to %n {
// CHECK-NEXT: nest.load [[U]]{{\[}}[[R]]]
// CHECK: nest.for "others" [[O:%\S+]] = 1 to %n {
// CHECK-NEXT: nest.load [[T]]{{\[}}[[O]]]
func.func @in_place(%n: index, %x: memref<?x4xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "a" %i = 1 to %n {
    %zero = arith.constant 0.0 : f32
    nest.store "t" %zero, %t[%i] : memref<?xf32>
    nest.for "k" %k = 0 to 4 {
      %v = nest.load %x[%i, %k] : memref<?x4xf32>
      nest.accumulate "t" add %v, %t[%i] : memref<?xf32>
    }
  }
  nest.for "b" %i = 1 to %n {
    %v = nest.load %t[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    nest.store "t" %w, %t[%i] : memref<?xf32>
  }
  nest.for "rows" %i = 1 to %n {
    %v = nest.load %t[%i] : memref<?xf32>
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  nest.for "others" %i = 1 to %n {
    %v = nest.load %t[%i] : memref<?xf32>
    nest.store "z" %v, %z[%i] : memref<?xf32>
  }
  func.return
}

// -----

// What nobody reads is not stored in the copy, and not computed.
// CHECK-LABEL: @two_results
// CHECK: nest.for "rows.o" {{%\S+}} = 0 to 8
// CHECK: nest.alloc "s.1" : memref<8xf32>
// CHECK-NOT: nest.alloc "t.1"
// CHECK: nest.for "b.1" {{%\S+}} = 0 to 8 {
// CHECK-NOT: math.exp
// CHECK: nest.store "u" {{%\S+}}, {{%\S+}}
// CHECK-NEXT: }
// CHECK-NEXT: nest.for "rows" {{%\S+}} = 0 to 8 step 2 {
func.func @two_results(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  %s = nest.alloc "s" : memref<8xf32>
  %t = nest.alloc "t" : memref<8xf32>
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "s" %v, %s[%i] : memref<8xf32>
  }
  nest.for "b" %i = 0 to 8 {
    %v = nest.load %s[%i] : memref<8xf32>
    %e = math.exp %v : f32
    nest.store "t" %e, %t[%i] : memref<8xf32>
    nest.store "u" %v, %u[%i] : memref<8xf32>
  }
  nest.for "rows.o" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "z" %v, %z[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 step 2 {
    %v = nest.load %u[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}
