// nest-restrict: a call that is mapped over an axis gets views of the parts of its buffers that a box needs. What it is not
// mapped over is whole.
// RUN: opt-tool %s -p 'nest-restrict{func=sorted axis=1}' | filecheck %s
// RUN: opt-tool %s -p 'nest-restrict{func=sorted axis=0}' | filecheck %s --check-prefix=WHOLE
// RUN: opt-tool %s -p 'nest-restrict{func=both axis=0}' | filecheck %s --check-prefix=BOTH
// RUN: opt-tool %s -p nest-print-chunking -o /dev/null 2>&1 | filecheck %s --check-prefix=CHUNKS

func.func private @numpy.sort.1(memref<?x?xf64>, memref<?x?xf64>) -> () attributes {
  nestor.custom_call = {target = "numpy.sort", arguments = {axis = 0 : i64, kind, stable}, elements = [f64, f64], inputs = 1 : i64}}

// Columns 0 to 1 more than the box are sorted, as far as there are some.
// CHECK:      func.func @sorted(%x: memref<?x?xf64> {nest.dims = ["n", "x_1.part"]},
// CHECK:        %t = nest.alloc "t"
// CHECK:        %[[LAST:.*]] = arith.minsi
// CHECK:        %[[SIZE:.*]] = arith.maxsi
// CHECK:        %[[X:.*]] = memref.subview %x[0, %{{.*}}] [%{{.*}}, %[[SIZE]]] [1, 1]
// CHECK:        %[[T:.*]] = memref.subview %t[0, %{{.*}}] [%{{.*}}, %[[SIZE]]] [1, 1]
// CHECK:        func.call @numpy.sort.{{[0-9a-f]*}}(%[[X]], %[[T]])
// CHECK:        nest.for "j" %j = %lo to min({{.*}}, %hi) {

// WHOLE:      func.func @sorted(%x: memref<?x?xf64> {nest.dims = ["n", "m"]},
// WHOLE:        func.call @numpy.sort.1(%x, %t)

// CHUNKS:      func @sorted
// CHUNKS-NEXT: y axis 0: whole
// CHUNKS-NEXT:   x: all, because of the call of numpy.sort
// CHUNKS-NEXT: y axis 1: halo
// CHUNKS-NEXT:   x axis 1: lo to hi + 1
func.func @sorted(%x: memref<?x?xf64> {nest.dims = ["n", "m"]},
                  %y: memref<?x?xf64> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %t = nest.alloc "t"(%n, %m) : memref<?x?xf64>
  func.call @numpy.sort.1(%x, %t) {nestor.kind = "CallError"} : (memref<?x?xf64>, memref<?x?xf64>) -> ()
  %zero = arith.constant 0.0 : f64
  nest.for "a" %a = 0 to %n {
    nest.for "b" %b = %m - 1 to %m {
      nest.store "y" %zero, %y[%a, %b] : memref<?x?xf64>
    }
  }
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m - 1 {
      %p = nest.load %t[%i, %j] : memref<?x?xf64>
      %q = nest.load %t[%i, %j + 1] : memref<?x?xf64>
      %d = arith.subf %q, %p : f64
      nest.store "y" %d, %y[%i, %j] : memref<?x?xf64>
    }
  }
  func.return
}

// A call fills all of its results, needed or not: both get the part of the box.
func.func private @numpy.linalg.eigh.1(memref<?x3x3xf64>, memref<?x3xf64>, memref<?x3x3xf64>) -> () attributes {
  nestor.custom_call = {target = "numpy.linalg.eigh", arguments = {UPLO = "L"}, elements = [f64, f64, f64], inputs = 1 : i64}}

// BOTH:      func.func @both(%a: memref<?x3x3xf64> {nest.dims = ["a_0.part", 3 : i64, 3 : i64]},
// BOTH:        %vectors = nest.alloc "vectors"(%{{.*}}) : memref<?x3x3xf64>
// BOTH:        %[[A:.*]] = memref.subview %a[%{{.*}}, 0, 0] [%[[SIZE:.*]], 3, 3] [1, 1, 1]
// BOTH:        %[[W:.*]] = memref.subview %w[%{{.*}}, 0] [%[[SIZE]], 3] [1, 1]
// BOTH:        %[[V:.*]] = memref.subview %vectors[%{{.*}}, 0, 0] [%[[SIZE]], 3, 3] [1, 1, 1]
// BOTH:        func.call @numpy.linalg.eigh.{{[0-9a-f]*}}(%[[A]], %[[W]], %[[V]])
func.func @both(%a: memref<?x3x3xf64> {nest.dims = ["n", 3, 3]},
                %w: memref<?x3xf64> {nest.role = "out", nest.dims = ["n", 3]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x3x3xf64>
  %vectors = nest.alloc "vectors"(%n) : memref<?x3x3xf64>
  func.call @numpy.linalg.eigh.1(%a, %w, %vectors) {nestor.kind = "CallError"} : (memref<?x3x3xf64>, memref<?x3xf64>, memref<?x3x3xf64>) -> ()
  func.return
}
