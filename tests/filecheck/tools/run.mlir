// `--run` runs a nest-level function by the reference interpreter, on given inputs or on generated ones.
// RUN: rm -rf %t && mkdir %t
// RUN: python -c "import numpy as np; np.save('%t/x.npy', np.arange(6, dtype=np.float32).reshape(2, 3))"
// RUN: opt-tool %s --run --entry=scaled --input %t/x.npy --input 0.5 | filecheck %s --check-prefix=GIVEN
// RUN: opt-tool %s --run --entry=scaled -p 'nest-parallel{loop=i func=scaled}' --input %t/x.npy --input 0.5 --mode=shuffled --seed=3 | filecheck %s --check-prefix=GIVEN
// RUN: opt-tool %s --run --entry=scaled --extents n=1,m=4 | filecheck %s --check-prefix=MADE
// RUN: opt-tool %s --run --entry=scaled --input %t/x.npy --input 0.5 -o %t/out.npz | filecheck %s --allow-empty --check-prefix=NOTHING
// RUN: python -c "import numpy as np; a = np.load('%t/out.npz'); print(a.files, a['total'])" | filecheck %s --check-prefix=FILE
// RUN: opt-tool %s --run --entry=count --input 5 -o %t/k.npy && python -c "import numpy as np; print(np.load('%t/k.npy'))" | filecheck %s --check-prefix=COUNT
// RUN: opt-tool %s --run --entry=nothing | filecheck %s --check-prefix=NONE

// GIVEN:      y = array([{{\[}}0. , 0.5, 1. ],
// GIVEN-NEXT:            [1.5, 2. , 2.5]], dtype=float32)
// GIVEN-NEXT: total = array(15., dtype=float32)

// MADE:       y = array({{\[\[.*, .*, .*, .*\]\]}}, dtype=float32)
// MADE-NEXT:  total = array({{.*}}, dtype=float32)

// NOTHING-NOT: {{.}}
// FILE: ['y', 'total'] 15.0
// COUNT: [0 2 4 6 8]
// NONE: no buffer is written
func.func @scaled(%x: memref<?x?xf32> {nest.dims = ["n", "m"]}, %s: f32,
                  %y: memref<?x?xf32> {nest.role = "out", nest.dims = ["n", "m"]},
                  %total: memref<f32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      %b = arith.mulf %a, %s : f32
      nest.store "y" %b, %y[%i, %j] : memref<?x?xf32>
    }
  }
  nest.store "total" %zero, %total[] : memref<f32>
  nest.for "k" %k = 0 to %n {
    nest.for "l" %l = 0 to %m {
      %a = nest.load %x[%k, %l] : memref<?x?xf32>
      nest.accumulate "total" add %a, %total[] : memref<f32>
    }
  }
  func.return
}

func.func @count(%step: i64, %k: memref<5xi64> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 5 {
    %v = arith.index_cast %i : index to i64
    %two = arith.constant 2 : i64
    %w = arith.muli %v, %two : i64
    nest.store "k" %w, %k[%i] : memref<5xi64>
  }
  func.return
}

func.func @nothing(%x: memref<3xf32>) {
  func.return
}
