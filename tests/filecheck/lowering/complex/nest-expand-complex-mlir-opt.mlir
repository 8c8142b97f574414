// REQUIRES: mlir-opt
// mlir-opt knows the operations on complex numbers by the names and forms that are used here.
// RUN: opt-tool %s | mlir-opt | opt-tool | filecheck %s

// CHECK-LABEL: func.func @all
// CHECK: complex.create
// CHECK: complex.pow
// CHECK: complex.neq
func.func @all(%x: f64, %y: f64) -> (complex<f64>, f64, i1) {
  %k = complex.constant [1.0 : f64, -2.0 : f64] : complex<f64>
  %z = complex.create %x, %y : complex<f64>
  %a = complex.add %z, %k : complex<f64>
  %b = complex.sub %a, %z : complex<f64>
  %c = complex.mul %b, %z : complex<f64>
  %d = complex.div %c, %z : complex<f64>
  %e = complex.neg %d : complex<f64>
  %f = complex.conj %e : complex<f64>
  %g = complex.exp %f : complex<f64>
  %h = complex.log %g : complex<f64>
  %i = complex.sqrt %h : complex<f64>
  %j = complex.sin %i : complex<f64>
  %l = complex.cos %j : complex<f64>
  %m = complex.tan %l : complex<f64>
  %n = complex.tanh %m : complex<f64>
  %o = complex.pow %n, %k : complex<f64>
  %p = complex.abs %o : complex<f64>
  %q = complex.re %o : complex<f64>
  %r = complex.im %o : complex<f64>
  %s = arith.addf %p, %q : f64
  %t = arith.addf %s, %r : f64
  %u = complex.eq %o, %z : complex<f64>
  %v = complex.neq %o, %z : complex<f64>
  %w = arith.andi %u, %v : i1
  func.return %o, %t, %w : complex<f64>, f64, i1
}
