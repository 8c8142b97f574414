// A schedule file is applied by name and with other parameters; the flag is the pass before the others.
// RUN: opt-tool %s -p 'apply-schedule{file=%S/Inputs/copy.mlir sequence=cpu}' | filecheck %s --check-prefixes=CHECK,SIXTEEN
// RUN: opt-tool %s -p 'apply-schedule{file=%S/Inputs/copy.mlir sequence=cpu params="T=8"}' | filecheck %s --check-prefixes=CHECK,EIGHT
// RUN: opt-tool %s -p 'apply-schedule{file=%S/Inputs/copy.mlir sequence=columns}' | filecheck %s --check-prefix=COLUMNS
// RUN: opt-tool %s --apply-schedule=%S/Inputs/own.mlir -p 'nest-split{loop=j factor=2 tail=mask}' | filecheck %s --check-prefix=FLAG

// CHECK-LABEL: func.func @copy
func.func @copy(%x: memref<100x100xf32>, %y: memref<100x100xf32>) {
  // SIXTEEN: nest.for "i_j.o" %[[O:.*]] = 0 to 625 parallel {
  // SIXTEEN-NEXT: nest.for "i_j.i" %[[I:.*]] = 0 to 16 vectorized(16) {
  // EIGHT: nest.for "i_j.o" %[[O:.*]] = 0 to 1250 parallel {
  // EIGHT-NEXT: nest.for "i_j.i" %[[I:.*]] = 0 to 8 vectorized(8) {
  // COLUMNS: nest.for "j"
  // COLUMNS-NEXT: nest.for "i"
  // FLAG: nest.for "j.o"
  // FLAG-NEXT: nest.for "j.i" %{{.*}} = 0 to 2 {
  // FLAG-NEXT: nest.for "i"
  nest.for "i" %i = 0 to 100 {
    nest.for "j" %j = 0 to 100 {
      %v = nest.load %x[%i, %j] : memref<100x100xf32>
      nest.store "y" %v, %y[%i, %j] : memref<100x100xf32>
    }
  }
  func.return
}
