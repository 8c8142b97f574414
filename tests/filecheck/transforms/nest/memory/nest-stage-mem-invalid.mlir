// Windows that cannot be staged, and texts that are no windows.
// RUN: not opt-tool %s -p 'nest-stage-mem{buffer=x loop=i window="i:i+2, 0:4"}' 2>&1 | filecheck %s --check-prefix=SMALL
// RUN: not opt-tool %s -p 'nest-stage-mem{buffer=x loop=i window="i:i+3"}' 2>&1 | filecheck %s --check-prefix=RANK
// RUN: not opt-tool %s -p 'nest-stage-mem{buffer=x loop=i window="j:j+3, 0:4"}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not opt-tool %s -p 'nest-stage-mem{buffer=x loop=i window="i:i+3, 0:4 5"}' 2>&1 | filecheck %s --check-prefix=END
// RUN: not opt-tool %s -p 'nest-stage-mem{buffer=x loop=i window="i:, 0:4"}' 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not opt-tool %s -p 'nest-stage-mem{buffer=y loop=i}' 2>&1 | filecheck %s --check-prefix=UNUSED

// SMALL: nest-stage-mem-invalid.mlir:{{.*}}: error: cannot stage the buffer "x" in the loop "i": an access is not proved to be in the window along axis 0
// SMALL: note: the access is here
// SMALL-NEXT: nest.load %x[%i + 2, %j]
// RANK: error: bad window: 1 ranges for the 2 axes of the buffer
// NAME: error: bad window: unknown name "j"; known here: n, i
// NAME: help: j:j+3, 0:4
// NAME-NEXT: {{^}}        ^
// END: error: bad window: expected ',' or the end
// EMPTY: error: bad window: expected a name, a number or '('
// UNUSED: error: cannot stage the buffer "y" in the loop "i": nothing in the loop reads it
func.func @f(%n: index, %x: memref<10x4xf32>, %y: memref<f32>) {
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[%i, %j] : memref<10x4xf32>
      %b = nest.load %x[%i + 2, %j] : memref<10x4xf32>
      %c = arith.addf %a, %b : f32
      nest.store "x" %c, %x[%i + 1, %j] : memref<10x4xf32>
    }
  }
  func.return
}
