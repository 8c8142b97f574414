// Islands: a copy is transposed to a copy, a sum is a sum, what depends on other iterations runs backwards.
// RUN: opt-tool %s -p nt-differentiate,canonicalize,cse | filecheck %s

func.func private @concat(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<9xf32> {
  %0 = nt.empty : tensor<9xf32>
  %r = nt.loops ins(%x, %y : tensor<4xf32>, tensor<5xf32>) outs(%0 : tensor<9xf32>) {
  ^bb0(%a: memref<4xf32>, %b: memref<5xf32>, %o: memref<9xf32>):
    nest.for "i" %i = 0 to 4 {
      %v = nest.load %a[%i] : memref<4xf32>
      nest.store %v, %o[%i] : memref<9xf32>
    }
    nest.for "i" %i = 0 to 5 parallel {
      %v = nest.load %b[%i] : memref<5xf32>
      nest.store %v, %o[%i + 4] : memref<9xf32>
    }
  }
  func.return %r : tensor<9xf32>
}

// The cotangent is read only; nothing is zeroed, and no mark is copied.
// What nobody needs is not computed.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: ins(%x
// CHECK: %[[X:.+]] = nt.empty : tensor<4xf32>
// CHECK: %[[Y:.+]] = nt.empty : tensor<5xf32>
// CHECK: %gx, %gy = nt.loops ins(%c : tensor<9xf32>) outs(%[[X]], %[[Y]]
// CHECK: nest.for "i" %[[I:.+]] = 0 to 5 {
// CHECK-NEXT: nest.load {{.*}}[%[[I]] + 4]
// CHECK-NEXT: nest.store {{.*}}[%[[I]]]
// CHECK: nest.for "i" {{.*}} = 0 to 4 {
// CHECK-NEXT: nest.load
// CHECK-NEXT: nest.store
func.func @parts(%x: tensor<4xf32>, %y: tensor<5xf32>, %c: tensor<9xf32>) -> (tensor<4xf32>, tensor<5xf32>) {
  %gx, %gy = nt.vjp replay @concat(%x, %y : tensor<4xf32>, tensor<5xf32>) cotangents(%c : tensor<9xf32>) wrt [0, 1] of [0] -> (tensor<4xf32>, tensor<5xf32>)
  func.return %gx, %gy : tensor<4xf32>, tensor<5xf32>
}

func.func private @recurrence(%x: tensor<8xf32>, %k: f32) -> tensor<8xf32> {
  %r = nt.loops ins() outs(%x : tensor<8xf32>) {
  ^bb0(%y: memref<8xf32>):
    nest.for "i" %i = 1 to 8 {
      %v = nest.load %y[%i - 1] : memref<8xf32>
      %p = arith.mulf %v, %k : f32
      nest.store %p, %y[%i] : memref<8xf32>
    }
  }
  func.return %r : tensor<8xf32>
}

// Nothing of the primal is kept: the sweep is linear. It runs from the end.
// CHECK-LABEL: func.func @sweep
// CHECK: %gx = nt.loops ins() outs(%c : tensor<8xf32>) {
// CHECK: nest.for "i" %[[I:.+]] = 1 to 8 {
// CHECK: %[[G:.+]] = nest.load %[[C:.+]][8 - %[[I]]]
// CHECK: nest.store {{.*}}, %[[C]][8 - %[[I]]]
// CHECK: %[[P:.+]] = arith.mulf %[[G]], %k
// CHECK: nest.accumulate add %[[P]], %[[C]][7 - %[[I]]]
func.func @sweep(%x: tensor<8xf32>, %k: f32, %c: tensor<8xf32>) -> tensor<8xf32> {
  %gx = nt.vjp replay @recurrence(%x, %k : tensor<8xf32>, f32) cotangents(%c : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %gx : tensor<8xf32>
}

// Values and tangents side by side.
// CHECK-LABEL: func.func @tangents
// CHECK: %{{.+}}, %t = nt.loops ins() outs(%x, %d : tensor<8xf32>, tensor<8xf32>) {
// CHECK: nest.for "i" %i = 1 to 8 {
// CHECK-COUNT-2: nest.load
// CHECK-COUNT-2: arith.mulf
// CHECK-COUNT-2: nest.store
func.func @tangents(%x: tensor<8xf32>, %k: f32, %d: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y, %t = nt.jvp @recurrence(%x, %k : tensor<8xf32>, f32) tangents(%d : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>, tensor<8xf32>)
  func.return %y, %t : tensor<8xf32>, tensor<8xf32>
}

// A gather with indices of the run: elements may be taken twice. Masks and domains are those of the statements.
func.func private @gather(%x: tensor<8xf32>, %n: tensor<4xi64>) -> tensor<4xf32> {
  %0 = nt.empty : tensor<4xf32>
  %r = nt.loops ins(%x, %n : tensor<8xf32>, tensor<4xi64>) outs(%0 : tensor<4xf32>) {
  ^bb0(%a: memref<8xf32>, %b: memref<4xi64>, %o: memref<4xf32>):
    %zero = arith.constant 0.0 : f32
    nest.for "i" %i = 0 to 4 {
      %w = nest.load %b[%i] : memref<4xi64>
      %k = arith.index_cast %w : i64 to index
      %at = nest.index %k of 8 axis 0 of "x"
      %v = nest.load %a[%at] : memref<8xf32>
      nest.store %zero, %o[%i] : memref<4xf32>
      nest.store %v, %o[%i] where (%i >= 1) : memref<4xf32>
    }
  }
  func.return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @scatter
// CHECK-NOT: nest.index
// CHECK: nest.accumulate add {{.*}} where ({{.*}} >= 1) : memref<8xf32>
// CHECK: func.return %gx
func.func @scatter(%x: tensor<8xf32>, %n: tensor<4xi64>, %c: tensor<4xf32>) -> tensor<8xf32> {
  %gx = nt.vjp replay @gather(%x, %n : tensor<8xf32>, tensor<4xi64>) cotangents(%c : tensor<4xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %gx : tensor<8xf32>
}

// A counter that is an index is kept, for each iteration: as many places as the loop has iterations.
func.func private @compressed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nt.constant dense<0.0> : tensor<f32>
  %1 = nt.broadcast %0 along [] : tensor<f32> -> tensor<8xf32>
  %r = nt.loops ins(%x : tensor<8xf32>) outs(%1 : tensor<8xf32>) {
  ^bb0(%a: memref<8xf32>, %o: memref<8xf32>):
    %k = nest.alloc "k" : memref<i64>
    %none = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %zero = arith.constant 0.0 : f32
    nest.store %none, %k[] : memref<i64>
    nest.for "i" %i = 2 to 8 step 2 {
      %v = nest.load %a[%i] : memref<8xf32>
      %c = arith.cmpf ogt, %v, %zero : f32
      nest.if %c {
        %n = nest.load %k[] : memref<i64>
        %at = arith.index_cast %n : i64 to index
        nest.store %v, %o[%at] : memref<8xf32>
        %next = arith.addi %n, %one : i64
        nest.store %next, %k[] : memref<i64>
      }
    }
  }
  func.return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @kept
// CHECK: %[[T:.+]] = nt.empty : tensor<3xi64>
// CHECK: %{{.+}}, %[[K:.+]] = nt.loops ins(%x : tensor<8xf32>) outs(%{{.+}}, %[[T]]
// CHECK: %[[N:.+]] = nest.load %{{.+}}[] : memref<i64>
// CHECK-NEXT: nest.store %[[N]], %{{.+}}[{{.*}} floordiv 2{{.*}}] : memref<3xi64>
// CHECK: nt.loops ins({{.*}}%[[K]]{{.*}})
// CHECK: nest.load %{{.+}}[{{.*}} floordiv 2{{.*}}] : memref<3xi64>
func.func @kept(%x: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %gx = nt.vjp replay @compressed(%x : tensor<8xf32>) cotangents(%c : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %gx : tensor<8xf32>
}

// What a loop adds to neighbours each element gathers: the core in one loop, the ends with domains.
func.func private @neighbours(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = nt.empty : tensor<64xf32>
  %r = nt.loops ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%a: memref<64xf32>, %o: memref<64xf32>):
    nest.for "i" %i = 1 to 63 {
      %v = nest.load %a[%i - 1] : memref<64xf32>
      %w = nest.load %a[%i + 1] : memref<64xf32>
      %s = arith.subf %w, %v : f32
      nest.store %s, %o[%i] : memref<64xf32>
    }
  }
  func.return %r : tensor<64xf32>
}

// CHECK-LABEL: func.func @stencil
// CHECK: %[[E:.+]] = nt.empty : tensor<64xf32>
// CHECK: %gx = nt.loops ins(%c : tensor<64xf32>) outs(%[[E]] : tensor<64xf32>) {
// CHECK: nest.for "i" %[[I:.+]] = 2 to 62 {
// CHECK-NOT: nest.for
// CHECK: arith.addf
// CHECK-NEXT: nest.store {{.*}}[%[[I]]]
// CHECK: nest.for "i.1" {{.*}} = 0 to 2 {
// CHECK: nest.accumulate {{.*}} where
// CHECK: nest.for "i.2" {{.*}} = 62 to 64 {
// CHECK: nest.accumulate {{.*}} where
// CHECK-NOT: nest.for
// CHECK: func.return %gx
func.func @stencil(%x: tensor<64xf32>, %c: tensor<64xf32>) -> tensor<64xf32> {
  %gx = nt.vjp replay @neighbours(%x : tensor<64xf32>) cotangents(%c : tensor<64xf32>) wrt [0] of [0] -> (tensor<64xf32>)
  func.return %gx : tensor<64xf32>
}

func.func private @sometimes(%x: tensor<64xf32>, %c: i1) -> tensor<64xf32> {
  %k = nt.constant dense<0.0> : tensor<f32>
  %0 = nt.broadcast %k along [] : tensor<f32> -> tensor<64xf32>
  %r = nt.loops ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%a: memref<64xf32>, %o: memref<64xf32>):
    nest.if %c {
    nest.for "i" %i = 1 to 63 {
      %v = nest.load %a[%i - 1] : memref<64xf32>
      %w = nest.load %a[%i + 1] : memref<64xf32>
      %s = arith.subf %w, %v : f32
      nest.store %s, %o[%i] : memref<64xf32>
    }
    }
  }
  func.return %r : tensor<64xf32>
}
// Where a branch decides whether the loop runs, elements have to be zero before.
// CHECK-LABEL: func.func @branch
// CHECK: %[[Z:.+]] = nt.broadcast
// CHECK: %gx = nt.loops ins(%d : tensor<64xf32>) outs(%[[Z]]
// CHECK: nest.if %c
// CHECK: nest.for "i" %[[I:.+]] = 2 to 62
// CHECK: nest.accumulate add {{.*}}[%[[I]]] :
func.func @branch(%x: tensor<64xf32>, %c: i1, %d: tensor<64xf32>) -> tensor<64xf32> {
  %gx = nt.vjp replay @sometimes(%x, %c : tensor<64xf32>, i1) cotangents(%d : tensor<64xf32>) wrt [0] of [0] -> (tensor<64xf32>)
  func.return %gx : tensor<64xf32>
}

func.func private @sweeps(%x: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  %y, %r = nt.loops ins() outs(%x, %x : tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%a: memref<64xf32>, %b: memref<64xf32>):
    nest.for "t" %t = 0 to %n {
      nest.for "i" %i = 1 to 63 {
        %v = nest.load %a[%i - 1] : memref<64xf32>
        %w = nest.load %a[%i + 1] : memref<64xf32>
        %s = arith.addf %w, %v : f32
        nest.store %s, %b[%i] : memref<64xf32>
      }
      nest.for "j" %j = 1 to 63 {
        %v = nest.load %b[%j] : memref<64xf32>
        nest.store %v, %a[%j] : memref<64xf32>
      }
    }
  }
  func.return %y : tensor<64xf32>
}

