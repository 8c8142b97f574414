// Flags, counters and limits of loops stay with the host: no kernel of one thread stores them, no wait reads them.
// RUN: opt-tool %s -p 'convert-nest-to-gpu' --split-input-file | filecheck %s

// A limit is known; only the error is read back.
// CHECK-LABEL: func.func @until
// CHECK:       %limit = memref.alloca() : memref<f32>
// CHECK-NEXT:  memref.store %x, %limit[]
// CHECK:       scf.while
// CHECK-NOT:   gpu.launch_func
// CHECK-DAG:   memref.load %limit[]
// CHECK-DAG:   memref.load %err[]
// CHECK:       scf.condition
func.func @until(%x: f32, %y: memref<64xf32>, %err: memref<f32>) {
  %limit = nest.alloc "limit" : memref<f32>
  nest.store "limit" %x, %limit[] : memref<f32>
  scf.while () : () -> () {
    %a = nest.load %limit[] : memref<f32>
    %b = nest.load %err[] : memref<f32>
    %c = arith.cmpf olt, %a, %b : f32
    scf.condition(%c)
  } do {
    nest.for "i" %i = 0 to 64 bind "thread.x" {
      %v = nest.load %y[%i] : memref<64xf32>
      nest.store "err" %v, %err[] where (%i < 1) : memref<f32>
    }
    scf.yield
  }
  func.return
}

// -----

// A counter, which a kernel reads as well, and which is a result: it is stored at the end.
// CHECK-LABEL: func.func @counted
// CHECK:       %k_1 = memref.alloca() : memref<i32>
// CHECK:       scf.while
// CHECK:       scf.condition
// CHECK:         %[[K:.*]] = memref.load %k_1[]
// CHECK:         gpu.launch_func @counted_kernels::@counted_y {{.*}} args(%y : memref<64xi32>, %[[K]] : i32)
// CHECK-NOT:     gpu.launch_func
// CHECK:         memref.store %{{.*}}, %k_1[]
// CHECK:       memref.load %k_1[]
// CHECK:       gpu.launch_func
// CHECK:       func.return
func.func @counted(%n: i32, %y: memref<64xi32>, %k: memref<i32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  nest.store "k" %zero, %k[] : memref<i32>
  scf.while () : () -> () {
    %a = nest.load %k[] : memref<i32>
    %c = arith.cmpi slt, %a, %n : i32
    scf.condition(%c)
  } do {
    nest.for "i" %i = 0 to 64 bind "thread.x" {
      %v = nest.load %k[] : memref<i32>
      nest.store "y" %v, %y[%i] : memref<64xi32>
    }
    %b = nest.load %k[] : memref<i32>
    %d = arith.addi %b, %one : i32
    nest.store "k" %d, %k[] : memref<i32>
    scf.yield
  }
  func.return
}

// -----

// What a kernel writes, or what depends on its elements, is the device's.
// CHECK-LABEL: func.func @of_the_device
// CHECK-NOT:   alloca
func.func @of_the_device(%y: memref<64xf32>) {
  %s = nest.alloc "s" : memref<f32>
  %a = nest.load %y[0] : memref<64xf32>
  nest.store "s" %a, %s[] : memref<f32>
  %t = nest.alloc "t" : memref<f32>
  nest.store "t" %a, %t[] : memref<f32>
  nest.for "i" %i = 0 to 64 bind "thread.x" {
    %v = nest.load %s[] : memref<f32>
    nest.store "y" %v, %y[%i] : memref<64xf32>
    %w = nest.load %t[] : memref<f32>
    nest.store "t" %w, %t[] where (%i < 1) : memref<f32>
  }
  func.return
}
