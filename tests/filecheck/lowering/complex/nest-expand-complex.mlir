// Complex numbers become pairs of real ones: a last axis of 2 in arguments, two buffers inside of a function.
// RUN: opt-tool %s -p nest-expand-complex --split-input-file | filecheck %s

// A product: both parts of both factors are loaded once.
// CHECK-LABEL: func.func @product
// CHECK-SAME: [[X:%x]]: memref<?x2xf64> {nest.dims = ["n", 2 : i64]}
// CHECK-SAME: [[S:%s]]: memref<?x2xf64, strided<[?, 1]>>
// CHECK-SAME: [[Y:%y]]: memref<?x2xf64> {nest.role = "out", nest.dims = ["n", 2 : i64]}
// CHECK: memref.dim [[X]], {{.*}} : memref<?x2xf64>
// CHECK: nest.for "i" [[I:%i]]
// CHECK-NEXT: [[AR:%.*]] = nest.load [[X]][[[I]], 0]
// CHECK-NEXT: [[AI:%.*]] = nest.load [[X]][[[I]], 1]
// CHECK-NEXT: [[BR:%.*]] = nest.load [[S]][[[I]], 0]
// CHECK-NEXT: [[BI:%.*]] = nest.load [[S]][[[I]], 1]
// CHECK-NEXT: [[A:%.*]] = arith.mulf [[AR]], [[BR]]
// CHECK-NEXT: [[B:%.*]] = arith.mulf [[AI]], [[BI]]
// CHECK-NEXT: [[RE:%.*]] = arith.subf [[A]], [[B]]
// CHECK-NEXT: [[C:%.*]] = arith.mulf [[AR]], [[BI]]
// CHECK-NEXT: [[D:%.*]] = arith.mulf [[AI]], [[BR]]
// CHECK-NEXT: [[IM:%.*]] = arith.addf [[C]], [[D]]
// CHECK-NEXT: nest.store "y.re" [[RE]], [[Y]][[[I]], 0] where
// CHECK-NEXT: nest.store "y.im" [[IM]], [[Y]][[[I]], 1] where
func.func @product(%x: memref<?xcomplex<f64>> {nest.dims = ["n"]}, %s: memref<?xcomplex<f64>, strided<[?]>> {nest.dims = ["n"]}, %y: memref<?xcomplex<f64>> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xcomplex<f64>>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xcomplex<f64>>
    %b = nest.load %s[%i] : memref<?xcomplex<f64>, strided<[?]>>
    %p = complex.mul %a, %b : complex<f64>
    nest.store "y" %p, %y[%i] where (%i - 1 >= 0) : memref<?xcomplex<f64>>
  }
  func.return
}

// -----

// A sum is two sums. What nobody reads is not loaded, and the flags of an operation are those of its parts.
// CHECK-LABEL: func.func @sums
// CHECK: nest.alloc "s.re" : memref<f32>
// CHECK: nest.alloc "s.im" : memref<f32>
// CHECK: nest.load %x[%i, 0]
// CHECK: nest.load %x[%i, 1]
// CHECK: arith.addf {{.*}} fastmath<contract>
// CHECK: nest.accumulate "s.re" add
// CHECK: nest.accumulate "s.im" add
// CHECK: nest.load %s_re[]
// CHECK-NOT: nest.load %s_im
func.func @sums(%x: memref<8xcomplex<f32>>, %y: memref<f32> {nest.role = "out"}) {
  %zero = complex.constant [0.0 : f32, 0.0 : f32] : complex<f32>
  %s = nest.alloc "s" : memref<complex<f32>>
  nest.store "s" %zero, %s[] : memref<complex<f32>>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xcomplex<f32>>
    %b = complex.add %a, %a fastmath<contract> : complex<f32>
    nest.accumulate "s" add %b, %s[] : memref<complex<f32>>
  }
  %t = nest.load %s[] : memref<complex<f32>>
  %r = complex.re %t : complex<f32>
  nest.store "y" %r, %y[] : memref<f32>
  func.return
}

// -----

// Other reductions combine all parts at once; into an argument they are a load and a store.
// CHECK-LABEL: func.func @reductions
// CHECK: nest.accumulate "p" custom ({{.*}}), (%p_re, %p_im)[] identity [1.000000e+00 : f64, 0.000000e+00 : f64] {
// CHECK: nest.yield {{.*}} : f64, f64
// CHECK: nest.accumulate "q" custom ({{%.*}}, {{%.*}}, %k), (%q_re, %q_im, %w)[] identity [0.000000e+00 : f64, 0.000000e+00 : f64, 0 : i64] {
// CHECK: nest.yield {{.*}} : f64, f64, i64
// CHECK: nest.load %m[0, 0] : memref<1x2xf64>
// CHECK-NOT: nest.accumulate
// CHECK: nest.store "m.re" {{.*}}, %m[0, 0]
// CHECK: nest.store "m.im" {{.*}}, %m[0, 1]
func.func @reductions(%x: memref<8xcomplex<f64>>, %k: i64, %m: memref<1xcomplex<f64>> {nest.role = "out"}) {
  %p = nest.alloc "p" : memref<complex<f64>>
  %q = nest.alloc "q" : memref<complex<f64>>
  %w = nest.alloc "w" : memref<i64>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xcomplex<f64>>
    nest.accumulate "p" mul %a, %p[] : memref<complex<f64>>
    nest.accumulate "q" custom (%a, %k), (%q, %w)[] identity [[0.0 : f64, 0.0 : f64], 0 : i64] {
    ^bb0(%old: complex<f64>, %at: i64, %new: complex<f64>, %now: i64):
      %c = complex.neq %old, %new : complex<f64>
      %z = arith.select %c, %old, %new : complex<f64>
      %t = arith.select %c, %at, %now : i64
      nest.yield %z, %t : complex<f64>, i64
    } : memref<complex<f64>>, memref<i64>
    nest.accumulate "m" maximum %a, %m[0] : memref<1xcomplex<f64>>
  }
  func.return
}

// -----

// A buffer that a call fills keeps its parts side by side, and so does the declaration of what is called.
// CHECK: func.func private @fill(memref<4x2xf32>)
// CHECK-LABEL: func.func @called
// CHECK: %b = nest.alloc "b" : memref<4x2xf32>
// CHECK: func.call @fill(%b) : (memref<4x2xf32>) -> ()
// CHECK: "memref.cast"(%b) : (memref<4x2xf32>) -> memref<4x2xf32, strided<[?, 1]>>
func.func private @fill(memref<4xcomplex<f32>>) -> ()
func.func @called(%y: memref<complex<f32>> {nest.role = "out"}) {
  %b = nest.alloc "b" : memref<4xcomplex<f32>>
  func.call @fill(%b) : (memref<4xcomplex<f32>>) -> ()
  %c = "memref.cast"(%b) : (memref<4xcomplex<f32>>) -> memref<4xcomplex<f32>, strided<[?]>>
  %v = nest.load %c[2] : memref<4xcomplex<f32>, strided<[?]>>
  nest.store "copy" %v, %y[] : memref<complex<f32>>
  func.return
}

// -----

// A function without complex numbers stays as it is.
// CHECK-LABEL: func.func @real(%x: memref<4xf32>)
// CHECK-NEXT: func.return
func.func @real(%x: memref<4xf32>) {
  func.return
}