// From array to array, in a loop over time: what is added moves before the clearing, and nothing is kept.
// CHECK-LABEL: func.func @jacobi
// CHECK: nest.for "t" {{.*}} = 0 to %n {
// CHECK: nest.for "j" %[[J:.+]] = 1 to 63 {
// CHECK: nest.for "i.1" %[[I:.+]] = 2 to 62 {
// CHECK-NEXT: nest.load %[[B:.+]][%[[I]] - 1]
// CHECK-NEXT: nest.load %[[B]][%[[I]] + 1]
// CHECK-NEXT: arith.addf
// CHECK-NEXT: nest.accumulate add {{.*}}, %[[A:.+]][%[[I]]] : memref<64xf32>
// CHECK: nest.for "i" %[[K:.+]] = 1 to 63 {
// CHECK: nest.store {{.*}}, %[[B]][%[[K]]]
// CHECK-NEXT: }
func.func @jacobi(%x: tensor<64xf32>, %n: index, %c: tensor<64xf32>) -> tensor<64xf32> {
  %gx = nt.vjp replay @sweeps(%x, %n : tensor<64xf32>, index) cotangents(%c : tensor<64xf32>) wrt [0] of [0] -> (tensor<64xf32>)
  func.return %gx : tensor<64xf32>
}

func.func private @in_place(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = nt.loops ins() outs(%x : tensor<64xf32>) {
  ^bb0(%a: memref<64xf32>):
    nest.for "i" %i = 1 to 63 {
      %v = nest.load %a[%i - 1] : memref<64xf32>
      %w = nest.load %a[%i + 1] : memref<64xf32>
      %s = arith.addf %w, %v : f32
      nest.store %s, %a[%i] : memref<64xf32>
    }
  }
  func.return %y : tensor<64xf32>
}

