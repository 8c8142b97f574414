// A load, a combination and a store of one element are the update of a reduction.
// RUN: opt-tool %s -p nest-raise-updates --split-input-file | filecheck %s

// CHECK-LABEL: @integers
// CHECK-NOT: nest.load %h
// CHECK: nest.accumulate "h" add %one, %h[%k] : memref<16xi32>
// CHECK: %[[NEGATED:.*]] = arith.subi %{{.*}}, %one : i32
// CHECK: nest.accumulate "h" add %[[NEGATED]], %h[3] : memref<16xi32>
// CHECK: nest.accumulate "h" maxsi %one, %h[2] where (%i >= 3) : memref<16xi32>
// CHECK-NOT: nest.store
func.func @integers(%b: memref<8xi32>, %h: memref<16xi32>) {
  %one = arith.constant 1 : i32
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi32>
    %k = arith.index_cast %v : i32 to index
    %a = nest.load %h[%k] : memref<16xi32>
    %c = arith.addi %one, %a : i32
    nest.store "h" %c, %h[%k] : memref<16xi32>
    %d = nest.load %h[3] : memref<16xi32>
    %e = arith.subi %d, %one : i32
    nest.store "h" %e, %h[3] : memref<16xi32>
    %f = nest.load %h[2] : memref<16xi32>
    %g = arith.maxsi %f, %one : i32
    nest.store "h" %g, %h[2] where (%i >= 3) : memref<16xi32>
  }
  func.return
}

// -----

// Sums of floating-point numbers keep their order; the larger one of two needs none.
// CHECK-LABEL: @floats
// CHECK: arith.addf
// CHECK: nest.accumulate "y" maximum %x, %y[2] : memref<8xf32>
func.func @floats(%x: f32, %y: memref<8xf32>) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %y[1] : memref<8xf32>
    %b = arith.addf %a, %x : f32
    nest.store "y" %b, %y[1] : memref<8xf32>
    %c = nest.load %y[2] : memref<8xf32>
    %d = arith.maximumf %c, %x : f32
    nest.store "y" %d, %y[2] : memref<8xf32>
  }
  func.return
}

// -----

// Each iteration has an element of its own.
// CHECK-LABEL: @elements
// CHECK-NOT: nest.accumulate
func.func @elements(%x: i32, %y: memref<8x8xi32>) {
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %y[%j, %i] : memref<8x8xi32>
      %b = arith.addi %a, %x : i32
      nest.store "y" %b, %y[%j, %i] : memref<8x8xi32>
    }
  }
  func.return
}

// -----

// The old element or the new one is used elsewhere, the element is another one, the difference is from the value, or
// something in between writes to the buffer.
// CHECK-LABEL: @kept
// CHECK-NOT: nest.accumulate
func.func @kept(%i: index, %x: i32, %y: memref<8xi32>, %z: memref<8xi32> {nest.alias_set = 0 : i64}, %w: memref<8xi32> {nest.alias_set = 0 : i64}) {
  nest.for "k" %n = 0 to 7 {
    %a = nest.load %y[%i] : memref<8xi32>
    %b = arith.addi %a, %a : i32
    nest.store "y" %b, %y[%i] : memref<8xi32>
    %c = nest.load %y[%i] : memref<8xi32>
    %d = arith.addi %c, %x : i32
    nest.store "y" %d, %y[%i] : memref<8xi32>
    nest.store "z" %d, %z[%i] : memref<8xi32>
    %e = nest.load %y[%i + 1] : memref<8xi32>
    %f = arith.addi %e, %x : i32
    nest.store "y" %f, %y[%i] : memref<8xi32>
    %g = nest.load %y[%i] : memref<8xi32>
    %h = arith.subi %x, %g : i32
    nest.store "y" %h, %y[%i] : memref<8xi32>
    %k = nest.load %z[%i] : memref<8xi32>
    nest.store "w" %x, %w[%i] : memref<8xi32>
    %l = arith.addi %k, %x : i32
    nest.store "z" %l, %z[%i] : memref<8xi32>
  }
  func.return
}

// -----

// Comparisons and selections of integers, either way round.
// CHECK-LABEL: @selected
// CHECK: nest.accumulate "y" maxsi %x, %y[0]
// CHECK: nest.accumulate "y" minui %x, %y[1]
// CHECK-NOT: nest.store
func.func @selected(%x: i32, %y: memref<8xi32>) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %y[0] : memref<8xi32>
    %b = arith.cmpi sle, %x, %a : i32
    %c = arith.select %b, %a, %x : i32
    nest.store "y" %c, %y[0] : memref<8xi32>
    %d = nest.load %y[1] : memref<8xi32>
    %e = arith.cmpi ugt, %d, %x : i32
    %f = arith.select %e, %x, %d : i32
    nest.store "y" %f, %y[1] : memref<8xi32>
  }
  func.return
}

// -----

