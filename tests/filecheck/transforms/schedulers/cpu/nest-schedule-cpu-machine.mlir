// The machine that is scheduled for: a name of analysis/machine.py, whose fields other options replace.
// RUN: opt-tool %s -p nest-schedule-cpu --machine=zen5 | filecheck %s --check-prefix=WIDE
// RUN: opt-tool %s -p nest-schedule-cpu --machine=skylake | filecheck %s --check-prefix=AVX2
// RUN: opt-tool %s -p nest-schedule-cpu{machine=x86-64} | filecheck %s --check-prefix=SSE
// RUN: opt-tool %s -p 'nest-schedule-cpu{vector-bits=512 registers=32}' --machine=x86-64 | filecheck %s --check-prefix=WIDE
// RUN: opt-tool %s -p nest-schedule-cpu --machine=sapphire-rapids --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not opt-tool %s -p nest-schedule-cpu --machine=skylark 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not opt-tool %s -p nest-schedule-cpu{machine=h100} 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not opt-tool %s -p nest-schedule-cpu --machine=h100 2>&1 | filecheck %s --check-prefix=UNUSED

// A row of a tile takes two vectors, and all but four registers hold sums.
// WIDE-LABEL: func.func @product
// WIDE:       nest.for "i.i.i" %{{.*}} = 0 to 13 unrolled
// WIDE-NEXT:    nest.for "j.i" %{{.*}} = 0 to 32 vectorized(32)
// AVX2-LABEL: func.func @product
// AVX2:       nest.for "i.i.i" %{{.*}} = 0 to 6 unrolled
// AVX2-NEXT:    nest.for "j.i" %{{.*}} = 0 to 16 vectorized(16)
// SSE-LABEL:  func.func @product
// SSE:        nest.for "i.i.i" %{{.*}} = 0 to 6 unrolled
// SSE-NEXT:     nest.for "j.i" %{{.*}} = 0 to 8 vectorized(8)
// PIPELINE: Pass pipeline: builtin.module(nest-schedule-cpu{machine=sapphire-rapids})
// UNKNOWN: error: --machine: there is no machine 'skylark'
// UNKNOWN-NEXT: help: did you mean 'skylake'? CPUs: x86-64, {{.*}}; GPUs: a100, {{.*}}; host is this processor
// KIND: error: pass 'nest-schedule-cpu': the machine 'h100' is a GPU, and a CPU is wanted
// KIND: help: CPUs: x86-64, {{.*}}
// UNUSED: error: --machine=h100: no pass of this pipeline, and no target, is for a GPU
func.func @product(%a: memref<520x256xf32>, %b: memref<256x512xf32>, %c: memref<520x512xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i.0" %i = 0 to 520 {
    nest.for "j.0" %j = 0 to 512 {
      nest.store "c" %zero, %c[%i, %j] : memref<520x512xf32>
    }
  }
  nest.for "i" %i = 0 to 520 {
    nest.for "j" %j = 0 to 512 {
      nest.for "k" %k = 0 to 256 {
        %x = nest.load %a[%i, %k] : memref<520x256xf32>
        %y = nest.load %b[%k, %j] : memref<256x512xf32>
        %p = arith.mulf %x, %y : f32
        nest.accumulate "c" add %p, %c[%i, %j] : memref<520x512xf32>
      }
    }
  }
  func.return
}
