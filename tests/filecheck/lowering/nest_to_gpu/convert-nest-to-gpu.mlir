// Bound loops become kernels with guards and barriers only where needed; the function launches them.
// RUN: opt-tool %s -p convert-nest-to-gpu,canonicalize,cse | filecheck %s

// A split loop: one guard, no barrier, 32-bit indices; the position has the name of the loop.
// CHECK-LABEL: func.func @copy(
// CHECK:         gpu.launch_func @copy_kernels::@copy_kernel blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1)
// CHECK-SAME:      args(%x : memref<1000xf32>, %y : memref<1000xf32>)
// CHECK:       gpu.module @copy_kernels attributes {nestor.index_bits = 32 : i64}
// CHECK:         gpu.func @copy_kernel(%x: memref<1000xf32> {nestor.noalias}, %y: memref<1000xf32> {nestor.noalias}) kernel
// CHECK-SAME:      gpu.known_block_size = array<i32: 256, 1, 1>
// CHECK-NOT:     gpu.barrier
// CHECK:         [[BASE:%.*]] = arith.muli {{%.*}}, %c256
// CHECK:         %i = arith.addi [[BASE]], {{%.*}} : index
// CHECK:         [[IN:%.*]] = arith.cmpi slt, %i, %c1000
// CHECK:         scf.if [[IN]] {
// CHECK-NEXT:      [[A:%.*]] = memref.load %x[%i]
// CHECK-NEXT:      memref.store [[A]], %y[%i]
func.func @copy(%x: memref<1000xf32>, %y: memref<1000xf32> {nest.role = "out"}) {
  nest.for "i.o" %o = 0 to 4 bind "block.x" {
    nest.for "i.i" %v = 0 to 256 bind "thread.x" {
      %a = nest.load %x[256 * %o + %v] : memref<1000xf32>
      nest.store "y" %a, %y[256 * %o + %v] where (256 * %o + %v < 1000) : memref<1000xf32>
    }
  }
  func.return
}

// Unknown extents: the host computes the grid, the kernel reads the extent off its argument.
// CHECK-LABEL: func.func @rows(
// CHECK:         %n = memref.dim %x, %c0
// CHECK:         [[GRID:%.*]] = arith.ceildivsi %n, %c64
// CHECK:         gpu.launch_func @rows_kernels::@rows_kernel blocks in ([[GRID]], %c1, %c1)
// CHECK:       gpu.module @rows_kernels attributes {nestor.index_bits = 64 : i64}
// CHECK:         gpu.func @rows_kernel(%x: memref<?x8xf32> {nest.dims = ["n", 8 : i64], nestor.noalias}
// CHECK:         %n = memref.dim %x
// CHECK-NOT:     gpu.barrier
// CHECK:         arith.cmpi slt, %i, %n
// CHECK:         scf.if
// CHECK:           scf.for %j
func.func @rows(%x: memref<?x8xf32> {nest.dims = ["n", 8]}, %s: memref<?xf32> {nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  nest.for "i.o" %o = 0 to %n ceildiv 64 bind "block.x" {
    nest.for "i.i" %v = 0 to 64 bind "thread.x" {
      nest.for "j" %j = 0 to 8 {
        %a = nest.load %x[64 * %o + %v, %j] : memref<?x8xf32>
        nest.accumulate "s" add %a, %s[64 * %o + %v] where (64 * %o + %v < %n) : memref<?xf32>
      }
    }
  }
  func.return
}

// What stands outside the loop over threads is done once a block, in shared memory, with a barrier before its use.
// CHECK-LABEL: gpu.func @centre_kernel(
// CHECK:         %s = memref.alloca() : memref<f32, 3 : i64>
// CHECK:         [[FIRST:%.*]] = arith.cmpi eq, %t, %c0
// CHECK:         scf.if [[FIRST]] {
// CHECK:           memref.store {{%.*}}, %s[]
// CHECK:         gpu.barrier
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.load %s[]
// CHECK:         memref.store
func.func @centre(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<f32>
    %first = nest.load %x[%o, 0] : memref<4x8xf32>
    nest.store "s" %first, %s[] : memref<f32>
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%o, %t] : memref<4x8xf32>
      %b = nest.load %s[] : memref<f32>
      %c = arith.subf %a, %b : f32
      nest.store "y" %c, %y[%o, %t] : memref<4x8xf32>
    }
  }
  func.return
}

// A serial loop around bound loops stays on the host; the temporary between the kernels is allocated there.
// CHECK-LABEL: func.func @steps(
// CHECK:         scf.for
// CHECK:           [[T:%.*]] = memref.alloc() : memref<8xf32>
// CHECK:           gpu.launch_func @steps_kernels::@steps_t {{.*}} args(%y : memref<8xf32>, [[T]] : memref<8xf32>)
// CHECK:           gpu.launch_func @steps_kernels::@steps_y {{.*}} args(%y : memref<8xf32>, [[T]] : memref<8xf32>)
// CHECK:           memref.dealloc [[T]]
func.func @steps(%y: memref<8xf32>) {
  nest.for "k" %k = 0 to 3 {
    %t = nest.alloc "t" : memref<8xf32>
    nest.for "i" %i = 0 to 8 bind "thread.x" {
      %a = nest.load %y[7 - %i] : memref<8xf32>
      nest.store "t" %a, %t[%i] : memref<8xf32>
    }
    nest.for "j" %j = 0 to 8 bind "thread.x" {
      %a = nest.load %t[%j] : memref<8xf32>
      nest.store "y" %a, %y[%j] : memref<8xf32>
    }
  }
  func.return
}

// Nothing bound: one thread. Arguments that may overlap are not noalias; a check numbers its site.
// CHECK-LABEL: func.func @pick({{.*}}) attributes {nestor.sites = [{kind = "IndexError", array = "x", axis = 0 : i64
// CHECK:         gpu.launch_func @pick_kernels::@pick_kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
// CHECK:       gpu.module @pick_kernels attributes {nestor.index_bits = 64 : i64}
// CHECK:         gpu.func @pick_kernel(%x: memref<9xf32>, %y: memref<9xf32>, %k: memref<9xi64> {nestor.noalias})
// CHECK:         cf.assert {{%.*}}, "IndexError: {{.*}}" {nestor.kind = "IndexError", nestor.site = 0 : i64}
func.func @pick(%x: memref<9xf32> {nest.alias_set = 0 : i64}, %y: memref<9xf32> {nest.alias_set = 0 : i64}, %k: memref<9xi64>) {
  nest.for "i" %i = 0 to 9 {
    %p = nest.load %k[%i] : memref<9xi64>
    %q = arith.index_cast %p : i64 to index
    %r = nest.index %q of 9 axis 0 of "x"
    %a = nest.load %x[%r] : memref<9xf32>
    nest.store "y" %a, %y[%i] : memref<9xf32>
  }
  func.return
}

// A statement that waits is launched before what it writes is loaded: the load belongs to the next kernel.
// CHECK-LABEL: func.func @chain(
// CHECK:         gpu.launch_func @chain_kernels::@[[FIRST:.*]] blocks
// CHECK:         gpu.launch_func @chain_kernels::@[[SECOND:.*]] blocks
// CHECK:         gpu.func @[[FIRST]](
// CHECK:           memref.store
// CHECK:         gpu.func @[[SECOND]](
// CHECK:           memref.load
// CHECK-NEXT:      memref.store
func.func @chain(%x: f32, %s: memref<f32>, %t: memref<f32>) {
  nest.store "s" %x, %s[] : memref<f32>
  %y = nest.load %s[] : memref<f32>
  nest.store "t" %y, %t[] : memref<f32>
  func.return
}
