// Loops become scf, vector and memref: bounds, marks, domains, reductions, buffers and checks.
// RUN: opt-tool %s -p convert-nest-to-scf,canonicalize,cse | filecheck %s

// Bounds: the largest of the lower ones to the smallest of the upper ones. Only what overlaps no argument is noalias.
// CHECK-LABEL: func.func @bounds(
// CHECK-SAME:  %x: memref<?xf32> {nestor.noalias}, %y: memref<?xf32>, %k: index)
// CHECK:       [[K1:%.*]] = arith.subi %k, %c1
// CHECK:       [[LOW:%.*]] = arith.maxsi [[K1]], %c2
// CHECK:       [[N3:%.*]] = arith.subi %n, %c3
// CHECK:       [[K2:%.*]] = arith.muli %k, %c2
// CHECK:       [[HIGH:%.*]] = arith.minsi [[N3]], [[K2]]
// CHECK:       scf.for %i = [[LOW]] to [[HIGH]] step %c4 {
// CHECK-NEXT:  [[NEXT:%.*]] = arith.addi %i, %c1
// CHECK-NEXT:  [[A:%.*]] = memref.load %x{{\[}}[[NEXT]]]
// CHECK-NEXT:  [[TWICE:%.*]] = arith.muli %i, %c2
// CHECK-NEXT:  memref.store [[A]], %y{{\[}}[[TWICE]]]
func.func @bounds(%x: memref<?xf32>, %y: memref<?xf32> {nest.role = "out", nest.alias_set = 0}, %k: index) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = max(%k - 1, 2) to min(%n - 3, 2 * %k) step 4 {
    %a = nest.load %x[%i + 1] : memref<?xf32>
    nest.store "y" %a, %y[2 * %i] : memref<?xf32>
  }
  func.return
}

// Parallel loops keep the grain that was decided, else 1; a small buffer is one a thread.
// CHECK-LABEL: func.func @threads(
// CHECK:       "scf.parallel"(%c0, %n, %c1)
// CHECK-NEXT:  ^bb0(%i: index):
// CHECK-NEXT:  [[T:%.*]] = memref.alloca() : memref<4xf32>
// CHECK:       memref.store {{%.*}}, [[T]][%c0]
// CHECK:       scf.reduce
// CHECK:       }) {nestor.grain = 4096 : i64}
// CHECK:       "scf.parallel"(%c0, %n, %c1)
// CHECK:       }) {nestor.grain = 1 : i64}
func.func @threads(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n parallel attributes {nestor.grain = 4096} {
    %t = nest.alloc "t" : memref<4xf32>
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "t" %a, %t[0] : memref<4xf32>
    %b = nest.load %t[0] : memref<4xf32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n parallel {
    %a = nest.load %y[%j] : memref<?xf32>
    nest.store "x" %a, %x[%j] : memref<?xf32>
  }
  func.return
}

// An unrolled loop is a copy of its body for each iteration.
// CHECK-LABEL: func.func @unrolled(
// CHECK-NOT:   scf.for
// CHECK:       [[A:%.*]] = memref.load %y[%c2]
// CHECK-NEXT:  memref.store [[A]], %y[%c3]
// CHECK-NEXT:  [[B:%.*]] = memref.load %y[%c4]
// CHECK-NEXT:  memref.store [[B]], %y[%c5]
func.func @unrolled(%y: memref<8xi64>) {
  nest.for "i" %i = 2 to 6 step 2 unrolled {
    %a = nest.load %y[%i] : memref<8xi64>
    nest.store "y" %a, %y[%i + 1] : memref<8xi64>
  }
  func.return
}

// As many iterations as lanes: no mask. A scalar is repeated in every lane.
// CHECK-LABEL: func.func @full(
// CHECK:       [[COUNT:%.*]] = arith.divui %n, %c16
// CHECK:       scf.for %o = %c0 to [[COUNT]] step %c1 {
// CHECK-NEXT:  [[START:%.*]] = arith.muli %o, %c16
// CHECK-NEXT:  [[A:%.*]] = vector.load %x{{\[}}[[START]]] : memref<?xf32>, vector<16xf32>
// CHECK-NEXT:  [[S:%.*]] = vector.broadcast %s : f32 to vector<16xf32>
// CHECK-NEXT:  [[B:%.*]] = arith.mulf [[A]], [[S]] : vector<16xf32>
// CHECK-NEXT:  vector.store [[B]], %y{{\[}}[[START]]]
func.func @full(%x: memref<?xf32>, %s: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i.o" %o = 0 to %n floordiv 16 {
    nest.for "i.i" %v = 0 to 16 vectorized(16) {
      %a = nest.load %x[16 * %o + %v] : memref<?xf32>
      %b = arith.mulf %a, %s : f32
      nest.store "y" %b, %y[16 * %o + %v] : memref<?xf32>
    }
  }
  func.return
}

