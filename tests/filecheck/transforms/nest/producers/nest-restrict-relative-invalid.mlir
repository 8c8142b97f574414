// What cannot be restricted together says why, and nothing is changed.
// RUN: not opt-tool %s -p 'nest-restrict-relative{func=squares update=i relative=k}' 2>&1 | filecheck %s --check-prefix=CANCEL

// Squares of differences from a maximum may cancel.
// CANCEL: error: cannot restrict "i" with "k", relative to it: differences from a maximum or minimum cancel where they are shifted
func.func @squares(%x: memref<?xf64> {nest.dims = ["n"]}, %q: memref<f64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %none = arith.constant 0xfff0000000000000 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %s = nest.alloc "s" : memref<f64>
  nest.store "s" %none, %s[] : memref<f64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "s" maximum %a, %s[] : memref<f64>
  }
  nest.store "q" %zero, %q[] : memref<f64>
  nest.for "k" %k = 0 to %n {
    %a = nest.load %x[%k] : memref<?xf64>
    %b = nest.load %s[] : memref<f64>
    %d = arith.subf %a, %b : f64
    %e = arith.mulf %d, %d : f64
    nest.accumulate "q" add %e, %q[] : memref<f64>
  }
  func.return
}
