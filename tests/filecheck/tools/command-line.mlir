// mlir-opt's spellings work; a misspelled option, target or a pass given as an option is answered with a guess.
// RUN: opt-tool -pass-pipeline='builtin.module(cse)' %s --mlir-print-ir-after-all --mlir-print-op-generic 2>&1 | filecheck %s
// RUN: not opt-tool %s --print-ir-after-al 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not opt-tool %s --canonicalize 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not opt-tool %s -t lvm-ir 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not opt-tool %s -p cse{a b=1} 2>&1 | filecheck %s --check-prefix=QUOTE

// CHECK:  IR Dump After cse
// CHECK:  "builtin.module"
// OPTION: opt-tool: error: unrecognized arguments: --print-ir-after-al
// OPTION: help: did you mean --print-ir-after-all
// PASS:   help: 'canonicalize' is a pass: -p canonicalize
// TARGET: error: unknown target 'lvm-ir'
// TARGET: help: did you mean 'llvm-ir'? targets: mlir, llvm-ir
// QUOTE:  help: quote the pipeline for the shell