// An unknown number of iterations is a mask of the first lanes; marks of a store go with it.
// CHECK-LABEL: func.func @tail(
// CHECK:       [[START:%.*]] = arith.muli {{%.*}}, %c16
// CHECK:       [[LEFT:%.*]] = arith.subi %n, [[START]]
// CHECK:       [[MASK:%.*]] = vector.create_mask [[LEFT]] : vector<16xi1>
// CHECK:       [[A:%.*]] = vector.maskedload %x{{\[}}[[START]]], [[MASK]], {{%.*}} : memref<?xf32>
// CHECK:       vector.maskedstore %y{{\[}}[[START]]], [[MASK]], [[A]] {nestor.nontemporal}
func.func @tail(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i.t" %v = 16 * (%n floordiv 16) to %n vectorized(16) {
    %a = nest.load %x[%v] : memref<?xf32>
    nest.store "y" %a, %y[%v] {nestor.nontemporal} : memref<?xf32>
  }
  func.return
}

// A domain is one branch around all that only its statements need, loads included.
// CHECK-LABEL: func.func @scalar_domain(
// CHECK:       scf.for %i = %c0 to %n
// CHECK-NEXT:  [[IN:%.*]] = arith.cmpi slt, %i, %m
// CHECK-NEXT:  scf.if [[IN]] {
// CHECK-NEXT:  [[A:%.*]] = memref.load %x[%i]
// CHECK-NEXT:  [[B:%.*]] = arith.addf [[A]], [[A]]
// CHECK-NEXT:  memref.store [[B]], %y[%i]
func.func @scalar_domain(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %m: index) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    nest.store "y" %b, %y[%i] where (%i < %m) : memref<?xf32>
  }
  func.return
}

// A computed mask guards the load and the store.
// CHECK-LABEL: func.func @scalar_mask(
// CHECK:       [[ON:%.*]] = arith.cmpi ne
// CHECK-NEXT:  [[A:%.*]] = scf.if [[ON]] -> (f32) {
// CHECK-NEXT:  [[LOADED:%.*]] = memref.load %x[%i]
// CHECK-NEXT:  scf.yield [[LOADED]]
// CHECK:       scf.if [[ON]] {
// CHECK-NEXT:  memref.store [[A]], %y[%i]
func.func @scalar_mask(%x: memref<8xf32>, %p: memref<8xi8>, %y: memref<8xf32>) {
  %zero = arith.constant 0 : i8
  nest.for "i" %i = 0 to 8 {
    %q = nest.load %p[%i] : memref<8xi8>
    %on = arith.cmpi ne, %q, %zero : i8
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] mask %on : memref<8xf32>
  }
  func.return
}

// A domain that the loop variable leaves is a mask; so are the loads.
// CHECK-LABEL: func.func @vector_domain(
// CHECK:       [[START:%.*]] = arith.muli %o, %c16
// CHECK:       [[LEFT:%.*]] = arith.subi %n, [[START]]
// CHECK:       [[MASK:%.*]] = vector.create_mask [[LEFT]]
// CHECK:       [[A:%.*]] = vector.maskedload %x{{\[}}[[START]]], [[MASK]]
// CHECK:       vector.maskedstore %y{{\[}}[[START]]], [[MASK]], [[A]]
func.func @vector_domain(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  nest.for "i.o" %o = 0 to %n ceildiv 16 {
    nest.for "i.i" %v = 0 to 16 vectorized(16) {
      %a = nest.load %x[16 * %o + %v] : memref<?xf32>
      nest.store "y" %a, %y[16 * %o + %v] where (16 * %o + %v < %n) : memref<?xf32>
    }
  }
  func.return
}