// Python's max of floating-point numbers: NaN does not win. What each loop carries is the element itself, which starts at
// zero, so that no -0.0 wins.
// CHECK-LABEL: @carried
// CHECK: nest.store "best" %zero, %best[]
// CHECK-NEXT: nest.for "i" {{%\S+}} = 0 to 8 {
// CHECK-NEXT: nest.for "j" {{%\S+}} = 0 to 8 {
// CHECK-NEXT: [[V:%\S+]] = nest.load %x
// CHECK-NEXT: [[C:%\S+]] = arith.cmpf ord, [[V]], [[V]]
// CHECK: [[S:%\S+]] = arith.select [[C]], [[V]], {{%\S+}}
// CHECK: [[Z:%\S+]] = arith.addf [[S]], {{%\S+}}
// CHECK-NEXT: nest.accumulate "best" maximum [[Z]], %best[]
func.func @carried(%x: memref<8x8xf32>, %best: memref<f32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.store "best" %zero, %best[] : memref<f32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %best[] : memref<f32>
    %own = nest.alloc "best" : memref<f32>
    nest.store "best" %a, %own[] : memref<f32>
    nest.for "j" %j = 0 to 8 {
      %b = nest.load %own[] : memref<f32>
      %v = nest.load %x[%i, %j] : memref<8x8xf32>
      %c = arith.cmpf ogt, %v, %b : f32
      %d = arith.select %c, %v, %b : f32
      nest.store "best" %d, %own[] : memref<f32>
    }
    %e = nest.load %own[] : memref<f32>
    nest.store "best" %e, %best[] : memref<f32>
  }
  func.return
}

// -----

// What is compared is never -0.0, wherever it starts; the smaller one of numbers that may be starts at zero.
// CHECK-LABEL: @zeros
// CHECK: arith.cmpf ord
// CHECK-NOT: arith.addf
// CHECK: nest.accumulate "y" maximum {{%\S+}}, %y[1]
// CHECK-NOT: nest.accumulate
func.func @zeros(%x: memref<8xf32>, %y: memref<8xf32>) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    %w = math.absf %v : f32
    %a = nest.load %y[1] : memref<8xf32>
    %b = arith.cmpf ogt, %w, %a : f32
    %c = arith.select %b, %w, %a : f32
    nest.store "y" %c, %y[1] : memref<8xf32>
    %d = nest.load %y[2] : memref<8xf32>
    %e = arith.cmpf olt, %v, %d : f32
    %f = arith.select %e, %v, %d : f32
    nest.store "y" %f, %y[2] : memref<8xf32>
    %g = nest.load %y[3] : memref<8xf32>
    %h = arith.cmpf oge, %w, %g : f32
    %k = arith.select %h, %w, %g : f32
    nest.store "y" %k, %y[3] : memref<8xf32>
  }
  func.return
}

// -----

// The element is looked at between, and a variable has a second use: they stay apart.
// CHECK-LABEL: @apart
// CHECK: nest.accumulate "own" add {{%\S+}}, %own
// CHECK: nest.accumulate "own" add {{%\S+}}, %own
func.func @apart(%x: i32, %best: memref<i32>, %y: memref<8xi32>) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %best[] : memref<i32>
    %own = nest.alloc "own" : memref<i32>
    nest.store "own" %a, %own[] : memref<i32>
    nest.for "j" %j = 0 to 8 {
      %b = nest.load %own[] : memref<i32>
      %c = arith.addi %b, %x : i32
      nest.store "own" %c, %own[] : memref<i32>
      %d = nest.load %best[] : memref<i32>
      nest.store "y" %d, %y[%j] : memref<8xi32>
    }
    %e = nest.load %own[] : memref<i32>
    nest.store "best" %e, %best[] : memref<i32>
  }
  nest.for "i.1" %i = 0 to 8 {
    %a = nest.load %best[] : memref<i32>
    %own = nest.alloc "own" : memref<i32>
    nest.store "own" %a, %own[] : memref<i32>
    nest.for "j.1" %j = 0 to 8 {
      %b = nest.load %own[] : memref<i32>
      %c = arith.addi %b, %x : i32
      nest.store "own" %c, %own[] : memref<i32>
    }
    %e = nest.load %own[] : memref<i32>
    nest.store "best" %e, %best[] : memref<i32>
    nest.store "y" %e, %y[%i] : memref<8xi32>
  }
  func.return
}

// -----

// Updates where a condition holds: by what changes nothing elsewhere. The condition may not be of the element itself, and
// what is selected is the update or what was there.
// CHECK-LABEL: @conditional
// CHECK: [[V:%\S+]] = arith.select %c, %x, {{%\S+}}
// CHECK-NEXT: nest.accumulate "n" add [[V]], %n[]
// CHECK: [[W:%\S+]] = arith.select %c, {{%\S+}}, %y
// CHECK-NEXT: nest.accumulate "m" maximum [[W]], %m[]
// CHECK-NOT: nest.accumulate
func.func @conditional(%c: i1, %x: i32, %y: f32, %n: memref<i32>, %m: memref<f32>, %k: memref<i32>) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %n[] : memref<i32>
    %b = arith.addi %a, %x : i32
    %d = arith.select %c, %b, %a : i32
    nest.store "n" %d, %n[] : memref<i32>
    %e = nest.load %m[] : memref<f32>
    %f = arith.maximumf %e, %y : f32
    %g = arith.select %c, %e, %f : f32
    nest.store "m" %g, %m[] : memref<f32>
    %h = nest.load %k[] : memref<i32>
    %o = arith.addi %h, %x : i32
    %p = arith.cmpi sgt, %h, %x : i32
    %q = arith.select %p, %o, %h : i32
    nest.store "k" %q, %k[] : memref<i32>
    %r = nest.load %k[] : memref<i32>
    %s = arith.addi %r, %x : i32
    %t = arith.select %c, %s, %x : i32
    nest.store "k" %t, %k[] : memref<i32>
  }
  func.return
}
