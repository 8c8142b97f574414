// Primitives on reductions as steps: parts in parallel, their totals by a tree, each part's sum in a register.
// RUN: opt-tool %s -p apply-schedule | filecheck %s

// CHECK-LABEL: func.func @sum
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 8 parallel {
// CHECK: [[R:%\S+]] = nest.alloc "s_parts_acc" : memref<i64, 5 : i64>
// CHECK: nest.for "i" {{%\S+}} = [[P]] + 3 to %n step 8 {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[R]][]
// CHECK: nest.for "i.combine" [[C:%\S+]] = 0 to 8 {
// CHECK: nest.store "s" {{%\S+}}, [[T:%\S+]]{{\[}}[[C]]] : memref<8xi64>
// CHECK: nest.for "i.combine.tree" {{%\S+}} = 0 to 4 vectorized(4) {
// CHECK: nest.for "i.combine.tree.1" {{%\S+}} = 0 to 2 vectorized(4) {
// CHECK: nest.for "i.combine.tree.2" {{%\S+}} = 0 to 1 vectorized(4) {
// CHECK: nest.load [[T]][0]
// CHECK-NEXT: nest.accumulate "s" add {{%\S+}}, %s[]
func.func @sum(%n: index, %x: memref<?xi64>, %s: memref<i64>) {
  nest.for "i" %i = 3 to %n {
    %a = nest.load %x[%i] : memref<?xi64>
    nest.accumulate "s" add %a, %s[] : memref<i64>
  }
  func.return
}

schedule.sequence @reductions for @sum {
  %i = schedule.match loops ["i"]
  %p, %c = schedule.privatise %i into 8 share(cyclic)
  schedule.parallel %p
  %steps = schedule.tree_reduce %c
  %v = schedule.vectorize %steps by 4
  %parts = schedule.match buffers ["s_parts"]
  %r = schedule.registerise %parts in %i
}
