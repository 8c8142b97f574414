// A nest becomes a call of the intrinsic that has it for a body, on windows of its buffers; remainders stay loops.
// RUN: opt-tool %s -p 'nest-split{loop=i factor=4 func=uneven},nest-tensorize{loop=i.i func=uneven intrinsic=axpy4},nest-split{loop=i factor=4 func=symbolic},nest-tensorize{loop=i.i func=symbolic intrinsic=axpy4},nest-tensorize{loop=l func=lower_bound intrinsic=axpy4},nest-tensorize{loop=i func=rows intrinsic=dot},nest-tensorize{loop=i func=whole intrinsic=fill},nest-tensorize{loop=i func=reversed intrinsic=twice}' | filecheck %s

func.func private @axpy4(%a: f32, %x: memref<4xf32, strided<[1], offset: ?>>, %y: memref<4xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 4 {
    %u = nest.load %x[%l] : memref<4xf32, strided<[1], offset: ?>>
    %v = arith.mulf %a, %u : f32
    nest.accumulate add %v, %y[%l] : memref<4xf32, strided<[1], offset: ?>>
  }
  func.return
}

// The extent %n of both vectors is an argument of the call: that of their windows.
func.func private @dot(%x: memref<?xi32, strided<[?], offset: ?>>, %y: memref<?xi32, strided<[?], offset: ?>>, %s: memref<i32, strided<[], offset: ?>>) attributes {nest.intrinsic} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi32, strided<[?], offset: ?>>
  nest.for "l" %l = 0 to %n {
    %u = nest.load %x[%l] : memref<?xi32, strided<[?], offset: ?>>
    %v = nest.load %y[%l] : memref<?xi32, strided<[?], offset: ?>>
    %p = arith.muli %u, %v : i32
    nest.accumulate add %p, %s[] : memref<i32, strided<[], offset: ?>>
  }
  func.return
}

func.func private @fill(%x: memref<?x8xf32>, %v: f32, %n: index) attributes {nest.intrinsic} {
  nest.for "a" %a = 0 to %n {
    nest.for "b" %b = 0 to 8 {
      nest.store "x" %v, %x[%a, %b] : memref<?x8xf32>
    }
  }
  func.return
}

func.func private @twice(%x: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32, strided<[1], offset: ?>>) attributes {nest.intrinsic} {
  nest.for "l" %l = 0 to 8 {
    %u = nest.load %x[7 - %l] : memref<8xf32, strided<[1], offset: ?>>
    %c = arith.constant 2.0 : f32
    %v = arith.mulf %c, %u : f32
    nest.store %v, %y[%l] : memref<8xf32, strided<[1], offset: ?>>
  }
  func.return
}

// CHECK-LABEL: func.func @uneven
// CHECK-SAME: %[[S:.*]]: f32, %[[P:.*]]: memref<102xf32>, %[[Q:.*]]: memref<102xf32>
func.func @uneven(%s: f32, %p: memref<102xf32>, %q: memref<102xf32>) {
  // CHECK: nest.for "i.o" %[[O:.*]] = 0 to 25 {
  // CHECK: %[[AT:.*]] = arith.muli %[[O]], %{{.*}} : index
  // CHECK-NEXT: %[[X:.*]] = memref.subview %[[P]][%[[AT]]] [4] [1] : memref<102xf32> to memref<4xf32, strided<[1], offset: ?>>
  // CHECK-NEXT: %[[Y:.*]] = memref.subview %[[Q]][%[[AT]]] [4] [1]
  // CHECK-NEXT: func.call @axpy4(%[[S]], %[[X]], %[[Y]])
  // CHECK-NEXT: }
  // CHECK-NEXT: nest.for "i.t"
  // CHECK: nest.accumulate "q"
  nest.for "i" %i = 0 to 102 {
    %u = nest.load %p[%i] : memref<102xf32>
    %v = arith.mulf %s, %u : f32
    nest.accumulate "q" add %v, %q[%i] : memref<102xf32>
  }
  func.return
}

