// The GPU that is scheduled for: a name of analysis/machine.py, or the same with other multiprocessors.
// RUN: opt-tool %s -p nest-schedule-cuda --machine=h100 | filecheck %s --check-prefix=LARGE
// RUN: opt-tool %s -p nest-schedule-cuda | filecheck %s --check-prefix=LARGE
// RUN: opt-tool %s -p nest-schedule-cuda{machine=l4} | filecheck %s --check-prefix=SMALL
// RUN: opt-tool %s -p 'nest-schedule-cuda{multiprocessors=58}' --machine=rtx4090 | filecheck %s --check-prefix=SMALL
// RUN: not opt-tool %s -p nest-schedule-cuda --machine=rtx409 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not opt-tool %s -p nest-schedule-cuda{machine=zen4} 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not opt-tool %s -p nest-schedule-cuda{multiprocessors=0} 2>&1 | filecheck %s --check-prefix=NONE

// Blocks of the reduction are eight for each multiprocessor, a power of two of these.
// LARGE-LABEL: func.func @total
// LARGE:       nest.for {{.*}} = 0 to 1024 bind "block.x"
// SMALL-LABEL: func.func @total
// SMALL:       nest.for {{.*}} = 0 to 256 bind "block.x"
// UNKNOWN: error: --machine: there is no machine 'rtx409'
// UNKNOWN-NEXT: help: did you mean 'rtx4090'?
// KIND: error: pass 'nest-schedule-cuda': the machine 'zen4' is a CPU, and a GPU is wanted
// KIND: help: GPUs: a100, {{.*}}
// NONE: error: multiprocessors is 0; a positive number is expected
func.func @total(%x: memref<100000000xf32>, %y: memref<f32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.store "y" %zero, %y[] : memref<f32>
  nest.for "i" %i = 0 to 100000000 {
    %a = nest.load %x[%i] : memref<100000000xf32>
    nest.accumulate "y" add %a, %y[] : memref<f32>
  }
  func.return
}
