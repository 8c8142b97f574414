// Products of bfloat16 are done two terms a step where the instruction is there: panels of both operands with the terms of a pair
// side by side, and the last term of an odd number by itself; extents may be unknown.
// RUN: opt-tool %s -p 'nest-schedule-cpu{bf16=true}' | filecheck %s
// RUN: opt-tool %s -p 'nest-schedule-cpu' | filecheck %s --check-prefix=OFF
// RUN: opt-tool %s -p 'nest-schedule-cpu{bf16=true},convert-nest-to-scf,cpu-to-llvm' -t llvm-ir | filecheck %s --check-prefix=IR

// CHECK-LABEL: @product
// CHECK: [[A:%\S+]] = nest.alloc "panel" : memref<8x36x26xbf16>
// CHECK: nest.load %a[13 * [[IO:%\S+]] + [[I:%\S+]], 2 * [[KO:%\S+]] + [[K:%\S+]]]
// CHECK: nest.store "panel" {{%\S+}}, [[A]]{{\[}}[[IO]], [[KO]], 2 * [[I]] + [[K]]]
// CHECK: [[B:%\S+]] = nest.alloc "panel.1"({{%\S+}}) : memref<?x36x64xbf16>
// CHECK: vectorized(32) {
// CHECK-NEXT: nest.for {{.*}} = 0 to 2 unrolled {
// CHECK: [[S:%\S+]] = nest.alloc "sums" : memref<13x32xf32>
// CHECK: nest.for "k.o" [[KO:%\S+]] = 0 to 35 {
// CHECK: nest.for "i.1.i" [[I:%\S+]] = 0 to 13 unrolled {
// CHECK-NEXT: nest.for {{.*}} [[J:%\S+]] = 0 to 32 vectorized(32) {
// CHECK-NEXT: nest.for "k.i" [[K:%\S+]] = 0 to 2 attributes {nestor.bf16_pairs} {
// CHECK-NEXT: nest.load [[A]]{{\[}}{{%\S+}}, [[KO]], 2 * [[I]] + [[K]]]
// CHECK-NEXT: nest.load [[B]]{{\[}}{{%\S+}}, [[KO]], 2 * [[J]] + [[K]]]
// CHECK-NEXT: arith.extf
// CHECK-NEXT: arith.extf
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: nest.accumulate "c" add {{%\S+}}, [[S]]
// CHECK: nest.for "k.t" {{.*}} = 0 to 1 {
// CHECK-NOT: nestor.bf16_pairs
// CHECK-LABEL: @unknown
// CHECK: nest.for "k.i.o" {{.*}} = 0 to min(1024, %l floordiv 2 - 1024 * {{%\S+}}) {
// CHECK: attributes {nestor.bf16_pairs} {
// CHECK: nest.for "k.i.t" {{.*}} = max(0, 2 * (%l floordiv 2) - 2048 * {{%\S+}}) to min(2048, %l - 2048 * {{%\S+}}) {
// CHECK-LABEL: @convolution
// CHECK: nest.alloc "panel" : memref<1x3x3x4x64xbf16>
// CHECK: nest.for "c.o" {{.*}} = 0 to 4 {
// CHECK: attributes {nestor.bf16_pairs} {

// OFF-NOT: nestor.bf16_pairs

// IR: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512

func.func @product(%a: memref<100x71xbf16>, %b: memref<71x50xbf16>, %c: memref<100x50xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 100 {
    nest.for "j" %j = 0 to 50 {
      nest.store "c" %zero, %c[%i, %j] : memref<100x50xf32>
    }
  }
  nest.for "i.1" %i = 0 to 100 {
    nest.for "j.1" %j = 0 to 50 {
      nest.for "k" %k = 0 to 71 {
        %0 = nest.load %a[%i, %k] : memref<100x71xbf16>
        %1 = nest.load %b[%k, %j] : memref<71x50xbf16>
        %2 = arith.extf %0 : bf16 to f32
        %3 = arith.extf %1 : bf16 to f32
        %4 = arith.mulf %2, %3 : f32
        nest.accumulate "c" add %4, %c[%i, %j] : memref<100x50xf32>
      }
    }
  }
  func.return
}

func.func @unknown(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, %c0 : memref<?x?xbf16>
  %l = memref.dim %a, %c1 : memref<?x?xbf16>
  %n = memref.dim %b, %c1 : memref<?x?xbf16>
  nest.for "i" %i = 0 to %m {
    nest.for "j" %j = 0 to %n {
      nest.store "c" %zero, %c[%i, %j] : memref<?x?xf32>
    }
  }
  nest.for "i.1" %i = 0 to %m {
    nest.for "j.1" %j = 0 to %n {
      nest.for "k" %k = 0 to %l {
        %0 = nest.load %a[%i, %k] : memref<?x?xbf16>
        %1 = nest.load %b[%k, %j] : memref<?x?xbf16>
        %2 = arith.extf %0 : bf16 to f32
        %3 = arith.extf %1 : bf16 to f32
        %4 = arith.mulf %2, %3 : f32
        nest.accumulate "c" add %4, %c[%i, %j] : memref<?x?xf32>
      }
    }
  }
  func.return
}

func.func @convolution(%p: memref<2x10x10x8xbf16>, %w: memref<3x3x8x32xbf16>, %t: memref<2x8x8x32xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "b" %b = 0 to 2 {
    nest.for "i" %i = 0 to 8 {
      nest.for "j" %j = 0 to 8 {
        nest.for "o" %o = 0 to 32 {
          nest.store "t" %zero, %t[%b, %i, %j, %o] : memref<2x8x8x32xf32>
        }
      }
    }
  }
  nest.for "b.1" %b = 0 to 2 {
    nest.for "i.1" %i = 0 to 8 {
      nest.for "j.1" %j = 0 to 8 {
        nest.for "o.1" %o = 0 to 32 {
          nest.for "u" %u = 0 to 3 {
            nest.for "v" %v = 0 to 3 {
              nest.for "c" %c = 0 to 8 {
                %0 = nest.load %p[%b, %i + %u, %j + %v, %c] : memref<2x10x10x8xbf16>
                %1 = nest.load %w[%u, %v, %c, %o] : memref<3x3x8x32xbf16>
                %2 = arith.extf %0 : bf16 to f32
                %3 = arith.extf %1 : bf16 to f32
                %4 = arith.mulf %2, %3 : f32
                nest.accumulate "t" add %4, %t[%b, %i, %j, %o] : memref<2x8x8x32xf32>
              }
            }
          }
        }
      }
    }
  }
  func.return
}
