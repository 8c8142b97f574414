// Plain `xdsl-opt` knows Nestor's dialects and passes through the `xdsl.universe` entry point.
// RUN: xdsl-opt --help | filecheck %s --check-prefix=HELP
// RUN: xdsl-opt %s --print-op-generic | filecheck %s

// HELP:  nest-split
// CHECK: "nest.for"
func.func @f(%x: memref<8xf32>) {
  nest.for "i" %i = 0 to 8 {
  }
  func.return
}
