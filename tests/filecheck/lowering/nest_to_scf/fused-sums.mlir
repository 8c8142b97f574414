// A product that a sum of any order adds may become a fused multiply-add; other sums, types and uses may not.
// RUN: opt-tool %s -p convert-nest-to-scf | filecheck %s

// CHECK-LABEL: func.func @scalar
// CHECK: [[P:%.+]] = arith.mulf %{{.+}}, %{{.+}} fastmath<contract> : f32
// CHECK: arith.addf %{{.+}}, [[P]] fastmath<contract> : f32
func.func @scalar(%x: memref<?xf32>, %y: memref<?xf32>, %s: memref<f32>, %n: index) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = nest.load %y[%i] : memref<?xf32>
    %p = arith.mulf %a, %b : f32
    nest.accumulate "s" add %p, %s[] : memref<f32>
  }
  func.return
}

// What the user granted stays.
// CHECK-LABEL: func.func @vector
// CHECK: [[P:%.+]] = arith.mulf %{{.+}}, %{{.+}} fastmath<nnan,contract> : vector<8xf64>
// CHECK: arith.addf %{{.+}}, [[P]] fastmath<contract> : vector<8xf64>
func.func @vector(%x: memref<8xf64>, %s: memref<8xf64>, %k: f64) {
  nest.for "i" %i = 0 to 8 vectorized(8) {
    %a = nest.load %x[%i] : memref<8xf64>
    %p = arith.mulf %a, %k fastmath<nnan> : f64
    nest.accumulate "s" add %p, %s[%i] : memref<8xf64>
  }
  func.return
}

// The elementwise use of the product asks for the rounded value: its addition has no permission to contract.
// CHECK-LABEL: func.func @shared
// CHECK: [[P:%.+]] = arith.mulf %{{.+}} fastmath<contract> : f32
// CHECK: arith.addf [[P]], %{{.+}} : f32
// CHECK: arith.addf %{{.+}}, [[P]] fastmath<contract> : f32
func.func @shared(%x: memref<?xf32>, %z: memref<?xf32>, %s: memref<f32>, %n: index) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %p = arith.mulf %a, %a : f32
    %q = arith.addf %p, %a : f32
    nest.store "z" %q, %z[%i] : memref<?xf32>
    nest.accumulate "s" add %p, %s[] : memref<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @not_contracted
// CHECK-NOT: contract
func.func @not_contracted(%x: memref<?xf32>, %h: memref<?xf16>, %s: memref<f32>, %t: memref<f16>, %u: memref<f32>, %n: index) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = nest.load %h[%i] : memref<?xf16>
    %p = arith.mulf %a, %a : f32
    %q = arith.mulf %b, %b : f16
    nest.accumulate "s" add %p, %s[] order(sequential) : memref<f32>
    nest.accumulate "t" add %q, %t[] : memref<f16>
    nest.accumulate "u" maximum %p, %u[] : memref<f32>
  }
  func.return
}
