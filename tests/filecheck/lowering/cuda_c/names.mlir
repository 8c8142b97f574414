// Names come from Python and stay unique and legal; loop-carried values that swap are saved first; a load
// stays in front of the store that may change what it reads.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: names(int *x, int *y, int int_, int n) {
// CHECK-NEXT: int a = int_;
// CHECK-NEXT: int b = 1;
// CHECK-NEXT: for (int i = 0; i < n; i++) {
// CHECK-NEXT:   const int next = a;
// CHECK-NEXT:   a = b;
// CHECK-NEXT:   b = next;
// CHECK-NEXT: }
// CHECK-NEXT: const int x_0 = x[0];
// CHECK-NEXT: y[0] = a;
// CHECK-NEXT: x[1] = x_0;
// CHECK-NEXT: int big;
// CHECK-NEXT: if (a > b) {
// CHECK-NEXT:   big = a;
// CHECK-NEXT: } else {
// CHECK-NEXT:   big = b;
// CHECK-NEXT: }
// CHECK-NEXT: const int big_1 = (int)(big - 2147483648u);
// CHECK-NEXT: x[2] = big_1;

gpu.module @k attributes {nestor.index_bits = 32 : i64} {
  gpu.func @names(%x: memref<8xi32>, %y: memref<8xi32>, %int: i32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %one = arith.constant 1 : i32
    %lowest = arith.constant -2147483648 : i32
    %0, %1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %int, %b = %one) -> (i32, i32) {
      scf.yield %b, %a : i32, i32
    }
    %2 = memref.load %x[%c0] : memref<8xi32>
    memref.store %0, %y[%c0] : memref<8xi32>
    memref.store %2, %x[%c1] : memref<8xi32>
    %3 = arith.cmpi sgt, %0, %1 : i32
    %big = scf.if %3 -> (i32) {
      scf.yield %0 : i32
    } else {
      scf.yield %1 : i32
    }
    %big_1 = arith.subi %big, %lowest : i32
    memref.store %big_1, %x[%c2] : memref<8xi32>
    gpu.return
  }
}
