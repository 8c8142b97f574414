// Wrong counts, types, shapes and values of inputs, and options that do not go together, are diagnostics.
// RUN: rm -rf %t && mkdir %t
// RUN: python -c "import numpy as np; np.save('%t/x.npy', np.ones(4, np.float32)); np.save('%t/d.npy', np.ones(4)); np.save('%t/m.npy', np.ones((4, 1), np.float32)); np.save('%t/p.npy', np.ones(3, np.float32)); np.savez('%t/z.npz', np.ones(4)); np.save('%t/o.npy', np.array([None]))"
// RUN: not opt-tool %s --run 2>&1 | filecheck %s --check-prefix=SEVERAL
// RUN: not opt-tool %s --run --entry=h 2>&1 | filecheck %s --check-prefix=ENTRY
// RUN: not opt-tool %s --run --entry=f --input %t/x.npy 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not opt-tool %s --run --entry=f --input %t/d.npy --input %t/x.npy --input 1 2>&1 | filecheck %s --check-prefix=DTYPE
// RUN: not opt-tool %s --run --entry=f --input %t/m.npy --input %t/x.npy --input 1 2>&1 | filecheck %s --check-prefix=RANK
// RUN: not opt-tool %s --run --entry=f --input %t/x.npy --input %t/p.npy --input 1 2>&1 | filecheck %s --check-prefix=NAMED
// RUN: not opt-tool %s --run --entry=g --input %t/x.npy 2>&1 | filecheck %s --check-prefix=STATIC
// RUN: not opt-tool %s --run --entry=f --input %t/x.npy --input %t/x.npy --input one 2>&1 | filecheck %s --check-prefix=SCALAR
// RUN: not opt-tool %s --run --entry=f --input %t/x.npy --input %t/x.npy --input %t/x.npy 2>&1 | filecheck %s --check-prefix=ARRAY
// RUN: not opt-tool %s --run --entry=f --input %t/no.npy --input %t/x.npy --input 1 2>&1 | filecheck %s --check-prefix=READ
// RUN: not opt-tool %s --run --entry=f --input %s --input %t/x.npy --input 1 2>&1 | filecheck %s --check-prefix=NPY
// RUN: not opt-tool %s --run --entry=f --input %t/o.npy --input %t/x.npy --input 1 2>&1 | filecheck %s --check-prefix=NPY
// RUN: not opt-tool %s --run --entry=f --input %t/z.npz --input %t/x.npy --input 1 2>&1 | filecheck %s --check-prefix=NPZ
// RUN: not opt-tool %s --run --entry=f --input %t/x.npy --input %t/x.npy --input 1 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not opt-tool %s --run --entry=f --extents k=4 2>&1 | filecheck %s --check-prefix=EXTENT
// RUN: not opt-tool %s --run --entry=f -o %t/r.npy 2>&1 | filecheck %s --check-prefix=ONE
// RUN: not opt-tool %s --run --entry=tensors 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not opt-tool %s --run --entry=checked 2>&1 | filecheck %s --check-prefix=CHECK
// RUN: not opt-tool %s --run --entry=outside 2>&1 | filecheck %s --check-prefix=TRAP
// RUN: not opt-tool %s --run --extents n 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not opt-tool %s --run --mode=random 2>&1 | filecheck %s --check-prefix=MODE
// RUN: not opt-tool %s --run -t llvm-ir 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not opt-tool %s --run --split-input-file -o %t/r.npy 2>&1 | filecheck %s --check-prefix=SPLIT
// RUN: not opt-tool %s --input %t/x.npy 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not opt-tool %s --seed 0 2>&1 | filecheck %s --check-prefix=SEED

// SEVERAL: error: --run: the module has several functions
// SEVERAL: help: choose one by --entry: f, g, tensors
// ENTRY:   error: --run: unknown function "h"
// COUNT:   error: --run: 1 inputs given for 3
// COUNT:   help: inputs of @f, in this order: x, y, s
// DTYPE:   error: --run: argument %x is memref<?xf32>: it takes float32, '{{.*}}d.npy' holds float64
// RANK:    error: --run: argument %x has 1 dimensions, '{{.*}}m.npy' has 2
// NAMED:   error: --run: argument %y has extent n = 4 along axis 0, '{{.*}}p.npy' has 3
// STATIC:  error: --run: argument %x has extent 5 along axis 0, '{{.*}}x.npy' has 4
// SCALAR:  error: --run: argument %s is i32: 'one' is not a value of it
// SCALAR:  help: give a number
// ARRAY:   error: --run: argument %s is i32: '{{.*}}x.npy' holds float32 of shape (4,)
// READ:    error: cannot read input '{{.*}}no.npy': No such file
// NPY:     error: input '{{.*}}' is not an .npy file of numbers
// NPZ:     error: input '{{.*}}z.npz' holds several arrays
// UNKNOWN: error: --run: argument %out has an extent along axis 0 that no input tells
// UNKNOWN: help: say it: --extents m=...
// EXTENT:  error: --extents: there is no extent 'k'
// EXTENT:  help: extents: m, n, out.0, x.0, y.0
// ONE:     error: an .npy file holds one result, there are 2: y, out
// LEVEL:   error: --run: @tensors is not at the nest level
// LEVEL:   help: lower it first: -p convert-nt-to-nest
// CHECK:   {{:[0-9]+:[0-9]+}}: error: IndexError: index 8 is out of bounds for an axis of 8
// TRAP:    error: 'nest.load' at [8] is out of bounds
// SYNTAX:  error: argument --extents: 'n' is not an extent: write n=5,m=7
// MODE:    error: argument --mode: invalid choice: 'random'
// TARGET:  error: --run and -t exclude each other
// SPLIT:   error: --split-input-file has several results
// ALONE:   error: --input goes with --run or -t cuda-sim-report
// SEED:  error: --seed goes with --run or -t cuda-sim-report
func.func @f(%x: memref<?xf32> {nest.dims = ["n"]}, %y: memref<?xf32> {nest.dims = ["n"], nest.role = "inout"}, %s: i32,
             %out: memref<?xf32> {nest.role = "out", nest.dims = ["m"]}) {
  func.return
}

func.func @g(%x: memref<5xf32>) {
  func.return
}

func.func @tensors(%x: tensor<4xf32>) {
  func.return
}

func.func @checked(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %k = nest.index %i + 1 of %n axis 0 of "x"
    %v = nest.load %x[%k] : memref<?xf32>
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}

func.func @outside(%x: memref<?xf32>) {
  nest.for "i" %i = 0 to 9 {
    %v = nest.load %x[%i] : memref<?xf32>
    nest.store "x" %v, %x[%i] : memref<?xf32>
  }
  func.return
}
