// exp is fused arithmetic at any width, rounded by adding 1.5 * 2^23.
// RUN: opt-tool %s -p expand-math | filecheck %s

// CHECK-LABEL: func.func @vector
// CHECK-NOT: math.exp
// CHECK: %{{.*}} = arith.cmpf olt, %x, {{%.+}} : vector<8xf32>
// CHECK: math.fma
// CHECK: arith.bitcast {{%.+}} : vector<8xf32> to vector<8xi32>
// CHECK: arith.shli
// CHECK: arith.mulf
// CHECK: %y = arith.mulf
// CHECK-NOT: arith.fptosi
// CHECK: vector.store %y
func.func @vector(%x: vector<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %y = math.exp %x : vector<8xf32>
  vector.store %y, %out[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}

// The reduction of large arguments is skipped where no lane has one.
// CHECK-LABEL: func.func @branch
// CHECK: [[LARGE:%.+]] = arith.cmpf ogt, {{%.+}}, {{%.+}} : vector<4xf64>
// CHECK: [[ANY:%.+]] = vector.reduction <or>, [[LARGE]] : vector<4xi1> into i1
// CHECK: = scf.if [[ANY]] -> (vector<4xf64>, vector<4xf64>, vector<4xf64>) {
// CHECK: arith.shrui {{%.+}}, {{%.+}} : vector<4xi64>
// CHECK: arith.select [[LARGE]]
// CHECK: } else {
// CHECK-NEXT: scf.yield
// CHECK: math.fma
func.func @branch(%x: vector<4xf64>, %out: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %y = math.sin %x : vector<4xf64>
  vector.store %y, %out[%c0] : memref<4xf64>, vector<4xf64>
  func.return
}

// A scalar has the same branch, of its own condition.
// CHECK-LABEL: func.func @scalar_branch
// CHECK: [[LARGE:%.+]] = arith.cmpf ogt, {{%.+}}, {{%.+}} : f32
// CHECK: scf.if [[LARGE]] -> (f32, f32, f32) {
func.func @scalar_branch(%x: f32) -> f32 {
  %y = math.cos %x : f32
  func.return %y : f32
}

// Two operands; pow of single precision is computed in double.
// CHECK-LABEL: func.func @power
// CHECK: arith.extf {{.*}} : vector<8xf32> to vector<8xf64>
// CHECK: arith.truncf {{.*}} : vector<8xf64> to vector<8xf32>
// CHECK-NOT: func.call
func.func @power(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %0 = math.powf %x, %y : vector<8xf32>
  func.return %0 : vector<8xf32>
}

// Half precision is computed in single.
// CHECK-LABEL: func.func @half
// CHECK: arith.extf %x : f16 to f32
// CHECK: arith.truncf {{%.+}} : f32 to f16
func.func @half(%x: f16, %out: memref<f16>) {
  %y = math.log %x : f16
  memref.store %y, %out[] : memref<f16>
  func.return
}

// erf is x + x P(x^2) for small x; beyond, 1 less a power of two (single precision) or a multiple of e^(-x^2) (double).
// CHECK-LABEL: func.func @error_function
// CHECK: [[NEAR:%\S+]] = math.fma %x, {{%\S+}}, %x : vector<8xf32>
// CHECK: [[N:%\S+]] = arith.shli {{.*}} : vector<8xi32>
// CHECK: [[POWER:%\S+]] = arith.bitcast [[N]] : vector<8xi32> to vector<8xf32>
// CHECK: math.fma {{%\S+}}, [[POWER]], {{%\S+}} : vector<8xf32>
// CHECK: arith.select {{%\S+}}, [[NEAR]], {{%\S+}} : vector<8xi1>, vector<8xf32>
// CHECK: arith.select {{.*}} : f64
func.func @error_function(%x: vector<8xf32>, %y: f64) -> (vector<8xf32>, f64) {
  %0 = math.erf %x : vector<8xf32>
  %1 = math.erf %y : f64
  func.return %0, %1 : vector<8xf32>, f64
}

// The quotient of tanh is corrected, unless its flags say that approximations will do.
// CHECK-LABEL: func.func @approximate
// CHECK: arith.divf
// CHECK: math.fma
// CHECK: %exact = math.copysign
// CHECK: arith.divf
// CHECK-NOT: math.fma
// CHECK: %near = math.copysign
func.func @approximate(%x: vector<8xf64>) -> (vector<8xf64>, vector<8xf64>) {
  %exact = math.tanh %x : vector<8xf64>
  %near = math.tanh %x fastmath<afn> : vector<8xf64>
  func.return %exact, %near : vector<8xf64>, vector<8xf64>
}

// The functions of `special`, and erfc, are arithmetic as well; a branch has what lgamma does to negative arguments.
// CHECK-LABEL: func.func @special_functions
// CHECK-NOT: special.
// CHECK-NOT: erfc
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK: func.return
func.func @special_functions(%x: vector<4xf64>) -> (vector<4xf64>, vector<4xf64>, vector<4xf64>) {
  %0 = special.sigmoid %x : vector<4xf64>
  %1 = math.erfc %x : vector<4xf64>
  %2 = special.lgamma %x : vector<4xf64>
  func.return %0, %1, %2 : vector<4xf64>, vector<4xf64>, vector<4xf64>
}
