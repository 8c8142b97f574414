// Tapes: what a loop overwrites and its derivative needs is kept, the fewest bytes, a place for each iteration.
// RUN: opt-tool %s -p nt-differentiate,canonicalize,cse | filecheck %s

func.func private @averages(%x: tensor<?xf64>, %n: index) -> tensor<?xf64> {
  %r = nt.loops ins() outs(%x : tensor<?xf64>) {
  ^bb0(%y: memref<?xf64>):
    nest.for "t" %t = 0 to 3 {
      nest.for "i" %i = 1 to %n {
        %a = nest.load %y[%i - 1] : memref<?xf64>
        %b = nest.load %y[%i] : memref<?xf64>
        %s = arith.addf %a, %b : f64
        %p = math.sin %s : f64
        nest.store %p, %y[%i] : memref<?xf64>
      }
    }
  }
  func.return %r : tensor<?xf64>
}

// The sum is kept, not its two terms. It is read in reversed order.
// CHECK-LABEL: func.func @of_averages
// CHECK: %s_tape = nt.empty sizes(%{{.+}}) : tensor<3x?xf64>
// CHECK: %{{.+}}, %[[S:s_tape.*]] = nt.loops ins() outs(%x, %s_tape : tensor<?xf64>, tensor<3x?xf64>)
// CHECK-SAME: attributes {nt.tapes = ["", "'arith.addf' of \22y\22, which is overwritten"]} {
// CHECK: nest.for "t" %[[T:.+]] = 0 to 3 {
// CHECK: nest.for "i" %[[I:.+]] = 1 to %n {
// CHECK: %[[SUM:.+]] = arith.addf
// CHECK-NEXT: nest.store %[[SUM]], %{{.+}}[%[[T]], %[[I]] - 1] : memref<3x?xf64>
// CHECK: nt.loops ins(%[[S]] : tensor<3x?xf64>) outs(%c : tensor<?xf64>) {
// CHECK: nest.for "t" %[[B:.+]] = 0 to 3 {
// CHECK: nest.for "i" %[[J:.+]] = 1 to %n {
// CHECK: %[[OLD:.+]] = nest.load %{{.+}}[2 - %[[B]], %n - %[[J]] - 1] : memref<3x?xf64>
// CHECK: math.cos %[[OLD]]
func.func @of_averages(%x: tensor<?xf64>, %n: index, %c: tensor<?xf64>) -> tensor<?xf64> {
  %gx = nt.vjp replay @averages(%x, %n : tensor<?xf64>, index) cotangents(%c : tensor<?xf64>) wrt [0] of [0] -> (tensor<?xf64>)
  func.return %gx : tensor<?xf64>
}

func.func private @guarded(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %r = nt.loops ins() outs(%x : tensor<8xf64>) {
  ^bb0(%y: memref<8xf64>):
    %one = arith.constant 1.0 : f64
    nest.for "t" %t = 0 to 3 {
      nest.for "i" %i = 0 to 8 {
        %b = nest.load %y[%i] : memref<8xf64>
        %m = arith.cmpf ogt, %b, %one : f64
        %a = nest.load %y[%i - 2] : memref<8xf64>
        %p = math.sin %a : f64
        nest.store %p, %y[%i] where (%i >= 2) mask %m : memref<8xf64>
      }
    }
  }
  func.return %r : tensor<8xf64>
}