// The last lanes of a vector are a comparison, and masks are joined; each load has the mask of its users.
// CHECK-LABEL: func.func @vector_mask(
// CHECK:       [[LANES:%.*]] = arith.constant dense<[-2, -1, 0, 1, 2, 3, 4, 5]> : vector<8xindex>
// CHECK:       [[LAST:%.*]] = arith.cmpi sge, [[LANES]]
// CHECK:       vector.maskedload %p[%c0], [[LAST]]
// CHECK:       [[ON:%.*]] = arith.cmpi ne
// CHECK:       [[MASK:%.*]] = arith.andi [[LAST]], [[ON]]
// CHECK:       [[A:%.*]] = vector.maskedload %x[%c0], [[MASK]]
// CHECK:       vector.maskedstore %y[%c0], [[MASK]], [[A]]
func.func @vector_mask(%x: memref<8xf32>, %p: memref<8xi8>, %y: memref<8xf32>) {
  %zero = arith.constant 0 : i8
  nest.for "i" %i = 0 to 8 vectorized(8) {
    %q = nest.load %p[%i] : memref<8xi8>
    %on = arith.cmpi ne, %q, %zero : i8
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] where (%i >= 2) mask %on : memref<8xf32>
  }
  func.return
}

// Long strides gather: known to the type or not, or along another axis than the last.
// CHECK-LABEL: func.func @strided(
// CHECK:       [[LANES:%.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]>
// CHECK:       [[ALL:%.*]] = arith.constant dense<true> : vector<16xi1>
// CHECK:       [[FIVES:%.*]] = arith.constant dense<[0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75]>
// CHECK:       vector.gather %x[%c0] {{\[}}[[LANES]]], [[ALL]]
// CHECK:       vector.gather %z[%c1] {{\[}}[[FIVES]]], [[ALL]]
// CHECK:       [[COLUMN:%.*]] = memref.subview %w[%c0, %j] [16, 1] [1, 1] : memref<?x?xf32> to memref<16xf32, strided<[?], offset: ?>>
// CHECK:       vector.gather [[COLUMN]][%c0] {{\[}}[[LANES]]]
func.func @strided(%x: memref<?xf32, strided<[?]>>, %z: memref<96xf32>, %w: memref<?x?xf32>, %y: memref<16xf32>, %j: index) {
  nest.for "i" %i = 0 to 16 vectorized(16) {
    %a = nest.load %x[%i] : memref<?xf32, strided<[?]>>
    %b = nest.load %z[5 * %i + 1] : memref<96xf32>
    %c = nest.load %w[%i, %j] : memref<?x?xf32>
    %d = arith.addf %a, %b : f32
    %e = arith.addf %c, %d : f32
    nest.store "y" %e, %y[%i] : memref<16xf32>
  }
  func.return
}

// Computed indices gather, strided stores scatter.
// CHECK-LABEL: func.func @scattered(
// CHECK:       [[FOURS:%.*]] = arith.constant dense<[0, 4, 8, 12,
// CHECK:       [[K:%.*]] = vector.load %k[%c0]
// CHECK:       [[P:%.*]] = arith.index_cast [[K]] : vector<16xi64> to vector<16xindex>
// CHECK:       [[A:%.*]] = vector.gather %x[%c0] {{\[}}[[P]]]
// CHECK:       vector.scatter %y[%c0] {{\[}}[[FOURS]]], {{%.*}}, [[A]]
func.func @scattered(%x: memref<16xf32>, %k: memref<16xi64>, %y: memref<64xf32>) {
  nest.for "i" %i = 0 to 16 vectorized(16) {
    %r = nest.load %k[%i] : memref<16xi64>
    %p = arith.index_cast %r : i64 to index
    %a = nest.load %x[%p] : memref<16xf32>
    nest.store "y" %a, %y[4 * %i] : memref<64xf32>
  }
  func.return
}

