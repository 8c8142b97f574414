// RUN: opt-tool %s -p gpu-plan-memory | filecheck %s
// RUN: opt-tool %s -p gpu-plan-memory | opt-tool -p gpu-plan-memory | filecheck %s

// Temporaries of a GPU program become views of one allocation, in which buffers whose lives are apart share bytes; others are
// freed after their last use.

// Static sizes: y and z are never needed at the same time; s, which is needed between them, has bytes of its own.

// CHECK-LABEL: func.func @static
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[S:.*]] = arith.constant 8704 : index
// CHECK:         %[[ARENA:.*]] = memref.alloc() {nestor.arena} : memref<8960xi8>
// CHECK:         %y = memref.view %[[ARENA]][%[[ZERO]]][] : memref<8960xi8> to memref<65x33xf32>
// CHECK-NEXT:    gpu.launch_func {{.*}}@one{{.*}}%y : memref<65x33xf32>
// CHECK-NEXT:    %s = memref.view %[[ARENA]][%[[S]]][] : memref<8960xi8> to memref<33xf32>
// CHECK-NEXT:    gpu.launch_func {{.*}}@two
// CHECK-NEXT:    %z = memref.view %[[ARENA]][%[[ZERO]]][] : memref<8960xi8> to memref<65x33xf32>
// CHECK-NEXT:    gpu.launch_func {{.*}}@two
// CHECK-NEXT:    memref.dealloc %[[ARENA]]
// CHECK-NEXT:    gpu.launch_func {{.*}}@one
// CHECK-NEXT:    func.return
func.func @static(%x: memref<65x33xf32>) {
  %c1 = arith.constant 1 : index
  %y = memref.alloc() : memref<65x33xf32>
  gpu.launch_func @kernels::@one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<65x33xf32>)
  %s = memref.alloc() : memref<33xf32>
  gpu.launch_func @kernels::@two blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<65x33xf32>, %s : memref<33xf32>)
  %z = memref.alloc() : memref<65x33xf32>
  gpu.launch_func @kernels::@two blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%z : memref<65x33xf32>, %s : memref<33xf32>)
  gpu.launch_func @kernels::@one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<65x33xf32>)
  memref.dealloc %z : memref<65x33xf32>
  memref.dealloc %s : memref<33xf32>
  memref.dealloc %y : memref<65x33xf32>
  func.return
}

// Dynamic sizes: a and c take turns in a slot, b has another one; sizes are known before the first allocation.

// CHECK-LABEL: func.func @dynamic
// CHECK:         %[[BYTES:.*]] = arith.muli %c4, %n : index
// CHECK:         %[[UNITS:.*]] = arith.ceildivsi %[[BYTES]], %c256 : index
// CHECK-NEXT:    %[[SLOT:.*]] = arith.muli %[[UNITS]], %c256 : index
// CHECK-NEXT:    %[[SUM:.*]] = arith.addi %[[SLOT]], %[[SLOT]] : index
// CHECK-NEXT:    %[[ARENA:.*]] = memref.alloc(%[[SUM]]) {nestor.arena} : memref<?xi8>
// CHECK-NEXT:    %a = memref.view %[[ARENA]][%c0][%n] : memref<?xi8> to memref<?xf32>
// CHECK:         %b = memref.view %[[ARENA]][%[[SLOT]]][%n] : memref<?xi8> to memref<?xf32>
// CHECK:         %c = memref.view %[[ARENA]][%c0][%n] : memref<?xi8> to memref<?xf32>
// CHECK:         memref.dealloc %[[ARENA]]
// CHECK-NEXT:    func.return
func.func @dynamic(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  gpu.launch_func @kernels::@three blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %a : memref<?xf32>)
  %b = memref.alloc(%n) : memref<?xf32>
  gpu.launch_func @kernels::@three blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<?xf32>, %b : memref<?xf32>)
  %c = memref.alloc(%n) : memref<?xf32>
  gpu.launch_func @kernels::@three blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<?xf32>, %c : memref<?xf32>)
  func.return
}

// A loop of the host: what is used in it lives as long as the whole loop, what is made in it is freed in it.

// CHECK-LABEL: func.func @loop
// CHECK:         %kept = memref.alloc() : memref<8xf32>
// CHECK:         scf.for
// CHECK-NEXT:      %made = memref.alloc(%i) : memref<?xf32>
// CHECK-NEXT:      gpu.launch_func {{.*}}%made
// CHECK-NEXT:      memref.dealloc %made
// CHECK-NEXT:      gpu.launch_func {{.*}}%kept
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.dealloc %kept
// CHECK-NOT:     unused
// CHECK:         func.return
func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %kept = memref.alloc() : memref<8xf32>
  %unused = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %made = memref.alloc(%i) : memref<?xf32>
    gpu.launch_func @kernels::@four blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%made : memref<?xf32>)
    gpu.launch_func @kernels::@five blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%kept : memref<8xf32>)
    memref.dealloc %made : memref<?xf32>
  }
  gpu.launch_func @kernels::@six blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  memref.dealloc %unused : memref<8xf32>
  memref.dealloc %kept : memref<8xf32>
  func.return
}

// A size that a kernel computes is known too late to be part of an arena.

// CHECK-LABEL: func.func @late
// CHECK:         %a = memref.alloc() : memref<i64>
// CHECK:         %n = memref.load %a[] : memref<i64>
// CHECK-NEXT:    memref.dealloc %a
// CHECK:         %b = memref.alloc(%m) : memref<?xf32>
// CHECK:         memref.dealloc %b
func.func @late() {
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<i64>
  gpu.launch_func @kernels::@seven blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<i64>)
  %n = memref.load %a[] : memref<i64>
  %m = arith.index_cast %n : i64 to index
  %b = memref.alloc(%m) : memref<?xf32>
  gpu.launch_func @kernels::@four blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<?xf32>)
  func.return
}

// What a branch gives is the buffer by another name: it is freed after the last use of that one.

// CHECK-LABEL: func.func @chosen
// CHECK:         %a = memref.alloc() : memref<8xf32>
// CHECK:         gpu.launch_func {{.*}}@five{{.*}}%b : memref<8xf32>
// CHECK-NEXT:    memref.dealloc %a
// CHECK-NEXT:    gpu.launch_func {{.*}}@six
func.func @chosen(%c: i1, %x: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<8xf32>
  %b = scf.if %c -> (memref<8xf32>) {
    scf.yield %a : memref<8xf32>
  } else {
    scf.yield %x : memref<8xf32>
  }
  gpu.launch_func @kernels::@five blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<8xf32>)
  gpu.launch_func @kernels::@six blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  func.return
}

gpu.module @kernels {
  gpu.func @one(%x: memref<65x33xf32>) kernel {
    gpu.return
  }
}
