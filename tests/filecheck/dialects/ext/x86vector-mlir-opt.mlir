// REQUIRES: mlir-opt
// mlir-opt reads the products of x86vector.mlir, and prints what is read here.
// RUN: opt-tool %S/x86vector.mlir | mlir-opt --mlir-print-op-generic | opt-tool | filecheck %s

// CHECK: x86vector.avx512.dot {{%.*}}, {{%.*}}, {{%.*}} : vector<32xbf16> -> vector<16xf32>
