// nest-restrict: a box of a result along one axis and along both, with reductions that are complete before, and the updates of a
// reduction.
// RUN: opt-tool %s -p 'nest-restrict{func=stencil axis=0}' | filecheck %s
// RUN: opt-tool %s -p 'nest-restrict{func=stencil result=y axis=0,1}' | filecheck %s --check-prefix=BOTH
// RUN: opt-tool %s -p 'nest-restrict{func=anomaly axis=0 reductions=i}' | filecheck %s --check-prefix=GIVEN
// RUN: opt-tool %s -p 'nest-restrict{func=anomaly update=i}' | filecheck %s --check-prefix=UPDATE
// RUN: opt-tool %s -p 'nest-restrict{func=anomaly update=i axis=0}' | filecheck %s --check-prefix=COLUMNS
// RUN: opt-tool %s -p 'nest-restrict{func=in_place axis=0}' | filecheck %s --check-prefix=COPY
// RUN: opt-tool %s -p 'nest-restrict{func=so_far running=i axis=0}' | filecheck %s --check-prefix=RUNNING
// RUN: opt-tool %s -p 'nest-restrict{func=rolled axis=0}' | filecheck %s --check-prefix=PARTS
// RUN: opt-tool %s -p 'nest-restrict{func=bordered axis=0,1 inside=true}' | filecheck %s --check-prefix=INSIDE
// RUN: opt-tool %s -p 'nest-restrict{func=bordered axis=0 inside=true}' | filecheck %s --check-prefix=ROWS
// RUN: opt-tool %s -p 'nest-restrict{func=bordered axis=0,1 inside=true from-zero=true}' | filecheck %s --check-prefix=ZERO

// Two steps, of one row before and two after: the first step computes three rows more than the box.
// CHECK:      func.func @stencil(%x: memref<?x?xf64> {nest.dims = ["x_0.part", "m"]},
// CHECK-SAME:   %y: memref<?x?xf64> {nest.role = "out", nest.dims = ["y_0.part", "m"]},
// CHECK-SAME:   %lo: index, %hi: index, %x_extent: index, %x_first: index)
// CHECK:        %[[SIZE:.*]] = arith.maxsi
// CHECK:        nest.alloc "t"(%[[SIZE]], %m)
// CHECK:        nest.for "i" %i = max(1, %lo - 1) to min(%x_extent - 2, %hi + 2) {
// CHECK:            nest.load %x[%i - %x_first - 1, %j]
// CHECK:            nest.load %x[%i - %x_first + 2, %j]
// CHECK:            nest.store "t" %{{.*}}, %t[%i - %lo + 1, %j]
// CHECK:        nest.for "k" %k = max(2, %lo) to min(%x_extent - 4, %hi) {
// CHECK:            nest.load %t[%k - %lo, %l]
// CHECK:            nest.load %t[%k - %lo + 3, %l]
// CHECK:            nest.store "y" %{{.*}}, %y[%k - %lo, %l]

// BOTH:      func.func @stencil(%x: memref<?x?xf64> {nest.dims = ["x_0.part", "x_1.part"]},
// BOTH:        nest.for "j" %j = %lo_1 to %hi_1 {
// BOTH:            nest.load %x[%i - %x_first - 1, %j - %x_first_1]
// BOTH:            nest.store "y" %{{.*}}, %y[%k - %lo, %l - %lo_1]
func.func @stencil(%x: memref<?x?xf64> {nest.dims = ["n", "m"]},
                   %y: memref<?x?xf64> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %t = nest.alloc "t"(%n, %m) : memref<?x?xf64>
  nest.for "i" %i = 1 to %n - 2 {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i - 1, %j] : memref<?x?xf64>
      %b = nest.load %x[%i + 2, %j] : memref<?x?xf64>
      %c = arith.addf %a, %b : f64
      nest.store "t" %c, %t[%i, %j] : memref<?x?xf64>
    }
  }
  nest.for "k" %k = 2 to %n - 4 {
    nest.for "l" %l = 0 to %m {
      %a = nest.load %t[%k - 1, %l] : memref<?x?xf64>
      %b = nest.load %t[%k + 2, %l] : memref<?x?xf64>
      %c = arith.addf %a, %b : f64
      nest.store "y" %c, %y[%k, %l] : memref<?x?xf64>
    }
  }
  func.return
}

// The sums are an argument; what computed them is gone.
// GIVEN:      func.func @anomaly(%x: memref<?x?xf64> {nest.dims = ["x_0.part", "m"]},
// GIVEN-SAME:   %t: memref<?xf64> {nest.dims = ["m"]}
// GIVEN-NOT:    nest.accumulate
// GIVEN:        nest.for "k" %k = %lo to %hi {
// GIVEN:            nest.load %t[%l]

// The sums of some rows, from zero on.
// UPDATE:      func.func @anomaly(%x: memref<?x?xf64> {nest.dims = ["x_0.part", "m"]},
// UPDATE-SAME:   %t: memref<?xf64> {nest.role = "out", nest.dims = ["m"]}
// UPDATE:        nest.for "t.start.0"
// UPDATE:          nest.store "t" %{{.*}}, %t[%t_start]
// UPDATE:        nest.for "i" %i = %lo to %hi {
// UPDATE:            nest.load %x[%i - %x_first, %j]
// UPDATE:            nest.accumulate "t" add %{{.*}}, %t[%j]
// UPDATE-NOT:    nest.store "y"
// UPDATE:        func.return

