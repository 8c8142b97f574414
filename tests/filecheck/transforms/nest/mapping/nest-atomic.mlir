// Updates that a loop carries are one step each: its iterations are independent then.
// RUN: opt-tool %s -p 'nest-atomic{loop=i},nest-parallel{loop=i}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-atomic{loop=i},nest-parallel{loop=i},convert-nest-to-scf,cpu-to-llvm' --split-input-file -t llvm-ir | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: @histogram
// CHECK: nest.for "i" {{.*}} parallel {
// CHECK: nest.accumulate "h" add %one, %h[%k] order(atomic) : memref<16xi32>
// LLVM-LABEL: @histogram
// LLVM: atomicrmw add ptr %{{.*}}, i32 1 monotonic
func.func @histogram(%b: memref<?xi32>, %h: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %b, %c0 : memref<?xi32>
  %one = arith.constant 1 : i32
  nest.for "i" %i = 0 to %n {
    %v = nest.load %b[%i] : memref<?xi32>
    %k = arith.index_cast %v : i32 to index
    nest.accumulate "h" add %one, %h[%k] : memref<16xi32>
  }
  func.return
}

// -----

// Two buffers, in a loop inside; what each iteration has for itself is left alone.
// CHECK-LABEL: @two
// CHECK: nest.accumulate "s" add %{{.*}}, %s[] : memref<i64>
// CHECK: nest.accumulate "largest" maxsi %{{.*}}, %largest[%k] order(atomic) : memref<16xi64>
// CHECK: nest.accumulate "bits" or %{{.*}}, %bits[%k] where (%i >= 2) order(atomic) : memref<16xi64>
// LLVM-LABEL: @two
// LLVM: atomicrmw max ptr
// LLVM: atomicrmw or ptr
func.func @two(%x: memref<8x9xi64>, %largest: memref<16xi64>, %bits: memref<16xi64>) {
  %zero = arith.constant 0 : i64
  nest.for "i" %i = 1 to 8 {
    %s = nest.alloc "s" : memref<i64>
    nest.store "s" %zero, %s[] : memref<i64>
    nest.for "j" %j = 0 to 9 {
      %a = nest.load %x[%i, %j] : memref<8x9xi64>
      nest.accumulate "s" add %a, %s[] : memref<i64>
      %k = arith.index_cast %a : i64 to index
      nest.accumulate "largest" maxsi %a, %largest[%k] : memref<16xi64>
      nest.accumulate "bits" or %a, %bits[%k] where (%i >= 2) : memref<16xi64>
    }
  }
  func.return
}
