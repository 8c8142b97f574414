// Updates of elements that are found at run time: each kernel has a thread for each iteration or element.
// RUN: opt-tool %s -p nest-schedule-cuda --split-input-file | filecheck %s

// CHECK-LABEL: @histogram
// CHECK: nest.for "i.o" {{.*}} bind "block.x"
// CHECK: nest.for "i.i" {{.*}} bind "thread.x"
// CHECK: nest.accumulate "h" add %one, %h[%k] {{.*}}order(atomic)
func.func @histogram(%b: memref<100000xi32>, %h: memref<256xi32>) {
  %one = arith.constant 1 : i32
  nest.for "i" %i = 0 to 100000 {
    %v = nest.load %b[%i] : memref<100000xi32>
    %k = arith.index_cast %v : i32 to index
    nest.accumulate "h" add %one, %h[%k] : memref<256xi32>
  }
  func.return
}

// -----

// Two kernels look at the numbers, one sets and one ends the sums of the elements.
// CHECK-LABEL: @sums
// CHECK: nest.for "y.start.ax0.o" {{.*}} bind "block.x"
// CHECK: nest.for "i.largest{{.*}}" {{.*}} bind "block.x"
// CHECK: nest.accumulate "largest" maxui {{.*}}order(atomic)
// CHECK: nest.for "i{{.*}}" {{.*}} bind "block.x"
// CHECK: nest.accumulate "y_high" add {{.*}}order(atomic)
// CHECK: nest.accumulate "y_low" add {{.*}}order(atomic)
// CHECK: nest.for "y.end.ax0{{.*}}" {{.*}} bind "block.x"
func.func @sums(%v: memref<?xf32>, %b: memref<?xi32>, %y: memref<1000xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %b, %c0 : memref<?xi32>
  nest.for "i" %i = 0 to %n {
    %w = nest.load %b[%i] : memref<?xi32>
    %k = arith.index_cast %w : i32 to index
    %a = nest.load %v[%i] : memref<?xf32>
    nest.accumulate "y" add %a, %y[%k] : memref<1000xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @rows
// CHECK: nest.accumulate "last" maxsi {{.*}}order(atomic)
// CHECK: nest.for "y.end{{.*}} bind "block.
// CHECK: nest.store "y" {{.*}} mask
func.func @rows(%v: memref<1000x64xf32>, %b: memref<1000xi32>, %y: memref<500x64xf32>) {
  nest.for "i" %i = 0 to 1000 {
    nest.for "j" %j = 0 to 64 {
      %w = nest.load %b[%i] : memref<1000xi32>
      %k = arith.index_cast %w : i32 to index
      %a = nest.load %v[%i, %j] : memref<1000x64xf32>
      nest.store "y" %a, %y[%k, %j] : memref<500x64xf32>
    }
  }
  func.return
}

// -----

// Few iterations take one thread no longer than a launch; what has an order stays as it is.
// CHECK-LABEL: @left
// CHECK-NOT: bind
func.func @left(%v: memref<1000xf32>, %b: memref<1000xi32>, %y: memref<500xf32>, %h: memref<500xi32>) {
  %one = arith.constant 1 : i32
  nest.for "i" %i = 0 to 20 {
    %w = nest.load %b[%i] : memref<1000xi32>
    %k = arith.index_cast %w : i32 to index
    nest.accumulate "h" add %one, %h[%k] : memref<500xi32>
  }
  nest.for "i.1" %i = 0 to 1000 {
    %w = nest.load %b[%i] : memref<1000xi32>
    %k = arith.index_cast %w : i32 to index
    %a = nest.load %v[%i] : memref<1000xf32>
    nest.accumulate "y" add %a, %y[%k] order(sequential) : memref<500xf32>
  }
  func.return
}
