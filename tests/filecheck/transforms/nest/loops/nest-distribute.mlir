// A loop becomes several over parts of its body: after a statement, after an inner loop, or wherever it is legal.
// RUN: opt-tool %s -p 'nest-distribute{loop=i after=y}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-distribute{loop=i}' --split-input-file | filecheck %s --check-prefix=EVERY
// RUN: opt-tool %s -p 'nest-distribute{loop=i after=1}' --split-input-file | filecheck %s --check-prefix=ONE

// What both parts need is computed in both; a load stays where only one part needs it.
// CHECK-LABEL: @symbolic
// CHECK: nest.for "i" [[I:%\S+]] = 1 to %n {
// CHECK-NEXT: [[V:%\S+]] = nest.load %x{{\[}}[[I]]]
// CHECK-NEXT: [[W:%\S+]] = arith.mulf [[V]], [[V]]
// CHECK-NEXT: nest.store "y" [[W]], %y{{\[}}[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: nest.for "i.1" [[K:%\S+]] = 1 to %n {
// CHECK-NEXT: [[V:%\S+]] = nest.load %x{{\[}}[[K]]]
// CHECK-NEXT: [[U:%\S+]] = nest.load %u{{\[}}[[K]]]
// CHECK-NEXT: [[W:%\S+]] = arith.mulf [[V]], [[U]]
// CHECK-NEXT: nest.accumulate "s" add [[W]], %s[]
func.func @symbolic(%n: index, %x: memref<?xf32>, %u: memref<?xf32>, %y: memref<?xf32>, %s: memref<f32>) {
  nest.for "i" %i = 1 to %n {
    %v = nest.load %x[%i] : memref<?xf32>
    %u_v = nest.load %u[%i] : memref<?xf32>
    %w = arith.mulf %v, %v : f32
    nest.store "y" %w, %y[%i] : memref<?xf32>
    %t = arith.mulf %v, %u_v : f32
    nest.accumulate "s" add %t, %s[] : memref<f32>
  }
  func.return
}

// -----

// Cut twice: the second loop keeps together what a dependence ties, the recurrence of "b" and "c".
// CHECK-LABEL: @recurrence
// CHECK: nest.for "i" {{%\S+}} = 1 to 34 step 3 {
// CHECK: nest.for "i.1" {{%\S+}} = 1 to 34 step 3 {
// CHECK-NOT: nest.for "i.2"
// EVERY-LABEL: @recurrence
// EVERY: nest.for "i" {{%\S+}} = 1 to 34 step 3 {
// EVERY-NEXT: nest.store "y"
// EVERY-NEXT: }
// EVERY: nest.for "i.1" {{%\S+}} = 1 to 34 step 3 {
// EVERY: nest.store "b"
// EVERY: nest.store "c"
// EVERY: nest.for "i.2" [[I:%\S+]] = 1 to 34 step 3 {
// EVERY: nest.for "j"
// EVERY-NEXT: nest.accumulate "d"
func.func @recurrence(%x: f32, %y: memref<64xf32>, %b: memref<64xf32>, %c: memref<64xf32>, %d: memref<64xf32>) {
  nest.for "i" %i = 1 to 34 step 3 {
    nest.store "y" %x, %y[%i] : memref<64xf32>
    %p = nest.load %c[%i - 1] : memref<64xf32>
    nest.store "b" %p, %b[%i] : memref<64xf32>
    %q = nest.load %b[%i] : memref<64xf32>
    nest.store "c" %q, %c[%i + 2] : memref<64xf32>
    nest.for "j" %j = 0 to 5 {
      nest.accumulate "d" add %x, %d[%i] : memref<64xf32>
    }
  }
  func.return
}

// -----

// A buffer of an iteration goes along with the part that uses it; the bounds of an inner loop are loaded again.
// ONE-LABEL: @rows
// ONE: nest.for "i" [[I:%\S+]] = 0 to %n {
// ONE-NEXT: nest.store "y"
// ONE-NEXT: }
// ONE-NEXT: nest.for "i.1" [[I:%\S+]] = 0 to %n {
// ONE-NEXT: [[R:%\S+]] = nest.alloc "r"
// ONE-NEXT: [[E:%\S+]] = nest.load %ends{{\[}}[[I]]]
// ONE-NEXT: nest.for "k" {{%\S+}} = 0 to [[E]] {
// ONE-NEXT: nest.accumulate "r" add %x, [[R]][]
func.func @rows(%n: index, %x: f32, %ends: memref<?xindex>, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    %r = nest.alloc "r" : memref<f32>
    %e = nest.load %ends[%i] : memref<?xindex>
    nest.store "y" %x, %y[%i] : memref<?xf32>
    nest.for "k" %k = 0 to %e {
      nest.accumulate "r" add %x, %r[] : memref<f32>
    }
  }
  func.return
}

// -----

// The second part computes its value again, from what the first one does not change.
// CHECK-LABEL: @again
// CHECK: nest.for "i" {{%\S+}} = 2 to %n {
// CHECK: nest.accumulate "y"
// CHECK: nest.for "i.1" [[I:%\S+]] = 2 to %n {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[I]]]
// CHECK-NEXT: [[B:%\S+]] = math.exp [[A]] : f32
// CHECK-NEXT: nest.store "z" [[B]], %z{{\[}}[[I]]]
// EVERY-LABEL: @again
// EVERY: nest.for "i.1" {{%\S+}} = 2 to %n {
func.func @again(%n: index, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
  nest.for "i" %i = 2 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = math.exp %a : f32
    nest.for "y" %l = 0 to %n {
      nest.accumulate "y" add %b, %y[%i] : memref<?xf32>
    }
    nest.store "z" %b, %z[%i] : memref<?xf32>
  }
  func.return
}
