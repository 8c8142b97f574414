// expand-division: vectors divided by a number that is the same all through a loop are multiplied by its inverse, and corrected.
// RUN: opt-tool %s -p expand-division --split-input-file | filecheck %s

// The inverse is made before the outermost loop in which the divisor stays the same; unusual dividends are divided.
// CHECK-LABEL: func.func @rows
// CHECK:      scf.for %i =
// CHECK-NEXT:   [[S:%\S+]] = memref.load %s[%i]
// CHECK-NEXT:   [[Y:%\S+]] = arith.divf {{%\S+}}, [[S]] : f32
// CHECK:        [[W:%\S+]] = arith.select {{%\S+}}, {{%\S+}}, {{%\S+}} : i32
// CHECK-NEXT:   scf.for %k =
// CHECK-NEXT:     scf.for %j =
// CHECK:            [[A:%\S+]] = vector.load %x
// CHECK:            [[UNUSUAL:%\S+]] = vector.reduction <or>
// CHECK:            %q = scf.if [[UNUSUAL]] -> (vector<16xf32>) {
// CHECK-NEXT:         arith.divf [[A]], {{%\S+}} : vector<16xf32>
// CHECK:            } else {
// CHECK-NEXT:         [[P:%\S+]] = arith.mulf [[A]], {{%\S+}} : vector<16xf32>
// CHECK-NEXT:         arith.negf
// CHECK-NEXT:         [[R:%\S+]] = math.fma {{%\S+}}, [[P]], [[A]] : vector<16xf32>
// CHECK-NEXT:         math.fma [[R]], {{%\S+}}, [[P]] : vector<16xf32>
// CHECK:            vector.store %q
func.func @rows(%x: memref<?x?x?xf32>, %s: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %n step %c1 {
    %d = memref.load %s[%i] : memref<?xf32>
    scf.for %k = %c0 to %n step %c1 {
      scf.for %j = %c0 to %n step %c16 {
        %a = vector.load %x[%i, %k, %j] : memref<?x?x?xf32>, vector<16xf32>
        %b = vector.broadcast %d : f32 to vector<16xf32>
        %q = arith.divf %a, %b : vector<16xf32>
        vector.store %q, %x[%i, %k, %j] : memref<?x?x?xf32>, vector<16xf32>
      }
    }
  }
  func.return
}

// -----

// A constant in double precision: two other bits of the exponent.
// CHECK-LABEL: func.func @constant
// CHECK-DAG:  arith.constant 4611686018427387904 : i64
// CHECK-DAG:  arith.constant dense<2305843009213693952> : vector<8xi64>
// CHECK:      arith.divf {{%\S+}}, {{%\S+}} : f64
// CHECK:      scf.for
// CHECK:        scf.if
func.func @constant(%x: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %three = arith.constant dense<3.0> : vector<8xf64>
  scf.for %j = %c0 to %n step %c8 {
    %a = vector.load %x[%j] : memref<?xf64>, vector<8xf64>
    %q = arith.divf %a, %three : vector<8xf64>
    vector.store %q, %x[%j] : memref<?xf64>, vector<8xf64>
  }
  func.return
}

// -----

// Divisors that differ by the lane or the iteration, loops of few iterations, scalars, halves, and quotients that need not be exact.
// CHECK-LABEL: func.func @left
// CHECK-NOT: math.fma
// CHECK-NOT: scf.if
// CHECK:     func.return
func.func @left(%x: memref<?xf32>, %h: memref<?xf16>, %s: f32, %t: f16, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %b = vector.broadcast %s : f32 to vector<4xf32>
  %g = vector.broadcast %t : f16 to vector<4xf16>
  scf.for %j = %c0 to %n step %c1 {
    %a = vector.load %x[%j] : memref<?xf32>, vector<4xf32>
    %one = memref.load %x[%j] : memref<?xf32>
    %own = vector.broadcast %one : f32 to vector<4xf32>
    %q0 = arith.divf %b, %a : vector<4xf32>
    %q1 = arith.divf %q0, %own : vector<4xf32>
    %q2 = arith.divf %q1, %b fastmath<arcp> : vector<4xf32>
    vector.store %q2, %x[%j] : memref<?xf32>, vector<4xf32>
    %q3 = arith.divf %one, %s : f32
    memref.store %q3, %x[%j] : memref<?xf32>
    %c = vector.load %h[%j] : memref<?xf16>, vector<4xf16>
    %q4 = arith.divf %c, %g : vector<4xf16>
    vector.store %q4, %h[%j] : memref<?xf16>, vector<4xf16>
  }
  scf.for %j = %c0 to %c3 step %c1 {
    %a = vector.load %x[%j] : memref<?xf32>, vector<4xf32>
    %q = arith.divf %a, %b : vector<4xf32>
    vector.store %q, %x[%j] : memref<?xf32>, vector<4xf32>
  }
  func.return
}