// Indices that move along several axes are loaded lane by lane.
// CHECK-LABEL: func.func @diagonal(
// CHECK:       [[FIRST:%.*]] = memref.load %x[%c0, %c0]
// CHECK:       [[ONE:%.*]] = vector.insert [[FIRST]], {{%.*}} [0]
// CHECK:       [[SECOND:%.*]] = memref.load %x[%c1, %c1]
// CHECK:       [[A:%.*]] = vector.insert [[SECOND]], [[ONE]] [1]
// CHECK:       vector.store [[A]], %y[%c0]
func.func @diagonal(%x: memref<2x2xf32>, %y: memref<2xf32>) {
  nest.for "i" %i = 0 to 2 vectorized(2) {
    %a = nest.load %x[%i, %i] : memref<2x2xf32>
    nest.store "y" %a, %y[%i] : memref<2xf32>
  }
  func.return
}

// What is the same in all lanes stays scalar, and is not touched where the loop has no iteration.
// CHECK-LABEL: func.func @invariant(
// CHECK:       [[SOME:%.*]] = arith.cmpi sgt, %n, %c0
// CHECK-NEXT:  scf.if [[SOME]] {
// CHECK-NEXT:  [[B:%.*]] = memref.load %s[%j]
// CHECK-NEXT:  [[C:%.*]] = arith.addf [[B]], [[B]] : f32
// CHECK:       [[A:%.*]] = vector.maskedload %x[%c0]
// CHECK:       [[SPREAD:%.*]] = vector.broadcast [[C]] : f32 to vector<8xf32>
// CHECK:       arith.subf [[A]], [[SPREAD]] : vector<8xf32>
func.func @invariant(%x: memref<?xf32>, %s: memref<?xf32>, %y: memref<?xf32>, %j: index, %n: index) {
  nest.for "i" %i = 0 to %n vectorized(8) {
    %b = nest.load %s[%j] : memref<?xf32>
    %c = arith.addf %b, %b : f32
    %a = nest.load %x[%i] : memref<?xf32>
    %d = arith.subf %a, %c : f32
    nest.store "y" %d, %y[%i] : memref<?xf32>
  }
  func.return
}

