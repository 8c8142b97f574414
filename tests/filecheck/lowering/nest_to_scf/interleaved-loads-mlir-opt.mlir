// REQUIRES: mlir-opt
// mlir-opt reads the vectors and shuffles that interleaved-loads.mlir is converted to.
// RUN: opt-tool %S/interleaved-loads.mlir --split-input-file -p convert-nest-to-scf | mlir-opt --split-input-file -o /dev/null
