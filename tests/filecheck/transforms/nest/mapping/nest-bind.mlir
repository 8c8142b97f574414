// A grid of a number of blocks that is known at launch, blocks of a constant number of threads.
// RUN: opt-tool %s -p 'nest-bind{loop=o axis=block.x},nest-bind{loop=v axis=thread.x}' --split-input-file | filecheck %s

// CHECK-LABEL: @f
// CHECK: nest.for "o" %o = 0 to %n ceildiv 256 bind "block.x" {
// CHECK-NEXT: nest.for "v" %v = 0 to 256 bind "thread.x" {
// CHECK: nest.for "k" %k = 0 to 10 {
func.func @f(%x: memref<?xf32> {nest.dims = ["n"]}, %y: memref<?xf32> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "o" %o = 0 to %n ceildiv 256 {
    nest.for "v" %v = 0 to 256 {
      %s = nest.alloc "s" : memref<f32>
      nest.for "k" %k = 0 to 10 {
        %a = nest.load %x[256 * %o + %v] : memref<?xf32>
        nest.accumulate "s" add %a, %s[] : memref<f32>
      }
      %t = nest.load %s[] : memref<f32>
      nest.store "y" %t, %y[256 * %o + %v] where (256 * %o + %v < %n) : memref<?xf32>
    }
  }
  func.return
}

// -----

// Loops that start elsewhere stay so: 40 threads, of numbers from 3 to 42.
// CHECK-LABEL: @shifted
// CHECK: nest.for "o" %o = 2 to %n bind "block.x" {
// CHECK-NEXT: nest.for "v" %v = 3 to 43 bind "thread.x" {
func.func @shifted(%a: f32, %n: index, %y: memref<?x50xf32> {nest.role = "out"}) {
  nest.for "o" %o = 2 to %n {
    nest.for "v" %v = 3 to 43 {
      nest.store "y" %a, %y[%o, %v] : memref<?x50xf32>
    }
  }
  func.return
}
