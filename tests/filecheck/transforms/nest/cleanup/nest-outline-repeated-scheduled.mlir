// Nests that are scheduled, copies as well, over views of buffers: the views are made in the function. Arguments that are the same
// in every call are arguments like others by then. Nests that use one buffer in two places stay where others use two.
// RUN: opt-tool %s -p "nest-outline-repeated{nests=2 saved=1 scheduled=true}" | filecheck %s
// RUN: opt-tool %s -p "nest-outline-repeated{nests=2 saved=1}" | filecheck %s --check-prefix=PLAIN

// PLAIN-NOT: func.call

// CHECK-LABEL: func.func @packed(
// CHECK-NEXT: func.call @packed.part(%x, %v) {nestor.outlined}
// CHECK-NEXT: func.call @packed.part(%y, %w) {nestor.outlined}
// CHECK-NEXT: func.return
// CHECK-LABEL: func.func private @packed.part(%x: memref<4x8xf32>, %v: memref<32xf32> {nest.role = "inout"})
// CHECK-NEXT: %[[FLAT:.*]] = memref.collapse_shape %x
// CHECK-NEXT: %[[PANEL:.*]] = nest.alloc "panel" : memref<4x8xf32>
// CHECK-NEXT: %[[ROW:.*]] = memref.collapse_shape %[[PANEL]]
// CHECK-NEXT: nest.for "i" %i = 0 to 4 parallel
// CHECK: nest.load %[[FLAT]]
// CHECK: nest.store "panel" %{{.*}}, %[[ROW]]
// CHECK: nest.load %[[PANEL]]
func.func @packed(%x: memref<4x8xf32> {nest.frozen}, %y: memref<4x8xf32>, %v: memref<32xf32> {nest.role = "out"}, %w: memref<32xf32> {nest.role = "out"}) {
  %x_flat = memref.collapse_shape %x [[0 : i64, 1 : i64]] : memref<4x8xf32> into memref<32xf32>
  %panel = nest.alloc "panel" : memref<4x8xf32>
  %panel_flat = memref.collapse_shape %panel [[0 : i64, 1 : i64]] : memref<4x8xf32> into memref<32xf32>
  nest.for "i" %i = 0 to 4 parallel {
    nest.for "j" %j = 0 to 8 vectorized(8) {
      %0 = nest.load %x_flat[8 * %i + %j] : memref<32xf32>
      nest.store "panel" %0, %panel_flat[8 * %i + %j] : memref<32xf32>
    }
  }
  nest.for "k" %k = 0 to 32 {
    %0 = nest.load %panel[%k floordiv 8, %k mod 8] : memref<4x8xf32>
    nest.store "v" %0, %v[-%k + 31] : memref<32xf32>
  }
  %y_flat = memref.collapse_shape %y [[0 : i64, 1 : i64]] : memref<4x8xf32> into memref<32xf32>
  %panel_1 = nest.alloc "panel.1" : memref<4x8xf32>
  %panel_1_flat = memref.collapse_shape %panel_1 [[0 : i64, 1 : i64]] : memref<4x8xf32> into memref<32xf32>
  nest.for "i.1" %i = 0 to 4 parallel {
    nest.for "j.1" %j = 0 to 8 vectorized(8) {
      %0 = nest.load %y_flat[8 * %i + %j] : memref<32xf32>
      nest.store "panel.1" %0, %panel_1_flat[8 * %i + %j] : memref<32xf32>
    }
  }
  nest.for "k.1" %k = 0 to 32 {
    %0 = nest.load %panel_1[%k floordiv 8, %k mod 8] : memref<4x8xf32>
    nest.store "w" %0, %w[-%k + 31] : memref<32xf32>
  }
  func.return
}

// The second pair writes a view of what it reads.
// CHECK-LABEL: func.func @same_buffer(
// CHECK-NOT: func.call
// CHECK: func.return
func.func @same_buffer(%x: memref<4x8xf32>, %y: memref<4x8xf32> {nest.role = "inout"}, %v: memref<4x8xf32> {nest.role = "out"}) {
  %v_flat = memref.collapse_shape %v [[0 : i64, 1 : i64]] : memref<4x8xf32> into memref<32xf32>
  nest.for "i" %i = 0 to 4 {
    %0 = nest.load %x[%i, 0] : memref<4x8xf32>
    nest.store "v" %0, %v_flat[8 * %i] : memref<32xf32>
  }
  nest.for "j" %j = 0 to 4 {
    %0 = nest.load %x[%j, 1] : memref<4x8xf32>
    nest.store "v" %0, %v_flat[8 * %j + 1] : memref<32xf32>
  }
  %y_flat = memref.collapse_shape %y [[0 : i64, 1 : i64]] : memref<4x8xf32> into memref<32xf32>
  nest.for "i.1" %i = 0 to 4 {
    %0 = nest.load %y[%i, 0] : memref<4x8xf32>
    nest.store "y" %0, %y_flat[8 * %i] : memref<32xf32>
  }
  nest.for "j.1" %j = 0 to 4 {
    %0 = nest.load %y[%j, 1] : memref<4x8xf32>
    nest.store "y" %0, %y_flat[8 * %j + 1] : memref<32xf32>
  }
  func.return
}