// Nothing is known of the extents of the buffers, but all of a window is accessed. Rows of a buffer of more axes.
// CHECK-LABEL: func.func @symbolic
func.func @symbolic(%s: f32, %p: memref<?x?xf32>, %q: memref<?xf32>, %n: index, %r: index) {
  // CHECK: memref.subview %{{.*}}[%{{.*}}, %{{.*}}] [1, 4] [1, 1] : memref<?x?xf32> to memref<4xf32, strided<[1], offset: ?>>
  // CHECK: func.call @axpy4
  nest.for "i" %i = 0 to %n {
    %u = nest.load %p[%r, %i] : memref<?x?xf32>
    %v = arith.mulf %s, %u : f32
    nest.accumulate "q" add %v, %q[%i] : memref<?xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @lower_bound
func.func @lower_bound(%p: memref<100xf32>, %q: memref<100xf32>) {
  // CHECK: %[[C:.*]] = arith.constant 3.000000e+00 : f32
  // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %{{.*}} : index
  // CHECK: memref.subview %{{.*}}[%[[AT]]] [4] [1]
  // CHECK: memref.subview %{{.*}}[3] [4] [1] : memref<100xf32> to memref<4xf32, strided<[1], offset: 3>>
  // CHECK-NEXT: "memref.cast"
  // CHECK-NEXT: func.call @axpy4(%[[C]],
  nest.for "o" %o = 0 to 20 {
    nest.for "l" %l = 2 to 6 {
      %c = arith.constant 3.0 : f32
      %u = nest.load %p[%l + %o] : memref<100xf32>
      %v = arith.mulf %c, %u : f32
      nest.accumulate "q" add %v, %q[%l + 1] : memref<100xf32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<?x?xi32> {nest.dims = ["m", "n"]}, %y: memref<?xi32> {nest.dims = ["n"]}, %s: memref<?xi32> {nest.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xi32>
  // CHECK: %[[N:.*]] = memref.dim %{{.*}}, %c1
  %n = memref.dim %x, %c1 : memref<?x?xi32>
  // CHECK: nest.for "o" %[[O:.*]] = 0
  // CHECK-NEXT: memref.subview %{{.*}}[%[[O]], 0] [1, %[[N]]] [1, 1] : memref<?x?xi32> to memref<?xi32, strided<[1], offset: ?>>
  // CHECK-NEXT: "memref.cast"(%{{.*}}) : (memref<?xi32, strided<[1], offset: ?>>) -> memref<?xi32, strided<[?], offset: ?>>
  // CHECK-NEXT: "memref.cast"
  // CHECK-NEXT: memref.subview %{{.*}}[%[[O]]] [1] [1] : memref<?xi32> to memref<i32, strided<[], offset: ?>>
  // CHECK-NEXT: func.call @dot
  nest.for "o" %o = 0 to %m {
    nest.for "i" %i = 0 to %n {
      %u = nest.load %x[%o, %i] : memref<?x?xi32>
      %v = nest.load %y[%i] : memref<?xi32>
      %p = arith.muli %u, %v : i32
      nest.accumulate "s" add %p, %s[%o] : memref<?xi32>
    }
  }
  func.return
}

// A whole buffer is passed as it is.
// CHECK-LABEL: func.func @whole
func.func @whole(%v: f32) {
  // CHECK: %[[T:.*]] = nest.alloc "t"
  // CHECK-NEXT: %[[X:.*]] = "memref.cast"(%[[T]]) : (memref<6x8xf32>) -> memref<?x8xf32>
  // CHECK-NEXT: %[[N:.*]] = arith.constant 6 : index
  // CHECK-NEXT: func.call @fill(%[[X]], %{{.*}}, %[[N]])
  %t = nest.alloc "t" : memref<6x8xf32>
  nest.for "i" %i = 0 to 6 {
    nest.for "j" %j = 0 to 8 {
      nest.store "t" %v, %t[%i, %j] : memref<6x8xf32>
    }
  }
  func.return
}

// One buffer may be two arguments where the elements are others.
// CHECK-LABEL: func.func @reversed
func.func @reversed(%x: memref<16xf32>) {
  // CHECK: memref.subview %{{.*}}[0] [8] [1]
  // CHECK: memref.subview %{{.*}}[8] [8] [1]
  // CHECK: func.call @twice
  nest.for "i" %i = 0 to 8 {
    %c = arith.constant 2.0 : f32
    %u = nest.load %x[7 - %i] : memref<16xf32>
    %v = arith.mulf %c, %u : f32
    nest.store "x" %v, %x[%i + 8] : memref<16xf32>
  }
  func.return
}