// COLUMNS:     nest.for "j.1" %j = %lo_1 to %hi_1 {
// COLUMNS:       nest.load %x[%i - %x_first, %j - %x_first_1]
// COLUMNS:       nest.accumulate "t" add %{{.*}}, %t[%j - %lo_1]
func.func @anomaly(%x: memref<?x?xf64> {nest.dims = ["n", "m"]},
                   %y: memref<?x?xf64> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %t = nest.alloc "t"(%m) : memref<?xf64>
  nest.for "j" %j = 0 to %m { nest.store "t" %zero, %t[%j] : memref<?xf64> }
  nest.for "i" %i = 0 to %n {
    nest.for "j.1" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "t" add %a, %t[%j] : memref<?xf64>
    }
  }
  nest.for "k" %k = 0 to %n {
    nest.for "l" %l = 0 to %m {
      %a = nest.load %x[%k, %l] : memref<?x?xf64>
      %b = nest.load %t[%l] : memref<?xf64>
      %c = arith.subf %a, %b : f64
      nest.store "y" %c, %y[%k, %l] : memref<?x?xf64>
    }
  }
  func.return
}

// The result is read on the way, one element further: it is computed beyond the box, in a buffer, and the box is copied.
// COPY:      %y_1 = nest.alloc "y"
// COPY:      nest.store "y" %{{.*}}, %y_1[%i - %lo]
// COPY:      nest.load %y_1[%k - %lo + 1]
// COPY:      nest.for "y.copy.0" %y_copy = %lo to %hi {
// COPY:        nest.load %y_1[%y_copy - %lo]
// COPY:        nest.store "y" %{{.*}}, %y[%y_copy - %lo]
func.func @in_place(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.store "y" %a, %y[%i] : memref<?xf64>
  }
  nest.for "k" %k = 0 to %n - 1 {
    %a = nest.load %y[%k + 1] : memref<?xf64>
    %b = arith.addf %a, %a : f64
    nest.store "y" %b, %y[%k] : memref<?xf64>
  }
  func.return
}

// Results so far: what is before the box is an argument, and the box begins with it.
// RUNNING:      func.func @so_far(%x: memref<?xf64> {nest.dims = ["x_0.part"]},
// RUNNING:        %[[B:.*]] = nest.load %s_before[0]
// RUNNING-NEXT:   nest.store "s" %[[B]], %s[]
// RUNNING:        nest.for "i" %i = %lo to %hi {
// RUNNING-NEXT:     nest.load %x[%i - %x_first]
// RUNNING:          nest.accumulate "s" add
// RUNNING:          nest.store "y" %{{.*}}, %y[%i - %lo]
func.func @so_far(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %s = nest.alloc "s" : memref<f64>
  nest.store "s" %zero, %s[] : memref<f64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "s" add %a, %s[] : memref<f64>
    %b = nest.load %s[] : memref<f64>
    nest.store "y" %b, %y[%i] : memref<?xf64>
  }
  func.return
}

// Two parts of one input: that which moves with the box, and the last element, for the box that has the first one.
// PARTS:      func.func @rolled(%x: memref<?xf64> {nest.dims = ["x_0.part"]},
// PARTS-SAME:   %x_1: memref<?xf64> {nest.dims = ["x_0.part.1"]}
// PARTS:        nest.for "b" %b = %lo to min(1, %hi) {
// PARTS-NEXT:     nest.load %x_1[%x_extent - %x_first_1 - 1]
// PARTS:        nest.for "i" %i = max(0, %lo - 1) to min(%x_extent - 1, %hi - 1) {
// PARTS-NEXT:     nest.load %x[%i - %x_first]
func.func @rolled(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "b" %b = 0 to 1 {
    %a = nest.load %x[%n - 1] : memref<?xf64>
    nest.store "y" %a, %y[%b] : memref<?xf64>
  }
  nest.for "i" %i = 0 to %n - 1 {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.store "y" %a, %y[%i + 1] : memref<?xf64>
  }
  func.return
}

// Away from borders nothing is copied, and loops end where the box does. Where boxes are whole rows the first and the last
// element of each are borders: the copy stays.
// INSIDE:     func.func @bordered
// INSIDE-NOT:   nest.store "copy"
// INSIDE:       nest.for "i.1" %i = %lo - 1 to %hi - 1 {
// INSIDE-NEXT:    nest.for "j.1" %j = %lo_1 - 1 to %hi_1 - 1 {
// INSIDE:           nest.store "y" %{{.*}}, %y[%i - %lo + 1, %j - %lo_1 + 1]

// ZERO:       func.func @bordered
// ZERO:         nest.for "i.1" %i = 0 to %{{[0-9]+}} {
// ZERO-NEXT:      nest.for "j.1" %j = 0 to %{{[0-9]+}} {
// ZERO:             nest.load %x[%lo + %i - %x_first - 1, %lo_1 + %j - %x_first_1]
// ZERO:             nest.store "y" %{{.*}}, %y[%i, %j]

// ROWS:       func.func @bordered
// ROWS:         nest.for "i" %i = %lo to %hi {
// ROWS:             nest.store "copy"
// ROWS:         nest.for "i.1" %i_1 = %lo - 1 to %hi - 1 {
// ROWS-NEXT:      nest.for "j.1" %j_1 = 0 to %m - 2 {
func.func @bordered(%x: memref<?x?xf64> {nest.dims = ["n", "m"]},
                    %y: memref<?x?xf64> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.store "copy" %a, %y[%i, %j] : memref<?x?xf64>
    }
  }
  nest.for "i.1" %i = 0 to %n - 2 {
    nest.for "j.1" %j = 0 to %m - 2 {
      %b = nest.load %x[%i, %j + 1] : memref<?x?xf64>
      %c = nest.load %x[%i + 2, %j + 1] : memref<?x?xf64>
      %d = arith.addf %b, %c : f64
      nest.store "y" %d, %y[%i + 1, %j + 1] : memref<?x?xf64>
    }
  }
  func.return
}
