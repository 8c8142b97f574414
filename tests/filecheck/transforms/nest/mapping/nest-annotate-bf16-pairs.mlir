// A loop over two terms of products of bfloat16 is vdpbf16ps for each vector of 16 lanes; rows and columns outside of a domain
// are neither loaded nor changed.
// RUN: opt-tool %s -p 'nest-annotate{loop=k.i mark="nestor.bf16_pairs"}' | filecheck %s --check-prefix=MARK
// RUN: opt-tool %s -p 'nest-annotate{loop=k.i mark="nestor.bf16_pairs"},convert-nest-to-scf' | filecheck %s
// RUN: opt-tool %s -p 'nest-annotate{loop=k.i mark="nestor.bf16_pairs"},convert-nest-to-scf,cpu-to-llvm' -t llvm-ir | filecheck %s --check-prefix=IR

// MARK: nest.for "k.i" %{{.*}} = 0 to 2 attributes {nestor.bf16_pairs} {

// CHECK-LABEL: func.func @f
// CHECK:      scf.for [[K:%.*]] = %c0 to %c3 step %c1 {
// CHECK:      [[P:%.*]] = vector.load %x{{\[}}[[K]], %c0] : memref<3x4xbf16>, vector<2xbf16>
// CHECK-NEXT: [[W:%.*]] = vector.bitcast [[P]] : vector<2xbf16> to vector<1xi32>
// CHECK-NEXT: [[E:%.*]] = vector.extract [[W]][0]
// CHECK-NEXT: [[L:%.*]] = vector.broadcast [[E]] : i32 to vector<16xi32>
// CHECK-NEXT: [[A:%.*]] = vector.bitcast [[L]] : vector<16xi32> to vector<32xbf16>
// CHECK-NEXT: [[B:%.*]] = vector.load %y{{\[}}[[K]], %c0] : memref<3x64xbf16>, vector<64xbf16>
// CHECK:      [[S:%.*]] = vector.load %s[%c0, %c0] : memref<2x32xf32>, vector<32xf32>
// CHECK-NEXT: [[S0:%.*]] = vector.shuffle [[S]], [[S]] [0,
// CHECK-NEXT: [[B0:%.*]] = vector.shuffle [[B]], [[B]] [0,
// CHECK-NEXT: [[R0:%.*]] = x86vector.avx512.dot [[S0]], [[A]], [[B0]] : vector<32xbf16> -> vector<16xf32>
// CHECK-NEXT: [[S1:%.*]] = vector.shuffle [[S]], [[S]] [16,
// CHECK-NEXT: [[B1:%.*]] = vector.shuffle [[B]], [[B]] [32,
// CHECK-NEXT: [[R1:%.*]] = x86vector.avx512.dot [[S1]], [[A]], [[B1]] : vector<32xbf16> -> vector<16xf32>
// CHECK-NEXT: [[R:%.*]] = vector.shuffle [[R0]], [[R1]] [0,
// CHECK-NEXT: vector.store [[R]], %s[%c0, %c0]
// CHECK:      vector.load %x{{\[}}[[K]], %c2]

// IR: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> {{.*}}, <32 x bfloat> {{.*}}, <32 x bfloat> {{.*}})

func.func @f(%x: memref<3x4xbf16>, %y: memref<3x64xbf16>, %z: memref<2x32xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<2x32xf32>
  nest.for "i" %i = 0 to 2 {
    nest.for "j" %j = 0 to 32 vectorized(32) {
      nest.store "s" %zero, %s[%i, %j] : memref<2x32xf32>
    }
  }
  nest.for "k.o" %k = 0 to 3 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.for "c" %c = 0 to 32 vectorized(32) {
        nest.for "k.i" %v = 0 to 2 {
          %a = nest.load %x[%k, 2 * %r + %v] : memref<3x4xbf16>
          %b = nest.load %y[%k, 2 * %c + %v] : memref<3x64xbf16>
          %a_1 = arith.extf %a : bf16 to f32
          %b_1 = arith.extf %b : bf16 to f32
          %p = arith.mulf %a_1, %b_1 : f32
          nest.accumulate "s" add %p, %s[%r, %c] : memref<2x32xf32>
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 2 {
    nest.for "j.1" %j = 0 to 32 vectorized(32) {
      %0 = nest.load %s[%i, %j] : memref<2x32xf32>
      nest.store "z" %0, %z[%i, %j] : memref<2x32xf32>
    }
  }
  func.return
}
