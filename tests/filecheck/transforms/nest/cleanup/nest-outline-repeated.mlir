// What occurs again becomes a function: buffers of its own are made there, others and floats that differ are arguments. Not where
// values stand in other places, buffers may overlap or are frozen, a check is between, or it saves too little.
// RUN: opt-tool %s -p "nest-outline-repeated{nests=2 saved=1}" | filecheck %s
// RUN: opt-tool %s -p "nest-outline-repeated{nests=2 saved=1 host=true}" | filecheck %s --check-prefix=HOST
// RUN: opt-tool %s -p "nest-outline-repeated" | filecheck %s --check-prefix=LITTLE

// LITTLE-NOT: func.call

// CHECK-LABEL: func.func @layers(
// CHECK: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: %[[B:.*]] = nest.alloc "b" : memref<8xf32>
// CHECK-NEXT: func.call @layers.part(%x, %{{.*}}, %[[HALF]], %[[B]]) {nestor.outlined}
// CHECK-NEXT: func.call @layers.part(%[[B]], %{{.*}}, %[[TWO]], %y) {nestor.outlined}
// CHECK-NEXT: func.return
// CHECK-LABEL: func.func private @layers.part(%x: memref<8xf32>, %{{.*}}: memref<8xf32>, %{{.*}}: f32, %b: memref<8xf32> {nest.role = "inout"}) attributes {nestor.outlined} {
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %[[A:.*]] = nest.alloc "a" : memref<8xf32>
// CHECK-NEXT: nest.for "i"
// CHECK: nest.store "a" %{{.*}}, %[[A]][%i]
// CHECK: nest.for "j"
// CHECK: nest.accumulate "b" add %{{.*}}, %b[%j]
// CHECK: func.return
func.func @layers(%x: memref<8xf32>, %w: memref<8xf32>, %u: memref<8xf32>, %y: memref<8xf32> {nest.role = "out"}) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %two = arith.constant 2.0 : f32
  %a = nest.alloc "a" : memref<8xf32>
  %b = nest.alloc "b" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    %1 = nest.load %w[%i] : memref<8xf32>
    %2 = arith.mulf %0, %1 : f32
    nest.store "a" %2, %a[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %0 = nest.load %a[-%j + 7] : memref<8xf32>
    %1 = arith.addf %0, %one : f32
    %2 = arith.mulf %1, %half : f32
    nest.accumulate "b" add %2, %b[%j] : memref<8xf32>
  }
  %c = nest.alloc "c" : memref<8xf32>
  nest.for "i.1" %i = 0 to 8 {
    %0 = nest.load %b[%i] : memref<8xf32>
    %1 = nest.load %u[%i] : memref<8xf32>
    %2 = arith.mulf %0, %1 : f32
    nest.store "c" %2, %c[%i] : memref<8xf32>
  }
  nest.for "j.1" %j = 0 to 8 {
    %0 = nest.load %c[-%j + 7] : memref<8xf32>
    %1 = arith.addf %0, %one : f32
    %2 = arith.mulf %1, %two : f32
    nest.accumulate "y" add %2, %y[%j] : memref<8xf32>
  }
  func.return
}

// The second pair reads what it writes.
// CHECK-LABEL: func.func @other_places(
// CHECK-NOT: func.call
// CHECK: func.return
func.func @other_places(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "out"}, %z: memref<8xf32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %0 = nest.load %x[%j] : memref<8xf32>
    nest.accumulate "y" add %0, %y[-%j + 7] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    %0 = nest.load %z[%i] : memref<8xf32>
    nest.store "z" %0, %z[%i] : memref<8xf32>
  }
  nest.for "j.1" %j = 0 to 8 {
    %0 = nest.load %z[%j] : memref<8xf32>
    nest.accumulate "z" add %0, %z[-%j + 7] : memref<8xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @overlapping(
// CHECK-NOT: func.call
// CHECK: func.return
func.func @overlapping(%x: memref<8xf32> {nest.alias_set = 0 : i64}, %y: memref<8xf32> {nest.role = "inout", nest.alias_set = 0 : i64}) {
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.accumulate "y" add %0, %y[%j] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  nest.for "j.1" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.accumulate "y" add %0, %y[%j] : memref<8xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @frozen(
// CHECK-NOT: func.call
// CHECK: func.return
func.func @frozen(%x: memref<8xf32> {nest.frozen}, %y: memref<8xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.accumulate "y" add %0, %y[%j] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  nest.for "j.1" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.accumulate "y" add %0, %y[%j] : memref<8xf32>
  }
  func.return
}

// Without a reduction, nt-fuse has made one nest of what belongs together.
// CHECK-LABEL: func.func @elementwise(
// CHECK-NOT: func.call
// CHECK: func.return
func.func @elementwise(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.store "y" %0, %y[%j] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  nest.for "j.1" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.store "y" %0, %y[%j] : memref<8xf32>
  }
  func.return
}

// What fails stops what comes after it.
// CHECK-LABEL: func.func @checked(
// CHECK-NOT: func.call
// CHECK: func.return
func.func @checked(%x: memref<8xf32>, %ok: i1, %y: memref<8xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  cf.assert %ok, "first" {nestor.kind = "AssertionError"}
  nest.for "j" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.accumulate "y" add %0, %y[%j] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %0, %y[%i] : memref<8xf32>
  }
  cf.assert %ok, "second" {nestor.kind = "AssertionError"}
  nest.for "j.1" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.accumulate "y" add %0, %y[%j] : memref<8xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @unknown_extents(
// CHECK-NOT: func.call
// CHECK: func.return
func.func @unknown_extents(%x: memref<?xf32>, %y: memref<?xf32> {nest.role = "out"}) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %0 = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %0, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n {
    %0 = nest.load %x[%j] : memref<?xf32>
    nest.accumulate "y" add %0, %y[-%j + %n - 1] : memref<?xf32>
  }
  nest.for "i.1" %i = 0 to %n {
    %0 = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %0, %y[%i] : memref<?xf32>
  }
  nest.for "j.1" %j = 0 to %n {
    %0 = nest.load %x[%j] : memref<?xf32>
    nest.accumulate "y" add %0, %y[-%j + %n - 1] : memref<?xf32>
  }
  func.return
}

// A number that depends on an element: the host of a GPU does not know it.
// CHECK-LABEL: func.func @element(
// CHECK-COUNT-2: func.call @element.part(
// HOST-LABEL: func.func @layers(
// HOST-COUNT-2: func.call @layers.part(
// HOST-LABEL: func.func @element(
// HOST-NOT: func.call
func.func @element(%x: memref<8xf32>, %z: memref<1xf32>, %y: memref<8xf32> {nest.role = "out"}, %w: memref<8xf32> {nest.role = "out"}) {
  %s = nest.load %z[0] : memref<1xf32>
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    %1 = arith.mulf %0, %s : f32
    nest.store "y" %1, %y[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.accumulate "y" add %0, %y[%j] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    %1 = arith.mulf %0, %s : f32
    nest.store "w" %1, %w[%i] : memref<8xf32>
  }
  nest.for "j.1" %j = 0 to 8 {
    %0 = nest.load %x[-%j + 7] : memref<8xf32>
    nest.accumulate "w" add %0, %w[%j] : memref<8xf32>
  }
  func.return
}
