// Products of bytes are done four a lane where instructions are there: copies of both operands with zeros at their edges, the terms of
// a column side by side, as many rows in each tile, and the sums of a tile set, added up and stored at a time.
// RUN: opt-tool %s -p 'nest-schedule-cpu{vnni=true}' | filecheck %s
// RUN: opt-tool %s -p 'nest-schedule-cpu' | filecheck %s --check-prefix=OFF
// RUN: opt-tool %s -p 'nest-schedule-cpu{vnni=true},convert-nest-to-scf,cpu-to-llvm' -t llvm-ir | filecheck %s --check-prefix=IR

// CHECK-LABEL: @product
// CHECK: [[A:%\S+]] = nest.alloc "a_tile" : memref<9x5x12x16xi8>
// CHECK: nest.load %a[12 * [[IO:%\S+]] + [[I:%\S+]], 16 * [[KO:%\S+]] + [[K:%\S+]]]
// CHECK: where (12 * [[IO]] + [[I]] < 100, 16 * [[KO]] + [[K]] < 70)
// CHECK: [[B:%\S+]] = nest.alloc "b_tile" : memref<2x5x4x128xi8>
// CHECK: nest.for "i.o.o" {{.*}} parallel
// CHECK: [[S:%\S+]] = nest.alloc "sums" : memref<12x32xi32>
// CHECK: nest.for "k.o" {{.*}} attributes {nestor.vnni} {
// CHECK-COUNT-5: nest.for
// CHECK: nest.accumulate "c" add {{%\S+}}, [[S]]
// CHECK: nest.store "c" {{.*}}, %c{{.*}} where

// OFF-NOT: nestor.vnni

// IR: call <16 x i32> @llvm.x86.avx512.vpdpbusd.512

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
