// exp is fused arithmetic at any width, rounded by adding 1.5 * 2^23; sin is a libm call a lane.
// RUN: opt-tool %s -p expand-math | filecheck %s

// CHECK: func.func private @sinf(f32) -> f32
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

// CHECK-LABEL: func.func @lanes
// CHECK-COUNT-2: func.call @sinf
func.func @lanes(%x: vector<2xf32>, %out: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %y = math.sin %x : vector<2xf32>
  vector.store %y, %out[%c0] : memref<2xf32>, vector<2xf32>
  func.return
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

// erf of single precision is a polynomial in double; of double it is libm's.
// CHECK-LABEL: func.func @error_function
// CHECK: [[W:%\S+]] = arith.extf %x : vector<8xf32> to vector<8xf64>
// CHECK-COUNT-19: math.fma {{.*}} : vector<8xf64>
// CHECK: arith.truncf {{.*}} : vector<8xf64> to vector<8xf32>
// CHECK: func.call @erf(%y)
func.func @error_function(%x: vector<8xf32>, %y: f64) -> (vector<8xf32>, f64) {
  %0 = math.erf %x : vector<8xf32>
  %1 = math.erf %y : f64
  func.return %0, %1 : vector<8xf32>, f64
}
