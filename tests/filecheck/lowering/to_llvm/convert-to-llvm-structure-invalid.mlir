// What has another form at this level is named where it stands: loops, calls, views and vectors of kinds that no pass makes.
// RUN: opt-tool %s -p convert-to-llvm --split-input-file --verify-diagnostics

// expected-error @below {{a function of several blocks has no translation: use scf}}
func.func @blocks(%c: i1) {
  cf.cond_br %c, ^one, ^two
^one:
  func.return
^two:
  func.return
}

// -----

func.func @two_dimensions(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{scf.parallel has one dimension and no reduction at this level}}
  "scf.parallel"(%c0, %c0, %n, %n, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// -----

func.func @carried(%x: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{scf.for cannot pass on a memref}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (memref<4xf32>) {
    scf.yield %y : memref<4xf32>
  }
  func.return
}

// -----

func.func @strided_copy(%x: memref<4xf32, strided<[2]>>, %y: memref<4xf32>) {
  // expected-error @below {{copies between strided memrefs are written as loops}}
  "memref.copy"(%x, %y) : (memref<4xf32, strided<[2]>>, memref<4xf32>) -> ()
  func.return
}

// -----

func.func @some_axis(%x: memref<?x?xf32>, %k: index) {
  // expected-error @below {{memref.dim needs a constant axis within the rank}}
  %n = memref.dim %x, %k : memref<?x?xf32>
  func.return
}

// -----

// expected-error @below {{an external function has at most one result}}
func.func private @two() -> (f64, f64)

// -----

func.func @chosen(%c: i1, %x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{scf.if cannot pass on a memref}}
  %r = scf.if %c -> (memref<4xf32>) {
    scf.yield %x : memref<4xf32>
  } else {
    scf.yield %y : memref<4xf32>
  }
  func.return
}

// -----

func.func @kept(%c: i1, %x: memref<4xf32>) {
  // expected-error @below {{scf.while cannot pass on a memref}}
  %r = scf.while (%y = %x) : (memref<4xf32>) -> memref<4xf32> {
    scf.condition(%c) %y : memref<4xf32>
  } do {
  ^bb0(%z: memref<4xf32>):
    scf.yield %z : memref<4xf32>
  }
  func.return
}

// -----

func.func @checked(%ok: i1) {
  cf.assert %ok, "no"
  func.return
}

func.func @check_in_a_thread(%n: index, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    // expected-error @below {{@checked has run-time checks, and a check inside scf.parallel has no translation}}
    func.call @checked(%ok) : (i1) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

func.func @bits(%x: memref<8xi1>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{vectors of i1 have no memory form}}
  %v = vector.load %x[%c0] : memref<8xi1>, vector<8xi1>
  func.return
}

// -----

func.func @longer(%v: vector<2xf32>) {
  // expected-error @below {{broadcasts a vector to a longer one}}
  %w = "vector.broadcast"(%v) : (vector<2xf32>) -> vector<4xf32>
  func.return
}

// -----

func.func @lengths(%v: vector<2xf32>, %w: vector<4xf32>) {
  // expected-error @below {{shuffles vectors of different lengths}}
  %u = vector.shuffle %v, %w [0, 1, 2, 3] : vector<2xf32>, vector<4xf32>
  func.return
}

// -----

// expected-error @below {{no llvm type for vector<2x2xf32>}}
func.func @matrix(%v: vector<2x2xf32>) {
  func.return
}

// -----

func.func @region(%c: i1) {
  // expected-error @below {{scf.execute_region with several blocks has no translation}}
  "scf.execute_region"() ({
    cf.br ^next
  ^next:
    scf.yield
  }) : () -> ()
  func.return
}