// What is read for some iterations is kept for those. A condition is kept as bits, not what it compares.
// CHECK-LABEL: func.func @of_guarded
// CHECK-DAG: nt.empty : tensor<3x8xi8>
// CHECK-DAG: nt.empty : tensor<3x8xf64>
// CHECK: %[[M:.+]] = arith.cmpf ogt
// CHECK: %[[BYTE:.+]] = arith.extui %[[M]] : i1 to i8
// CHECK: nest.store %[[BYTE]], {{.*}} : memref<3x8xi8>
// CHECK: %[[A:.+]] = nest.load {{.*}} - 2] : memref<8xf64>
// CHECK: nest.store %[[A]], {{.*}} where (%{{.+}} >= 2) mask %[[M]] : memref<3x8xf64>
// CHECK: arith.trunci {{.*}} : i8 to i1
func.func @of_guarded(%x: tensor<8xf64>, %n: index, %c: tensor<8xf64>) -> tensor<8xf64> {
  %gx = nt.vjp replay @guarded(%x, %n : tensor<8xf64>, index) cotangents(%c : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %gx : tensor<8xf64>
}

func.func private @until(%x: tensor<8xf64>) -> tensor<8xf64> {
  %r = nt.loops ins() outs(%x : tensor<8xf64>) {
  ^bb0(%y: memref<8xf64>):
    %one = arith.constant 1.0 : f64
    nest.for "i" %i = 0 to 8 {
      scf.while () : () -> () {
        %v = nest.load %y[%i] : memref<8xf64>
        %m = arith.cmpf ogt, %v, %one : f64
        scf.condition(%m)
      } do {
        %v = nest.load %y[%i] : memref<8xf64>
        %p = math.sin %v : f64
        %q = arith.mulf %p, %v : f64
        nest.store %q, %y[%i] : memref<8xf64>
        scf.yield
      }
    }
  }
  func.return %r : tensor<8xf64>
}

// The loop counts, for each iteration around it: the iterations before, and its own. Then it is a loop of so many.
// CHECK-LABEL: func.func @of_until
// CHECK: %{{.+}}, %[[TOTAL:.+]], %[[STARTS:.+]], %[[NUMBERS:.+]] = nt.loops ins() outs(%x, {{.*}} : tensor<8xf64>, tensor<i64>, tensor<8xi64>, tensor<8xi64>) {
// CHECK: scf.while
// CHECK: nt.to_scalar %[[TOTAL]]
// CHECK: %[[N:.+]] = arith.index_cast {{.*}} : i64 to index
// CHECK: %[[SIZE:.+]] = arith.maxsi %[[N]]
// CHECK: %y_tape = nt.empty sizes(%[[SIZE]]) : tensor<?xf64>
// CHECK: nt.loops ins(%[[STARTS]], %[[NUMBERS]] : tensor<8xi64>, tensor<8xi64>) outs(%x, %y_tape
// CHECK-NOT: scf.while
// CHECK: nest.for "i" %[[I:.+]] = 0 to 8 {
// CHECK: %[[BEFORE:.+]] = arith.index_cast
// CHECK: %[[COUNT:.+]] = arith.index_cast
// CHECK: nest.for "while" %[[T:.+]] = 0 to %[[COUNT]] {
// CHECK: nest.store {{.*}}[%[[T]] + %[[BEFORE]]] : memref<?xf64>
// CHECK: nt.loops ins({{.*}}) outs(%c : tensor<8xf64>) {
// CHECK: nest.for "while"
// CHECK: nest.load {{.*}} : memref<?xf64>
func.func @of_until(%x: tensor<8xf64>, %c: tensor<8xf64>) -> tensor<8xf64> {
  %gx = nt.vjp replay @until(%x : tensor<8xf64>) cotangents(%c : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %gx : tensor<8xf64>
}

func.func private @refilled(%x: tensor<8xf64>) -> tensor<8xf64> {
  %r = nt.loops ins() outs(%x : tensor<8xf64>) {
  ^bb0(%y: memref<8xf64>):
    nest.for "t" %t = 0 to 3 {
      %s = nest.alloc "s" : memref<f64>
      %zero = arith.constant 0.0 : f64
      nest.store %zero, %s[] : memref<f64>
      nest.for "i" %i = 0 to 8 {
        %v = nest.load %y[%i] : memref<8xf64>
        nest.accumulate add %v, %s[] : memref<f64>
      }
      %sum = nest.load %s[] : memref<f64>
      %p = math.exp %sum : f64
      nest.store %p, %y[0] : memref<8xf64>
    }
  }
  func.return %r : tensor<8xf64>
}

// A buffer of the island's own, filled with what is overwritten: its value is kept, or what is made of it.
// CHECK-LABEL: func.func @of_refilled
// CHECK: nt.empty : tensor<3xf64>
// CHECK: attributes {nt.tapes = ["", "'math.exp' of \22s\22, which is overwritten"]}
// CHECK: nest.store {{.*}} : memref<3xf64>
// CHECK: nt.loops
// CHECK-NOT: math.exp
// CHECK: func.return
func.func @of_refilled(%x: tensor<8xf64>, %c: tensor<8xf64>) -> tensor<8xf64> {
  %gx = nt.vjp replay @refilled(%x : tensor<8xf64>) cotangents(%c : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %gx : tensor<8xf64>
}

func.func private @divided(%x: tensor<8x8xf64>) -> tensor<8x8xf64> {
  %r = nt.loops ins() outs(%x : tensor<8x8xf64>) {
  ^bb0(%a: memref<8x8xf64>):
    nest.for "k" %k = 0 to 8 {
      nest.for "i" %i = %k + 1 to 8 {
        %p = nest.load %a[%k, %k] : memref<8x8xf64>
        %v = nest.load %a[%i, %k] : memref<8x8xf64>
        %q = arith.divf %v, %p : f64
        nest.store %q, %a[%i, %k] : memref<8x8xf64>
        nest.for "j" %j = %k + 1 to 8 {
          %u = nest.load %a[%k, %j] : memref<8x8xf64>
          %l = nest.load %a[%i, %k] : memref<8x8xf64>
          %m = arith.mulf %l, %u : f64
          %n = arith.negf %m : f64
          nest.accumulate add %n, %a[%i, %j] : memref<8x8xf64>
        }
      }
    }
  }
  func.return %r : tensor<8x8xf64>
}

// The factors that LU leaves are all that its derivative needs: nothing is kept, nothing divided again.
// CHECK-LABEL: func.func @of_divided
// CHECK-NOT: nt.empty
// CHECK: %[[R:.+]] = nt.loops ins() outs(%x : tensor<8x8xf64>) {
// CHECK: nt.loops ins(%[[R]] : tensor<8x8xf64>) outs(%c : tensor<8x8xf64>) {
func.func @of_divided(%x: tensor<8x8xf64>, %c: tensor<8x8xf64>) -> tensor<8x8xf64> {
  %gx = nt.vjp replay @divided(%x : tensor<8x8xf64>) cotangents(%c : tensor<8x8xf64>) wrt [0] of [0] -> (tensor<8x8xf64>)
  func.return %gx : tensor<8x8xf64>
}

func.func private @rows(%x: tensor<8xf64>, %first: tensor<5xi64>) -> tensor<8xf64> {
  %r = nt.loops ins(%first : tensor<5xi64>) outs(%x : tensor<8xf64>) {
  ^bb0(%f: memref<5xi64>, %y: memref<8xf64>):
    nest.for "i" %i = 0 to 4 {
      %a = nest.load %f[%i] : memref<5xi64>
      %b = nest.load %f[%i + 1] : memref<5xi64>
      %lo = arith.index_cast %a : i64 to index
      %hi = arith.index_cast %b : i64 to index
      nest.for "k" %k = %lo to %hi {
        %v = nest.load %y[%i] : memref<8xf64>
        %p = math.sin %v : f64
        nest.store %p, %y[%i] : memref<8xf64>
      }
    }
  }
  func.return %r : tensor<8xf64>
}

// A loop between bounds that are read is counted, and does not run more often than that.
// CHECK-LABEL: func.func @of_rows
// CHECK: nest.for "k"
// CHECK: %y_tape = nt.empty sizes({{.*}}) : tensor<?xf64>
// CHECK: %[[LO:.+]] = arith.index_cast
// CHECK: %[[HI:.+]] = arith.index_cast
// CHECK: %[[BEFORE:.+]] = arith.index_cast
// CHECK: %[[COUNT:.+]] = arith.index_cast
// CHECK: nest.for "k" %[[K:.+]] = %[[LO]] to min(%[[HI]], %[[LO]] + %[[COUNT]]) {
// CHECK: nest.store {{.*}}[%[[K]] + %[[BEFORE]] - %[[LO]]] : memref<?xf64>
func.func @of_rows(%x: tensor<8xf64>, %first: tensor<5xi64>, %c: tensor<8xf64>) -> tensor<8xf64> {
  %gx = nt.vjp replay @rows(%x, %first : tensor<8xf64>, tensor<5xi64>) cotangents(%c : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %gx : tensor<8xf64>
}