// So where it is all that is loaded; a loop whose loads have a mask needs no branch.
// CHECK-LABEL: func.func @only_invariant(
// CHECK:       [[SOME:%.*]] = arith.cmpi sgt, %n, %c0
// CHECK-NEXT:  scf.if [[SOME]] {
// CHECK-NEXT:  memref.load %s[%j]
func.func @only_invariant(%s: memref<?xf32>, %y: memref<?xf32>, %j: index, %n: index) {
  nest.for "i" %i = 0 to %n vectorized(8) {
    %b = nest.load %s[%j] : memref<?xf32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @only_masked(
// CHECK-NOT:   scf.if
// CHECK:       vector.maskedload %x[%c0]
// CHECK:       vector.maskedstore
func.func @only_masked(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  nest.for "i" %i = 0 to %n vectorized(8) {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// In a loop it needs one: masks without a lane would cost each row as much as whole vectors.
// CHECK-LABEL: func.func @rest_of_rows(
// CHECK:       scf.for
// CHECK:       [[SOME:%.*]] = arith.cmpi sgt, [[REST:%.*]], %c0
// CHECK-NEXT:  scf.if [[SOME]] {
// CHECK:       vector.create_mask [[REST]] : vector<8xi1>
// CHECK:       vector.maskedload %x
// CHECK:       vector.maskedstore
func.func @rest_of_rows(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m mod 8 vectorized(8) {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// A sum of all lanes: those outside the domain hold -0.0, which changes no sum; none is no update.
// CHECK-LABEL: func.func @sum(
// CHECK:       [[NEUTRAL:%.*]] = arith.constant dense<-0.000000e+00> : vector<16xf32>
// CHECK:       [[MASK:%.*]] = vector.create_mask [[LEFT:%.*]] : vector<16xi1>
// CHECK:       [[A:%.*]] = vector.maskedload %x
// CHECK:       [[VALUES:%.*]] = arith.select [[MASK]], [[A]], [[NEUTRAL]]
// CHECK:       [[TOTAL:%.*]] = vector.reduction <add>, [[VALUES]] fastmath<reassoc> : vector<16xf32> into f32
// CHECK:       [[SOME:%.*]] = arith.cmpi sgt, [[LEFT]], %c0
// CHECK-NEXT:  scf.if [[SOME]] {
// CHECK-NEXT:  [[OLD:%.*]] = memref.load %s[]
// CHECK-NEXT:  [[NEW:%.*]] = arith.addf [[OLD]], [[TOTAL]]
// CHECK-NEXT:  memref.store [[NEW]], %s[]
func.func @sum(%x: memref<?xf32>, %s: memref<f32>, %n: index) {
  nest.for "i.o" %o = 0 to %n ceildiv 16 {
    nest.for "i.i" %v = 0 to 16 vectorized(16) {
      %a = nest.load %x[16 * %o + %v] : memref<?xf32>
      nest.accumulate "s" add %a, %s[] where (16 * %o + %v < %n) : memref<f32>
    }
  }
  func.return
}

// A reduction of a full vector needs no branch.
// CHECK-LABEL: func.func @largest(
// CHECK-NOT:   scf.if
// CHECK:       [[ALL:%.*]] = vector.reduction <maxsi>, {{%.*}} : vector<16xi64> into i64
// CHECK:       [[OLD:%.*]] = memref.load %s[]
// CHECK:       [[NEW:%.*]] = arith.maxsi [[OLD]], [[ALL]] : i64
// CHECK:       memref.store [[NEW]], %s[]
func.func @largest(%x: memref<16xi64>, %s: memref<i64>) {
  nest.for "i" %v = 0 to 16 vectorized(16) {
    %a = nest.load %x[%v] : memref<16xi64>
    nest.accumulate "s" maxsi %a, %s[] : memref<i64>
  }
  func.return
}

// One element a lane: load, combine, store; a loop that is the same for all lanes stays around them.
// CHECK-LABEL: func.func @columns(
// CHECK:       scf.for %k = %c0 to %c4 step %c1 {
// CHECK-NEXT:  [[A:%.*]] = vector.load %x[%k, %c0]
// CHECK-NEXT:  [[OLD:%.*]] = vector.load %s[%c0]
// CHECK-NEXT:  [[NEW:%.*]] = arith.addf [[OLD]], [[A]] : vector<16xf32>
// CHECK-NEXT:  vector.store [[NEW]], %s[%c0]
func.func @columns(%x: memref<4x16xf32>, %s: memref<16xf32>) {
  nest.for "i" %i = 0 to 16 vectorized(16) {
    nest.for "k" %k = 0 to 4 {
      %a = nest.load %x[%k, %i] : memref<4x16xf32>
      nest.accumulate "s" add %a, %s[%i] : memref<16xf32>
    }
  }
  func.return
}

// A custom combiner of a full vector, lane after lane.
// CHECK-LABEL: func.func @argmax(
// CHECK:       [[XS:%.*]] = vector.load %x[%c0]
// CHECK:       [[BEST:%.*]] = memref.load %best[]
// CHECK:       [[X0:%.*]] = vector.extract [[XS]][0]
// CHECK:       [[MORE0:%.*]] = arith.cmpf ogt, [[X0]], [[BEST]]
// CHECK:       [[BEST0:%.*]] = arith.select [[MORE0]], [[X0]], [[BEST]]
// CHECK:       [[X1:%.*]] = vector.extract [[XS]][1]
// CHECK:       [[MORE1:%.*]] = arith.cmpf ogt, [[X1]], [[BEST0]]
// CHECK:       [[BEST1:%.*]] = arith.select [[MORE1]], [[X1]], [[BEST0]]
// CHECK:       memref.store [[BEST1]], %best[]
func.func @argmax(%x: memref<2xf32>, %best: memref<f32>, %where: memref<i64>) {
  nest.for "i" %i = 0 to 2 vectorized(2) {
    %a = nest.load %x[%i] : memref<2xf32>
    %p = arith.index_cast %i : index to i64
    nest.accumulate custom (%a, %p), (%best, %where)[] {
    ^bb0(%old: f32, %at: i64, %new: f32, %k: i64):
      %more = arith.cmpf ogt, %new, %old : f32
      %v = arith.select %more, %new, %old : f32
      %w = arith.select %more, %k, %at : i64
      nest.yield %v, %w : f32, i64
    } : memref<f32>, memref<i64>
  }
  func.return
}

// Small buffers are on the stack, at the start of the function; others are freed behind their last use, which may be of a view.
// CHECK-LABEL: func.func @buffers(
// CHECK:       [[SMALL:%.*]] = memref.alloca() : memref<64xf32>
// CHECK:       [[TMP:%.*]] = memref.alloca() : memref<2xf32>
// CHECK:       [[LARGE:%.*]] = memref.alloc() : memref<5000xf32>
// CHECK-NEXT:  scf.for %i
// CHECK-NEXT:  [[ROW:%.*]] = memref.alloc(%n) : memref<?xf32>
// CHECK:       memref.load [[ROW]]
// CHECK-NEXT:  memref.dealloc [[ROW]]
// CHECK:       }
// CHECK-NEXT:  memref.dealloc [[LARGE]]
// CHECK:       [[NEXT:%.*]] = memref.alloc() : memref<8x1000xf32>
// CHECK-NEXT:  [[FLAT:%.*]] = memref.collapse_shape [[NEXT]]
// CHECK-NEXT:  memref.store {{.*}}, [[FLAT]]
// CHECK-NEXT:  memref.dealloc [[NEXT]]
// CHECK-NEXT:  func.return
func.func @buffers(%n: index) {
  %small = nest.alloc "small" : memref<64xf32>
  %large = nest.alloc "large" : memref<5000xf32>
  nest.for "i" %i = 0 to %n {
    %row = nest.alloc "row"(%n) : memref<?xf32>
    %tmp = nest.alloc "tmp" : memref<2xf32>
    %a = nest.load %row[%i] : memref<?xf32>
    nest.store "s" %a, %small[0] : memref<64xf32>
    nest.store "l" %a, %large[0] : memref<5000xf32>
    nest.store "t" %a, %tmp[0] : memref<2xf32>
  }
  %c = arith.constant 1.0 : f32
  %next = nest.alloc "next" : memref<8x1000xf32>
  %flat = memref.collapse_shape %next [[0 : i64, 1 : i64]] : memref<8x1000xf32> into memref<8000xf32>
  nest.store "f" %c, %flat[3] : memref<8000xf32>
  func.return
}

// A checked index is an assertion with its site; only one that may be negative wraps.
// CHECK-LABEL: func.func @checked(
// CHECK-SAME:  attributes {nestor.sites = [{kind = "IndexError", array = "x", axis = 0 : i64,
// CHECK:       [[P:%.*]] = arith.addi %i, %c1
// CHECK-NEXT:  [[BELOW:%.*]] = arith.cmpi slt, [[P]], %n
// CHECK-NEXT:  cf.assert [[BELOW]], "IndexError: index out of bounds for axis 0 of x" {nestor.kind = "IndexError", nestor.site = 0 : i64}
// CHECK-NEXT:  [[RAW:%.*]] = arith.subi %i, %j
// CHECK:       [[OK:%.*]] = arith.andi
// CHECK-NEXT:  cf.assert [[OK]], {{.*}} {nestor.kind = "IndexError", nestor.site = 1 : i64}
// CHECK-NEXT:  [[NEGATIVE:%.*]] = arith.cmpi slt, [[RAW]], %c0
// CHECK-NEXT:  [[WRAPPED:%.*]] = arith.addi [[RAW]], %n
// CHECK-NEXT:  [[Q:%.*]] = arith.select [[NEGATIVE]], [[WRAPPED]], [[RAW]]
// CHECK-NEXT:  [[A:%.*]] = memref.load %x{{\[}}[[P]]]
// CHECK-NEXT:  memref.store [[A]], %y{{\[}}[[Q]]]
func.func @checked(%x: memref<?xf32>, %y: memref<?xf32>, %j: index) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %p = nest.index %i + 1 of %n axis 0 of "x"
    %q = nest.index %i - %j of %n axis 0 of "x"
    %a = nest.load %x[%p] : memref<?xf32>
    nest.store "y" %a, %y[%q] : memref<?xf32>
  }
  func.return
}

// Branches stay branches.
// CHECK-LABEL: func.func @branch(
// CHECK:       scf.if %p {
// CHECK-NEXT:  memref.store %one, %y[%i]
// CHECK-NEXT:  } else {
// CHECK-NEXT:  memref.store %zero, %y[%i]
// CHECK-NEXT:  }
// CHECK-NEXT:  scf.if %p {
// CHECK-NEXT:  memref.store %zero, %y[%c0]
func.func @branch(%p: i1, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.for "i" %i = 0 to 4 {
    nest.if %p {
      nest.store "y" %one, %y[%i] : memref<4xf32>
    } else {
      nest.store "y" %zero, %y[%i] : memref<4xf32>
    }
    nest.if %p {
      nest.store "z" %zero, %y[0] : memref<4xf32>
    }
  }
  func.return
}

// Lanes that are off divide by one.
// CHECK-LABEL: func.func @quotients(
// CHECK:       [[ONES:%.*]] = arith.constant dense<1> : vector<8xi32>
// CHECK:       [[MASK:%.*]] = vector.create_mask %n
// CHECK:       [[A:%.*]] = vector.maskedload %x[%c0], [[MASK]]
// CHECK:       [[B:%.*]] = vector.maskedload %d[%c0], [[MASK]]
// CHECK:       [[SAFE:%.*]] = arith.select [[MASK]], [[B]], [[ONES]]
// CHECK:       arith.divsi [[A]], [[SAFE]]
func.func @quotients(%x: memref<?xi32>, %d: memref<?xi32>, %y: memref<?xi32>, %n: index) {
  nest.for "i" %i = 0 to %n vectorized(8) {
    %a = nest.load %x[%i] : memref<?xi32>
    %b = nest.load %d[%i] : memref<?xi32>
    %q = arith.divsi %a, %b : i32
    nest.store "y" %q, %y[%i] : memref<?xi32>
  }
  func.return
}

// So do iterations and lanes outside the domain of the statement that needs the quotient.
// CHECK-LABEL: func.func @guarded_quotients(
// CHECK:       scf.for %i
// CHECK:       memref.load %x[%i]
// CHECK:       [[B:%.*]] = scf.if %p -> (i32)
// CHECK-NEXT:  {{%.*}} = memref.load %d[%i]
// CHECK:       [[SAFE:%.*]] = arith.select %p, [[B]], {{%.*}} : i32
// CHECK-NEXT:  arith.divsi {{%.*}}, [[SAFE]] : i32
// CHECK:       [[MASK:%.*]] = vector.create_mask %n
// CHECK:       [[LANES:%.*]] = arith.select [[MASK]], {{%.*}} : vector<8xi1>, vector<8xi32>
// CHECK-NEXT:  arith.remsi {{%.*}}, [[LANES]]
func.func @guarded_quotients(%x: memref<8xi32>, %d: memref<8xi32>, %y: memref<8xi32>, %p: i1, %n: index) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xi32>
    %b = nest.load %d[%i] : memref<8xi32>
    %q = arith.divsi %a, %b : i32
    nest.store "y" %q, %y[%i] mask %p : memref<8xi32>
  }
  nest.for "j" %j = 0 to 8 vectorized(8) {
    %a = nest.load %x[%j] : memref<8xi32>
    %b = nest.load %d[%j] : memref<8xi32>
    %q = arith.remsi %a, %b : i32
    nest.store "y" %q, %y[%j] where (%j < %n) : memref<8xi32>
  }
  func.return
}

// Views of a buffer are kept.
// CHECK-LABEL: func.func @flat(
// CHECK:       [[FLAT:%.*]] = memref.collapse_shape %x {{.*}} : memref<4x16xf32> into memref<64xf32>
// CHECK:       scf.for %i = %c0 to %c64
// CHECK-NEXT:  [[A:%.*]] = memref.load [[FLAT]][%i]
// CHECK-NEXT:  memref.store [[A]], [[FLAT]][%i]
func.func @flat(%x: memref<4x16xf32>) {
  %f = memref.collapse_shape %x [[0, 1]] : memref<4x16xf32> into memref<64xf32>
  nest.for "i" %i = 0 to 64 {
    %a = nest.load %f[%i] : memref<64xf32>
    nest.store "x" %a, %f[%i] : memref<64xf32>
  }
  func.return
}
