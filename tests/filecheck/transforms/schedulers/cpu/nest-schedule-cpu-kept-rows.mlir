// Sums of columns of a narrow matrix: the sums of a row are registers, and rows are read in order. 100 doubles are 13 registers.
// RUN: opt-tool %s -p 'nest-schedule-cpu{threads=1 vector-bits=512 registers=32}' | filecheck %s

// CHECK-LABEL: func.func @narrow
// CHECK:         nest.for "j" %j = 0 to 100 vectorized(104) {
// CHECK:           nest.for "i" %i = 0 to 5000 {
// CHECK:             nest.accumulate "s" add %{{.*}}, %s_acc[%j]
func.func @narrow(%x: memref<5000x100xf64>, %s: memref<100xf64>) {
  nest.for "i" %i = 0 to 5000 {
    nest.for "j" %j = 0 to 100 {
      %a = nest.load %x[%i, %j] : memref<5000x100xf64>
      nest.accumulate "s" add %a, %s[%j] : memref<100xf64>
    }
  }
  func.return
}

// More than half of the registers: a few columns, and a few rows, at a time.
// CHECK-LABEL: func.func @wide
// CHECK:         nest.for "i.o"
// CHECK:           nest.for "j.o"
func.func @wide(%x: memref<5000x200xf64>, %s: memref<200xf64>) {
  nest.for "i" %i = 0 to 5000 {
    nest.for "j" %j = 0 to 200 {
      %a = nest.load %x[%i, %j] : memref<5000x200xf64>
      nest.accumulate "s" add %a, %s[%j] : memref<200xf64>
    }
  }
  func.return
}

// Two sums for each column, and a mean: three values of 13 registers.
// CHECK-LABEL: func.func @several
// CHECK:         nest.for "i.o"
func.func @several(%x: memref<5000x100xf64>, %mean: memref<100xf64>, %s: memref<100xf64>, %q: memref<100xf64>) {
  nest.for "i" %i = 0 to 5000 {
    nest.for "j" %j = 0 to 100 {
      %a = nest.load %x[%i, %j] : memref<5000x100xf64>
      %m = nest.load %mean[%j] : memref<100xf64>
      %d = arith.subf %a, %m : f64
      %e = arith.mulf %d, %d : f64
      nest.accumulate "s" add %d, %s[%j] : memref<100xf64>
      nest.accumulate "q" add %e, %q[%j] : memref<100xf64>
    }
  }
  func.return
}
