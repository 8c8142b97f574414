// REQUIRES: mlir-opt
// mlir-opt reads what amx.mlir is converted to, and what it prints itself.
// RUN: opt-tool %S/amx.mlir -p convert-to-llvm | mlir-opt | mlir-opt -o /dev/null
