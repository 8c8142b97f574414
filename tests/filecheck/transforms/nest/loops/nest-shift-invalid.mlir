// A number is always legal; a loop that is not there and a distance that is no number are not.
// RUN: not opt-tool %S/nest-shift.mlir -p 'nest-shift{loop=q by=1}' --split-input-file 2>&1 | filecheck %s
// RUN: not opt-tool %S/nest-shift.mlir -p 'nest-shift{loop=i by=far}' --split-input-file 2>&1 | filecheck %s --check-prefix=BY

// CHECK: error: unknown loop "q"
// CHECK: help: loops here: i
// BY: error: {{.*}}by
