// Loops and branches on tensors become loops and branches over buffers; what is carried is updated in place.
// RUN: opt-tool %s -p convert-nt-to-nest --split-input-file | filecheck %s

// A carried tensor has one buffer, and a turn writes its new contents over the old ones.
// CHECK-LABEL: func.func @rnn
// CHECK-SAME: [[H:%h]]: memref<4xf32> {nest.role = "out"
// CHECK-SAME: [[OUT:%out]]: memref<?x4xf32> {nest.role = "out"
// CHECK-NOT: nest.alloc
// CHECK: nest.for "t" [[T:%t]] = 0 to %n {
// CHECK-NEXT:   nest.for {{.*}} [[I:%i.*]] = 0 to 4 {
// CHECK:          nest.load [[H]][[[I]]]
// CHECK:          nest.load %xs[[[T]], [[I]]]
// CHECK:          nest.store "h1" {{.*}}, [[H]][[[I]]]
// CHECK:        nest.for
// CHECK:          nest.store "out" {{.*}}, [[OUT]][[[T]], %j
// CHECK-NOT: "copy"
// CHECK: func.return
func.func @rnn(%xs: tensor<?x4xf32> {nt.dims = ["n", 4]}, %h0: tensor<4xf32> {nt.dims = [4]}) -> (tensor<4xf32> {nt.dims = [4]}, tensor<?x4xf32> {nt.dims = ["n", 4]}) {
  %n = nt.dim %xs[0] : tensor<?x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = nt.constant dense<0.0> : tensor<f32>
  %out0 = nt.broadcast %z along [] sizes(%n) : tensor<f32> -> tensor<?x4xf32>
  %h, %out = scf.for %t = %c0 to %n step %c1 iter_args(%hh = %h0, %o = %out0) -> (tensor<4xf32>, tensor<?x4xf32>) {
    %h1 = nt.fusion "h1" {
      %x = nt.slice %xs[%t, 0] strides [1, 1] : tensor<?x4xf32> -> tensor<1x4xf32>
      %x1 = nt.reshape %x : tensor<1x4xf32> -> tensor<4xf32>
      %b = nt.add %hh, %x1 : tensor<4xf32>
      %t1 = nt.tanh %b : tensor<4xf32>
      nt.yield %t1 : tensor<4xf32>
    } : tensor<4xf32>
    %o1 = nt.loops ins(%h1 : tensor<4xf32>) outs(%o : tensor<?x4xf32>) {
    ^bb0(%hm: memref<4xf32>, %om: memref<?x4xf32>):
      nest.for "j" %j = 0 to 4 {
        %v = nest.load %hm[%j] : memref<4xf32>
        nest.store "out" %v, %om[%t, %j] : memref<?x4xf32>
      }
    }
    scf.yield %h1, %o1 : tensor<4xf32>, tensor<?x4xf32>
  }
  func.return %h, %out : tensor<4xf32>, tensor<?x4xf32>
}

// -----

// What a turn still needs of the old contents is kept: two values that change places go through a third buffer.
// CHECK-LABEL: func.func @swap
// CHECK: [[KEPT:%.*]] = nest.alloc
// CHECK: nest.for "t"
// CHECK:   nest.store "copy" {{.*}}, [[KEPT]]
func.func @swap(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x, %y = scf.for %t = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %q, %p : tensor<4xf32>, tensor<4xf32>
  }
  func.return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// A `scf.while` stays, without operands: both its regions read the buffers.
// CHECK-LABEL: func.func @halve
// CHECK-SAME: [[R:%r]]: memref<f64> {nest.role = "out"}
// CHECK: scf.while () : () -> () {
// CHECK-NEXT: [[X:%.*]] = nest.load [[R]][]
// CHECK: scf.condition(
// CHECK: } do {
// CHECK-NEXT: nest.load [[R]][]
// CHECK: nest.store "h" {{.*}}, [[R]][]
func.func @halve(%a: tensor<f64>) -> tensor<f64> {
  %one = nt.constant dense<1.0> : tensor<f64>
  %half = nt.constant dense<0.5> : tensor<f64>
  %r = scf.while (%x = %a) : (tensor<f64>) -> (tensor<f64>) {
    %c = nt.greater %x, %one : tensor<f64>
    %s = nt.to_scalar %c : tensor<i1> -> i1
    scf.condition(%s) %x : tensor<f64>
  } do {
  ^bb0(%x: tensor<f64>):
    %h = nt.multiply %x, %half : tensor<f64>
    scf.yield %h : tensor<f64>
  }
  func.return %r : tensor<f64>
}

// -----

