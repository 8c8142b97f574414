// Vectorized loops in kernels become accesses of up to 16 bytes where tiles are whole and buffers aligned, elements elsewhere.
// RUN: opt-tool %s -p 'convert-nest-to-gpu{index-bits=32},canonicalize,cse' | filecheck %s

// The host asks whether the buffers are aligned; the lanes stay a loop between vector loads and stores.
// CHECK-LABEL: func.func @scale(
// CHECK:         [[X:%.*]] = "memref.extract_aligned_pointer_as_index"(%x)
// CHECK:         [[Y:%.*]] = "memref.extract_aligned_pointer_as_index"(%y)
// CHECK:         [[BOTH:%.*]] = arith.ori [[X]], [[Y]]
// CHECK:         [[REST:%.*]] = arith.remui [[BOTH]], %c16
// CHECK:         [[OK:%.*]] = arith.cmpi eq, [[REST]], %c0
// CHECK:         gpu.launch_func @scale_kernels::@scale_kernel {{.*}}[[OK]] : i1)
// CHECK:       gpu.func @scale_kernel(
// CHECK-SAME:    %aligned: i1
// CHECK:         [[LAST:%.*]] = arith.addi %i, %c3
// CHECK:         [[INSIDE:%.*]] = arith.cmpi slt, [[LAST]], %n
// CHECK:         [[WHOLE:%.*]] = arith.andi %aligned, [[INSIDE]]
// CHECK:         scf.if [[WHOLE]] {
// CHECK-NEXT:      [[XV:%.*]] = vector.load %x[%i] : memref<?xf32>, vector<4xf32>
// CHECK-NEXT:      %b = memref.load %s[]
// CHECK-NEXT:      [[YV:%.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:      scf.for [[V:%.*]] = %c0 to %c4
// CHECK-NEXT:        vector.extract [[XV]][[[V]]] : f32 from vector<4xf32>
// CHECK:             memref.store {{%.*}}, [[YV]][[[V]]]
// CHECK:           } {nestor.unroll}
// CHECK:           vector.store {{%.*}}, %y[%i] : memref<?xf32>, vector<4xf32>
// CHECK:         } else {
// CHECK:           [[LEFT:%.*]] = arith.subi %n, %i
// CHECK:           [[END:%.*]] = arith.minsi %c4, [[LEFT]]
// CHECK:           scf.for {{%.*}} = %c0 to [[END]]
// CHECK:             memref.load %x
func.func @scale(%x: memref<?xf32> {nest.dims = ["n"]}, %s: memref<f32>,
                 %y: memref<?xf32> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i.o" %o = 0 to %n ceildiv 1024 bind "block.x" {
    nest.for "i.i.o" %t = 0 to 256 bind "thread.x" {
      nest.for "i.i.i" %v = 0 to 4 vectorized(4) {
        %a = nest.load %x[1024 * %o + 4 * %t + %v] : memref<?xf32>
        %b = nest.load %s[] : memref<f32>
        %c = arith.mulf %a, %b : f32
        nest.store "y" %c, %y[1024 * %o + 4 * %t + %v] where (1024 * %o + 4 * %t + %v < %n) : memref<?xf32>
      }
    }
  }
  func.return
}

// Rows that are kept in registers: whether they are aligned is asked once, vectors go to the local array as they are.
// CHECK-LABEL: gpu.func @rows_kernel(
// CHECK:         [[ROW:%.*]] = memref.alloca() : memref<2x4xf32>
// CHECK:         scf.if %aligned {
// CHECK-NEXT:      scf.for [[U:%.*]] =
// CHECK:             [[LOADED:%.*]] = vector.load %x
// CHECK-NEXT:        vector.store [[LOADED]], [[ROW]][[[U]], %c0]
// CHECK:         } else {
// CHECK:         memref.store {{%.*}}, [[ROW]][
// CHECK:         arith.mulf
func.func @rows(%x: memref<8x256xf32>, %y: memref<8x256xf32>) {
  nest.for "i" %i = 0 to 8 bind "block.x" {
    nest.for "t" %t = 0 to 32 bind "thread.x" {
      %row = nest.alloc "row" : memref<2x4xf32>
      nest.for "u" %u = 0 to 2 unrolled {
        nest.for "u.v" %v = 0 to 4 vectorized(4) {
          %a = nest.load %x[%i, 128 * %u + 4 * %t + %v] : memref<8x256xf32>
          nest.store "row" %a, %row[%u, %v] : memref<2x4xf32>
        }
      }
      nest.for "w" %w = 0 to 2 unrolled {
        nest.for "w.v" %v = 0 to 4 vectorized(4) {
          %a = nest.load %row[%w, %v] : memref<2x4xf32>
          %b = arith.mulf %a, %a : f32
          nest.store "y" %b, %y[%i, 128 * %w + 4 * %t + %v] : memref<8x256xf32>
        }
      }
    }
  }
  func.return
}

// Neighbours that do not begin at a multiple of the access are elements: no vector, no question, no second version.
// CHECK-LABEL: gpu.func @shifted_kernel(
// CHECK-NOT:     vector.
// CHECK-NOT:     scf.if
// CHECK:         gpu.return
func.func @shifted(%x: memref<129xf32>, %y: memref<4x32xf32>) {
  nest.for "t" %t = 0 to 32 bind "thread.x" {
    nest.for "v" %v = 0 to 4 vectorized(4) {
      %a = nest.load %x[4 * %t + %v + 1] : memref<129xf32>
      nest.store "y" %a, %y[%v, %t] : memref<4x32xf32>
    }
  }
  func.return
}

// Two stores to one buffer, a known distance apart, are vectors both; where lanes of them could meet (@near) neither is.
// CHECK-LABEL: gpu.func @halves_kernel(
// CHECK:         vector.store {{%.*}}, %y[[[AT:%.*]]] : memref<256xf16>, vector<8xf16>
// CHECK:         [[FAR:%.*]] = arith.addi [[AT]], %c128
// CHECK:         vector.store {{%.*}}, %y[[[FAR]]] : memref<256xf16>, vector<8xf16>
func.func @halves(%x: memref<128xf16>, %y: memref<256xf16>) {
  nest.for "b" %b = 0 to 1 bind "block.x" {
    nest.for "t" %t = 0 to 16 bind "thread.x" {
      nest.for "v" %v = 0 to 8 vectorized(8) {
        %a = nest.load %x[8 * %t + %v] : memref<128xf16>
        %n = arith.negf %a : f16
        nest.store "y" %n, %y[8 * %t + %v] : memref<256xf16>
        nest.store "y" %a, %y[8 * %t + %v + 128] : memref<256xf16>
      }
    }
  }
  func.return
}

// CHECK-LABEL: gpu.func @near_kernel(
// CHECK-NOT:     vector.store
// CHECK:         gpu.return
func.func @near(%x: memref<128xf16>, %y: memref<256xf16>) {
  nest.for "b" %b = 0 to 1 bind "block.x" {
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      nest.for "v" %v = 0 to 8 vectorized(8) {
        %a = nest.load %x[16 * %t + %v] : memref<128xf16>
        %n = arith.negf %a : f16
        nest.store "y" %n, %y[16 * %t + %v] : memref<256xf16>
        nest.store "y" %a, %y[16 * %t + %v + 4] : memref<256xf16>
      }
    }
  }
  func.return
}
