// RUN: opt-tool %s -p 'nest-privatise{loop=i parts=4}' | filecheck %s
// RUN: opt-tool %s -p 'nest-privatise{loop=i parts=4 share=cyclic}' | filecheck %s

// Elements that are shared out to threads: the total is taken where the loop runs, as the reduction is.
// CHECK-LABEL: @threads
// CHECK: nest.for "i.combine"
// CHECK: nest.accumulate "s" add {{%\S+}}, %s[%r] where (%r < 5, %n >= 1) : memref<?xi64>
func.func @threads(%n: index, %x: memref<?x?xi64>, %s: memref<?xi64>) {
  nest.for "r" %r = 0 to 9 parallel {
    nest.for "i" %i = 0 to %n {
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[%r, 4 * %i + %v] : memref<?x?xi64>
        nest.accumulate "s" add %a, %s[%r] where (%r < 5) : memref<?xi64>
      }
    }
  }
  func.return
}