// Not in place: what is read there was added to before.
// CHECK-LABEL: func.func @gauss_seidel
// CHECK: nest.for "i" %[[I:.+]] = 1 to 63 {
// CHECK: nest.load %[[A:.+]][63 - %[[I]]]
// CHECK-COUNT-2: nest.accumulate add
// CHECK-NOT: nest.for
// CHECK: func.return
func.func @gauss_seidel(%x: tensor<64xf32>, %c: tensor<64xf32>) -> tensor<64xf32> {
  %gx = nt.vjp replay @in_place(%x : tensor<64xf32>) cotangents(%c : tensor<64xf32>) wrt [0] of [0] -> (tensor<64xf32>)
  func.return %gx : tensor<64xf32>
}

func.func private @windows(%x: tensor<128xf32>, %w: tensor<3xf32>) -> tensor<126xf32> {
  %0 = nt.empty : tensor<126xf32>
  %y = nt.loops ins(%x, %w : tensor<128xf32>, tensor<3xf32>) outs(%0 : tensor<126xf32>) {
  ^bb0(%a: memref<128xf32>, %b: memref<3xf32>, %o: memref<126xf32>):
    %zero = arith.constant 0.0 : f32
    nest.for "i" %i = 0 to 126 {
      %s = nest.alloc "s" : memref<f32>
      nest.store %zero, %s[] : memref<f32>
      %start = nest.load %s[] : memref<f32>
      %t = nest.alloc "t" : memref<f32>
      nest.store %start, %t[] : memref<f32>
      nest.for "k" %k = 0 to 3 {
        %old = nest.load %t[] : memref<f32>
        %v = nest.load %a[%i + %k] : memref<128xf32>
        %f = nest.load %b[%k] : memref<3xf32>
        %p = arith.mulf %v, %f : f32
        %new = arith.addf %old, %p : f32
        nest.store %new, %t[] : memref<f32>
      }
      %end = nest.load %t[] : memref<f32>
      nest.store %end, %s[] : memref<f32>
      %total = nest.load %s[] : memref<f32>
      nest.store %total, %o[%i] : memref<126xf32>
    }
  }
  func.return %y : tensor<126xf32>
}