// A side that updates in place writes the buffer it starts from; the other side has nothing to do.
// CHECK-LABEL: func.func @mark
// CHECK-SAME: [[Y:%y]]: memref<4xf32> {nest.role = "out"}
// CHECK: nest.if %c {
// CHECK-NEXT: [[ONE:%.*]] = arith.constant
// CHECK-NEXT: nest.store "y" [[ONE]], [[Y]][0]
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @mark(%c: i1) -> tensor<4xf32> {
  %zero = nt.constant dense<0.0> : tensor<f32>
  %z = nt.fusion "z" {
    %0 = nt.broadcast %zero along [] : tensor<f32> -> tensor<4xf32>
    nt.yield %0 : tensor<4xf32>
  } : tensor<4xf32>
  %y = scf.if %c -> (tensor<4xf32>) {
    %y1 = nt.loops ins() outs(%z : tensor<4xf32>) {
    ^bb0(%m: memref<4xf32>):
      %one = arith.constant 1.0 : f32
      nest.store "y" %one, %m[0] : memref<4xf32>
    }
    scf.yield %y1 : tensor<4xf32>
  } else {
    scf.yield %z : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// A carried array has the unknown extents of what the loop starts from, also where nothing else in the loop says them.
// CHECK-LABEL: func.func @sums
// CHECK: [[N:%.*]] = memref.dim %x
// CHECK: nest.for "k"
// CHECK: nest.for "i.1" {{%.*}} = 0 to [[N]] {
// CHECK: nest.accumulate
func.func @sums(%x: tensor<?xf32> {nt.dims = ["n"]}, %limit: tensor<f32>, %n: index) -> (tensor<?xf32> {nt.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<?xf32>) {
    %s = nt.reduce add %t over [0] : tensor<?xf32> -> tensor<f32>
    %more = nt.less %s, %limit : tensor<f32>
    %c = nt.to_scalar %more : tensor<i1> -> i1
    %u = scf.if %c -> (tensor<?xf32>) {
      %d = nt.add %t, %t : tensor<?xf32>
      scf.yield %d : tensor<?xf32>
    } else {
      scf.yield %t : tensor<?xf32>
    }
    scf.yield %u : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}

// -----

// The islands of a body whose arrays end in one another's buffers: an update in place is not overwritten by what is
// computed after it, for it is read once more.
// CHECK-LABEL: func.func @updated_then_exchanged
// CHECK:       nest.for "k"
// CHECK:         nest.store "v" {{%.*}}, [[V:%.*]][
// CHECK-NOT:     nest.store "copy" {{%.*}}, [[V]][
// CHECK:         nest.store "u" {{%.*}}, [[U:%.*]][
// CHECK-DAG:     nest.store "copy" {{%.*}}, [[V]][
// CHECK-DAG:     nest.store "copy" {{%.*}}, [[U]][
func.func @updated_then_exchanged(%x: tensor<8xf32>, %y: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %q = scf.for %k = %c0 to %n step %c1 iter_args(%u = %x, %v = %y) -> (tensor<8xf32>, tensor<8xf32>) {
    %v1 = nt.loops ins(%u : tensor<8xf32>) outs(%v : tensor<8xf32>) {
    ^bb0(%um: memref<8xf32>, %vm: memref<8xf32>):
      nest.for "i" %i = 1 to 8 {
        %e = nest.load %um[%i - 1] : memref<8xf32>
        nest.store "v" %e, %vm[%i] : memref<8xf32>
      }
    }
    %u1 = nt.loops ins(%v1 : tensor<8xf32>) outs(%u : tensor<8xf32>) {
    ^bb0(%vm: memref<8xf32>, %um: memref<8xf32>):
      nest.for "i" %i = 1 to 8 {
        %e = nest.load %vm[%i - 1] : memref<8xf32>
        nest.store "u" %e, %um[%i] : memref<8xf32>
      }
    }
    scf.yield %v1, %u1 : tensor<8xf32>, tensor<8xf32>
  }
  func.return %p, %q : tensor<8xf32>, tensor<8xf32>
}

// -----

// A branch in a branch that updates an array works on the array itself: an error after it finds it written.
func.func @nested(%a: tensor<4xf64> {nt.mutated}, %c: i1, %d: i1) -> (tensor<4xf64> {nt.writes_arg = 0 : i64}) {
  %r = scf.if %c -> (tensor<4xf64>) {
    %s = scf.if %d -> (tensor<4xf64>) {
      scf.yield %a : tensor<4xf64>
    } else {
      %b = nt.loops ins() outs(%a : tensor<4xf64>) {
      ^bb0(%m: memref<4xf64>):
        %0 = arith.constant 1.0 : f64
        nest.store "b" %0, %m[1] : memref<4xf64>
      }
      scf.yield %b : tensor<4xf64>
    }
    scf.yield %s : tensor<4xf64>
  } else {
    scf.yield %a : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}
// CHECK-LABEL: func.func @nested
// CHECK-NOT:     nest.alloc
// CHECK:         nest.store "b" %{{.*}}, %a[1]
// CHECK-NOT:     "copy"
// CHECK:         func.return
