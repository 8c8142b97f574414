// Orders of axes, memory spaces and names that nest-cache-read does not take.
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=w loop=i axes=0,0}' 2>&1 | filecheck %s --check-prefix=AXES
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=w loop=i space=fast}' 2>&1 | filecheck %s --check-prefix=SPACE
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=w loop=i space=shared}' 2>&1 | filecheck %s --check-prefix=SYMBOLIC
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=v loop=i}' 2>&1 | filecheck %s --check-prefix=NAME

// AXES: error: cannot cache what is read of the buffer "w" in the loop "i": axes=0, 0 is not an order of the buffer's 2 axes
// SPACE: error: option 'space' of pass 'nest-cache-read' expects one of 'global', 'shared', 'local', got 'fast'
// SYMBOLIC: error: cannot cache what is read of the buffer "w" in the loop "i": a buffer in shared memory has constant extents
// NAME: error: unknown buffer "v"
// NAME: help: buffers here: w, y
func.func @rows(%w: memref<8x?xf32> {nest.dims = [8, "m"]}, %y: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %m = memref.dim %w, %c1 : memref<8x?xf32>
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %w[%i, %j] : memref<8x?xf32>
      nest.accumulate "y" add %a, %y[%i] : memref<8xf32>
    }
  }
  func.return
}
