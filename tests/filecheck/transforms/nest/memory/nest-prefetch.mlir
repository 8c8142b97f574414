// What the loop reads some iterations later is fetched before each load that differs by the iteration, once a line.
// RUN: opt-tool %s --split-input-file -p 'nest-prefetch{loop=i buffer=x distance=8}' | filecheck %s
// RUN: opt-tool %s --split-input-file -p 'nest-prefetch{loop=i buffer=x distance=8},convert-nest-to-scf' | filecheck %s --check-prefix SCF

// Unknown extents, any start, a step: the distance counts iterations.
// CHECK-LABEL: @columns
// CHECK:      nest.for "i" [[I:%\S+]] = 3 to %n step 2
// CHECK-NEXT:   [[S:%\S+]] = nest.load %x[0, 0]
// CHECK-NEXT:   nest.prefetch %x{{\[}}[[I]] + 16, 0] : memref<?x64xf32>
// CHECK-NEXT:   nest.load %x{{\[}}[[I]], 0]
// CHECK-NEXT:   nest.load %x{{\[}}[[I]], 1]
// CHECK-NEXT:   nest.prefetch %x{{\[}}[[I]] + 16, 16] : memref<?x64xf32>
// CHECK-NEXT:   nest.load %x{{\[}}[[I]], 16]
// CHECK-NOT:    nest.prefetch
func.func @columns(%x: memref<?x64xf32>, %y: memref<?xf32>, %n: index) {
  nest.for "i" %i = 3 to %n step 2 {
    %s = nest.load %x[0, 0] : memref<?x64xf32>
    %a = nest.load %x[%i, 0] : memref<?x64xf32>
    %b = nest.load %x[%i, 1] : memref<?x64xf32>
    %c = nest.load %x[%i, 16] : memref<?x64xf32>
    %d = nest.load %y[%i + 1] : memref<?xf32>
    %e = arith.addf %a, %d : f32
    nest.store "y" %e, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Loads in inner loops, uneven extents; a prefetch that is there is enough.
// CHECK-LABEL: @inner
// CHECK:      nest.for "v" [[V:%\S+]] = 0 to 16 vectorized(16)
// CHECK-NEXT:   nest.prefetch %x[2 * %{{\S+}} + [[V]] + 16] : memref<?xf32>
// CHECK-NEXT:   nest.load
// CHECK:      nest.for "w"
// CHECK-NEXT:   nest.prefetch
// CHECK-NEXT:   nest.load
func.func @inner(%x: memref<?xf32>, %y: memref<16xf32>) {
  nest.for "i" %i = 1 to 18 parallel {
    nest.for "v" %v = 0 to 16 vectorized(16) {
      %a = nest.load %x[%i * 2 - %i + %v + %i] : memref<?xf32>
      nest.store "y" %a, %y[%v] : memref<16xf32>
    }
    nest.for "w" %w = 0 to 16 {
      nest.prefetch %x[%i + %w + 8] : memref<?xf32>
      %a = nest.load %x[%i + %w] : memref<?xf32>
      nest.store "y" %a, %y[%w] : memref<16xf32>
    }
  }
  func.return
}

// -----

// What is stored is fetched for writing.
// CHECK-LABEL: @written
// CHECK:      nest.prefetch %x[{{%\S+}} + 8] {nestor.write} : memref<?xf32>
// CHECK-NEXT: nest.store "x"
func.func @written(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %y[%i] : memref<?xf32>
    nest.store "x" %a, %x[%i] : memref<?xf32>
  }
  func.return
}

// -----

// An element that is loaded and stored is fetched once, for writing.
// CHECK-LABEL: @updated
// CHECK:      nest.prefetch %x[{{%\S+}} + 8] {nestor.write} : memref<?xf32>
// CHECK-NEXT: nest.load
// CHECK-NOT:  nest.prefetch
func.func @updated(%x: memref<?xf32>, %n: index) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "x" %a, %x[%i] : memref<?xf32>
  }
  func.return
}

// -----

// What is loaded and stored is fetched once, to be written; nothing else is left of the buffer's uses.
// CHECK-LABEL: @in_place
// CHECK:      nest.prefetch %x_flat[{{%\S+}} + 8] {nestor.write} : memref<64xf32>
// CHECK-NOT:  nest.prefetch
// CHECK:      nest.store "x"
// SCF-LABEL:  @in_place
// SCF:        memref.prefetch
func.func @in_place(%x: memref<8x8xf32>) {
  %x_flat = memref.collapse_shape %x [[0, 1]] : memref<8x8xf32> into memref<64xf32>
  nest.for "i" %i = 0 to 64 {
    %a = nest.load %x_flat[%i] : memref<64xf32>
    %b = arith.addf %a, %a : f32
    nest.store "x" %b, %x_flat[%i] : memref<64xf32>
  }
  func.return
}
