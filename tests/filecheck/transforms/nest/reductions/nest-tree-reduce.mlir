// The values of a reduction are combined in pairs, in steps that carry no dependence.
// RUN: opt-tool %s -p 'nest-tree-reduce{loop=k}' --split-input-file | filecheck %s

// Eight values: three steps.
// CHECK-LABEL: @sum
// CHECK: [[T:%\S+]] = nest.alloc "s_tree" : memref<8xf32>
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 0 to 8 {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[K]]]
// CHECK-NEXT: nest.store "s" [[A]], [[T]]{{\[}}[[K]]]
// CHECK: nest.for "k.tree" [[J:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[V:%\S+]] = nest.load [[T]]{{\[}}[[J]] + 4]
// CHECK-NEXT: nest.accumulate "s" add [[V]], [[T]]{{\[}}[[J]]] : memref<8xf32>
// CHECK: nest.for "k.tree.1" [[J:%\S+]] = 0 to 2 {
// CHECK-NEXT: [[V:%\S+]] = nest.load [[T]]{{\[}}[[J]] + 2]
// CHECK: nest.for "k.tree.2" [[J:%\S+]] = 0 to 1 {
// CHECK-NEXT: [[V:%\S+]] = nest.load [[T]]{{\[}}[[J]] + 1]
// CHECK-NOT: nest.for
// CHECK: [[V:%\S+]] = nest.load [[T]][0]
// CHECK-NEXT: nest.accumulate "s" add [[V]], %s[]
func.func @sum(%x: memref<8xf32>, %s: memref<f32>) {
  nest.for "k" %k = 0 to 8 {
    %a = nest.load %x[%k] : memref<8xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

// Five values from a start that is not known; a domain: what it leaves out is the identity.
// CHECK-LABEL: @uneven
// CHECK: [[T:%\S+]] = nest.alloc "s_tree" : memref<5xi64>
// CHECK: [[ONE:%\S+]] = arith.constant 1 : i64
// CHECK: nest.for "k" [[K:%\S+]] = %n + 1 to %n + 15 step 3 {
// CHECK-NEXT: nest.store "s" [[ONE]], [[T]]{{\[}}([[K]] - %n - 1) floordiv 3]
// CHECK: nest.accumulate "s" mul {{%\S+}}, [[T]]{{\[}}([[K]] - %n - 1) floordiv 3] where (%k < 30)
// CHECK: nest.for "k.tree" {{%\S+}} = 0 to 2 {
// CHECK-NEXT: nest.load [[T]][{{%\S+}} + 3]
// CHECK: nest.for "k.tree.1" {{%\S+}} = 0 to 1 {
// CHECK-NEXT: nest.load [[T]][{{%\S+}} + 2]
// CHECK: nest.for "k.tree.2" {{%\S+}} = 0 to 1 {
// CHECK-NEXT: nest.load [[T]][{{%\S+}} + 1]
func.func @uneven(%n: index, %x: memref<?xi64>, %s: memref<i64>) {
  nest.for "k" %k = %n + 1 to %n + 15 step 3 {
    %a = nest.load %x[%k] : memref<?xi64>
    nest.accumulate "s" mul %a, %s[] where (%k < 30) : memref<i64>
  }
  func.return
}

// -----

// Sums of columns: a step takes whole rows together.
// CHECK-LABEL: @columns
// CHECK: [[T:%\S+]] = nest.alloc "s_tree"(%m) : memref<2x?xf32>
// CHECK: nest.for "k" [[K:%\S+]] = 0 to 2 {
// CHECK-NEXT: nest.for "k.init.ax0" [[A:%\S+]] = 0 to %m {
// CHECK-NEXT: nest.store "s" {{%\S+}}, [[T]]{{\[}}[[K]], [[A]]]
// CHECK: nest.accumulate "s" add {{%\S+}}, [[T]]{{\[}}[[K]], %j]
// CHECK: nest.for "k.tree" [[J:%\S+]] = 0 to 1 {
// CHECK-NEXT: nest.for "k.tree.ax0" [[A:%\S+]] = 0 to %m {
// CHECK-NEXT: [[V:%\S+]] = nest.load [[T]]{{\[}}[[J]] + 1, [[A]]]
// CHECK-NEXT: nest.accumulate "s" add [[V]], [[T]]{{\[}}[[J]], [[A]]]
// CHECK: nest.for "k.total.ax0" [[A:%\S+]] = 0 to %m {
// CHECK-NEXT: [[V:%\S+]] = nest.load [[T]][0, [[A]]]
// CHECK-NEXT: nest.accumulate "s" add [[V]], %s{{\[}}[[A]]]
func.func @columns(%x: memref<2x?xf32>, %s: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %s, %c0 : memref<?xf32>
  nest.for "k" %k = 0 to 2 {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%k, %j] : memref<2x?xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf32>
    }
  }
  func.return
}

// -----

// A mask: where it is not set the value is the identity.
// CHECK-LABEL: @masked
// CHECK: [[Z:%\S+]] = arith.constant -0.000000e+00 : f32
// CHECK: nest.for "k" [[K:%\S+]] = 0 to 2 {
// CHECK-NEXT: nest.store "s" [[Z]], [[T:%\S+]]{{\[}}[[K]]]
// CHECK: nest.accumulate "s" add {{%\S+}}, [[T]]{{\[}}[[K]]] mask {{%\S+}}
func.func @masked(%x: memref<2xf32>, %z: f32, %s: memref<f32>) {
  nest.for "k" %k = 0 to 2 {
    %a = nest.load %x[%k] : memref<2xf32>
    %c = arith.cmpf ogt, %a, %z : f32
    nest.accumulate "s" add %a, %s[] mask %c : memref<f32>
  }
  func.return
}