// A sum that a loop in the loop goes on with is one sum, and its cotangent a value: each element gathers its window,
// and few weights have a loop each over all elements.
// CHECK-LABEL: func.func @window_gradients
// CHECK: nest.for "k.1" %[[K:.+]] = 0 to 3 {
// CHECK-NEXT: nest.for "i.1" %[[I:.+]] = 0 to 126 {
// CHECK: nest.accumulate add {{.*}}, %{{.*}}[%[[K]]] : memref<3xf32>
// CHECK: nest.for "i" %[[P:.+]] = 2 to 126 {
// CHECK-NEXT: nest.for "k" %[[K:.+]] = 0 to 3 {
// CHECK: nest.accumulate add {{.*}}, %{{.*}}[%[[P]]] : memref<128xf32>
// CHECK-NOT: nest.alloc
// CHECK: func.return
func.func @window_gradients(%x: tensor<128xf32>, %w: tensor<3xf32>, %c: tensor<126xf32>) -> (tensor<128xf32>, tensor<3xf32>) {
  %gx, %gw = nt.vjp replay @windows(%x, %w : tensor<128xf32>, tensor<3xf32>) cotangents(%c : tensor<126xf32>) wrt [0, 1] of [0] -> (tensor<128xf32>, tensor<3xf32>)
  func.return %gx, %gw : tensor<128xf32>, tensor<3xf32>
}
