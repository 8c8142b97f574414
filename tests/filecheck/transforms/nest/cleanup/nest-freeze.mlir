// What depends on frozen arguments alone becomes a function of its own, whose results are arguments: through several buffers, a
// loop of one iteration, and with values that both need; nothing where an argument is not frozen, may be written or overlaps.
// RUN: opt-tool %s -p nest-freeze | filecheck %s

// CHECK-LABEL: func.func @packed(%x: memref<8xf32>, %w: memref<8x4xf32> {nest.frozen}, %y: memref<8xf32> {nest.role = "out"}, %panel: memref<4x8xf32>) attributes {nestor.frozen = {function = "packed_frozen", arguments = array<i64: 1>}} {
// CHECK-NOT: nest.alloc
// CHECK: nest.for "i"
// CHECK: nest.load %panel[1, %i]
// CHECK: func.return
// CHECK-LABEL: func.func @packed_frozen(%w: memref<8x4xf32>, %panel: memref<4x8xf32> {nest.role = "out"}) {
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: %[[T:.*]] = nest.alloc "t" : memref<8x4xf32>
// CHECK-NEXT: nest.for "a"
// CHECK: nest.store "t" %{{.*}}, %[[T]]
// CHECK: nest.for "c"
// CHECK: nest.store "panel" %{{.*}}, %panel
// CHECK-NOT: nest.for "i"
// CHECK: func.return
func.func @packed(%x: memref<8xf32>, %w: memref<8x4xf32> {nest.frozen}, %y: memref<8xf32> {nest.role = "out"}) {
  %two = arith.constant 2.0 : f32
  %t = nest.alloc "t" : memref<8x4xf32>
  nest.for "a" %a = 0 to 8 {
    nest.for "b" %b = 0 to 4 {
      %0 = nest.load %w[%a, %b] : memref<8x4xf32>
      %1 = arith.mulf %0, %two : f32
      nest.store "t" %1, %t[%a, %b] : memref<8x4xf32>
    }
  }
  nest.for "product" %product = 0 to 1 {
    %panel = nest.alloc "panel" : memref<4x8xf32>
    nest.for "c" %c = 0 to 8 {
      nest.for "d" %d = 0 to 4 {
        %2 = nest.load %t[%c, %d + %product] : memref<8x4xf32>
        nest.store "panel" %2, %panel[%d, %c] : memref<4x8xf32>
      }
    }
    nest.for "i" %i = 0 to 8 {
      %3 = nest.load %x[%i] : memref<8xf32>
      %4 = nest.load %panel[1, %i] : memref<4x8xf32>
      %5 = arith.mulf %4, %two : f32
      %6 = arith.addf %3, %5 : f32
      nest.store "y" %6, %y[%i] : memref<8xf32>
    }
  }
  func.return
}

// A buffer that another nest changes later, and one of an extent that is not known, are filled in each call.
// CHECK-LABEL: func.func @changed
// CHECK: nest.alloc "t"
// CHECK: nest.alloc "u"
// CHECK: nest.for "a"
// CHECK: nest.for "b"
// CHECK: nest.for "c"
// CHECK-NOT: func.func @changed_frozen
func.func @changed(%n: index, %x: memref<8xf32>, %w: memref<?xf32> {nest.frozen}, %y: memref<8xf32> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<8xf32>
  %u = nest.alloc "u"(%n) : memref<?xf32>
  nest.for "a" %a = 0 to 8 {
    %0 = nest.load %w[%a] : memref<?xf32>
    nest.store "t" %0, %t[%a] : memref<8xf32>
    nest.store "u" %0, %u[%a] : memref<?xf32>
  }
  nest.for "b" %b = 0 to 8 {
    %1 = nest.load %x[%b] : memref<8xf32>
    nest.accumulate "t" add %1, %t[%b] : memref<8xf32>
  }
  nest.for "c" %c = 0 to 8 {
    %2 = nest.load %t[%c] : memref<8xf32>
    %3 = nest.load %u[%c] : memref<?xf32>
    %4 = arith.addf %2, %3 : f32
    nest.store "y" %4, %y[%c] : memref<8xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @written
// CHECK-NOT: @written_frozen
func.func @written(%w: memref<8xf32> {nest.frozen, nest.role = "inout"}, %v: memref<8xf32> {nest.frozen, nest.alias_set = 0 : i64}, %y: memref<8xf32> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "a" %a = 0 to 8 {
    %0 = nest.load %w[%a] : memref<8xf32>
    %1 = nest.load %v[%a] : memref<8xf32>
    %2 = arith.addf %0, %1 : f32
    nest.store "t" %2, %t[%a] : memref<8xf32>
  }
  nest.for "b" %b = 0 to 8 {
    %3 = nest.load %t[%b] : memref<8xf32>
    nest.store "y" %3, %y[%b] : memref<8xf32>
  }
  func.return
}

// An error is one of each call.
// CHECK-LABEL: func.func @checked
// CHECK-NOT: @checked_frozen
func.func @checked(%w: memref<8xf32> {nest.frozen}, %k: memref<8xindex> {nest.frozen}, %y: memref<8xf32> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "a" %a = 0 to 8 {
    %0 = nest.load %k[%a] : memref<8xindex>
    %1 = nest.index %0 of 8 axis 0 of "w"
    %2 = nest.load %w[%1] : memref<8xf32>
    nest.store "t" %2, %t[%a] : memref<8xf32>
  }
  nest.for "b" %b = 0 to 8 {
    %3 = nest.load %t[%b] : memref<8xf32>
    nest.store "y" %3, %y[%b] : memref<8xf32>
  }
  func.return
}

// A buffer that is filled again after what stays has read it: all that fills it would come first. Nothing of it moves.
// CHECK-LABEL: func.func @again
// CHECK: nest.alloc "t"
// CHECK-NOT: func.func @again_frozen
func.func @again(%x: memref<8xf32>, %w: memref<8xf32> {nest.frozen}, %v: memref<8xf32> {nest.frozen}, %y: memref<8xf32> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "a" %a = 0 to 8 {
    %0 = nest.load %w[%a] : memref<8xf32>
    nest.store "t" %0, %t[%a] : memref<8xf32>
  }
  nest.for "b" %b = 0 to 8 {
    %1 = nest.load %x[%b] : memref<8xf32>
    %2 = nest.load %t[%b] : memref<8xf32>
    %3 = arith.addf %1, %2 : f32
    nest.store "y" %3, %y[%b] : memref<8xf32>
  }
  nest.for "c" %c = 0 to 8 {
    %4 = nest.load %v[%c] : memref<8xf32>
    nest.store "t" %4, %t[%c] : memref<8xf32>
  }
  nest.for "d" %d = 0 to 8 {
    %5 = nest.load %y[%d] : memref<8xf32>
    %6 = nest.load %t[%d] : memref<8xf32>
    %7 = arith.mulf %5, %6 : f32
    nest.store "y" %7, %y[%d] : memref<8xf32>
  }
  func.return
}
