// Products of bytes are done by the matrix unit where there is one: tiles of both operands, zeros at their edges, the terms of a column
// side by side, and the tile of sums set, added up and stored at a time.
// RUN: opt-tool %s -p 'nest-schedule-cpu{amx=true}' | filecheck %s
// RUN: opt-tool %s -p 'nest-schedule-cpu' | filecheck %s --check-prefix=OFF
// RUN: opt-tool %s -p 'nest-schedule-cpu{amx=true},convert-nest-to-scf,cpu-to-llvm' -t llvm-ir | filecheck %s --check-prefix=IR

// CHECK-LABEL: @product
// CHECK: [[A:%\S+]] = nest.alloc "a_tile" : memref<4x2x32x64xi8>
// CHECK: nest.load %a[32 * [[IO:%\S+]] + [[I:%\S+]], 64 * [[KO:%\S+]] + [[K:%\S+]]]
// CHECK: where (32 * [[IO]] + [[I]] < 100, 64 * [[KO]] + [[K]] < 70)
// CHECK: nest.store "a_tile" {{%\S+}}, [[A]]{{\[}}[[IO]], [[KO]], [[I]], [[K]]]
// CHECK: [[B:%\S+]] = nest.alloc "b_tile" : memref<2x2x16x128xi8>
// CHECK: nest.for "{{.*}}" [[J:%\S+]] = 0 to 32 vectorized(32) {
// CHECK-NEXT: nest.for "{{.*}}" [[V:%\S+]] = 0 to 4 unrolled {
// CHECK: nest.store "b_tile" {{%\S+}}, [[B]]{{.*}}, 4 * [[J]] + [[V]]]
// CHECK: nest.for "i.o.o" {{.*}} parallel
// CHECK: nest.for "j.o"
// CHECK: nest.for "i.o.i"
// CHECK: [[S:%\S+]] = nest.alloc "sums" : memref<32x32xi32>
// CHECK: nest.store "c" %zero, [[S]]{{.*}}] : memref<32x32xi32>
// CHECK: nest.for "k.o" {{.*}} attributes {nestor.amx} {
// CHECK-COUNT-6: nest.for
// CHECK: nest.accumulate "c" add {{%\S+}}, [[S]][16 * {{%\S+}} + {{%\S+}}, 16 * {{%\S+}} + {{%\S+}}] : memref<32x32xi32>
// CHECK: nest.store "c" {{.*}}, %c{{.*}} where

// OFF-NOT: nestor.amx

// IR: call x86_amx @llvm.x86.tdpbssd.internal
// IR-NOT: llvm.masked.scatter

func.func @product(%a: memref<100x70xi8>, %b: memref<70x50xi8>, %c: memref<100x50xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  nest.for "i" %i = 0 to 100 {
    nest.for "j" %j = 0 to 50 {
      nest.store "c" %zero, %c[%i, %j] : memref<100x50xi32>
    }
  }
  nest.for "i.1" %i = 0 to 100 {
    nest.for "j.1" %j = 0 to 50 {
      nest.for "k" %k = 0 to 70 {
        %0 = nest.load %a[%i, %k] : memref<100x70xi8>
        %1 = nest.load %b[%k, %j] : memref<70x50xi8>
        %2 = arith.extsi %0 : i8 to i32
        %3 = arith.extsi %1 : i8 to i32
        %4 = arith.muli %2, %3 : i32
        nest.accumulate "c" add %4, %c[%i, %j] : memref<100x50xi32>
      }
    }
  }
  func.return
}
