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
