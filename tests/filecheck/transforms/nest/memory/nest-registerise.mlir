// Elements of a buffer that are fixed in a loop are kept in registers while it runs.
// RUN: opt-tool %s -p 'nest-registerise{loop=k buffer=s}' --split-input-file | filecheck %s

// What a statement beside the loop has written can be loaded and stored.
// CHECK-LABEL: @sum
// CHECK: nest.store "s" %z, %s[%i]
// CHECK-NEXT: [[R:%\S+]] = nest.alloc "s_acc" : memref<f32, 5 : i64>
// CHECK-NEXT: [[A:%\S+]] = nest.load %s[%i]
// CHECK-NEXT: nest.store "s_acc" [[A]], [[R]][] : memref<f32, 5 : i64>
// CHECK-NEXT: nest.for "k" %k = 3 to %n {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[R]][]
// CHECK-NEXT: }
// CHECK-NEXT: [[B:%\S+]] = nest.load [[R]][]
// CHECK-NEXT: nest.store "s" [[B]], %s[%i] : memref<?xf32>
func.func @sum(%n: index, %x: memref<?x?xf32>, %s: memref<?xf32> {nest.role = "out"}) {
  %z = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to %n {
    nest.store "s" %z, %s[%i] : memref<?xf32>
    nest.for "k" %k = 3 to %n {
      %a = nest.load %x[%i, %k] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[%i] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Two elements; one is read only, and goes nowhere back. The store elsewhere is proved to be apart.
// CHECK-LABEL: @two
// CHECK: [[R:%\S+]] = nest.alloc "s_acc"
// CHECK-NEXT: [[A:%\S+]] = nest.load %s[7]
// CHECK-NEXT: nest.store "s_acc" [[A]], [[R]][] :
// CHECK-NEXT: [[T:%\S+]] = nest.alloc "s_acc.1"
// CHECK-NEXT: [[B:%\S+]] = nest.load %s[6]
// CHECK-NEXT: nest.store "s_acc.1" [[B]], [[T]][] :
// CHECK: [[C:%\S+]] = nest.load [[R]][]
// CHECK-NEXT: nest.store "t" [[C]], [[T]][] where (%k < 4)
// CHECK-NEXT: nest.store "u" [[C]], %s[%k + 8]
// CHECK: [[D:%\S+]] = nest.load [[T]][]
// CHECK-NEXT: nest.store "t" [[D]], %s[6] : memref<16xf32>
// CHECK-NOT: nest.store
func.func @two(%s: memref<16xf32>) {
  nest.for "k" %k = 0 to 7 {
    %a = nest.load %s[7] : memref<16xf32>
    nest.store "t" %a, %s[6] where (%k < 4) : memref<16xf32>
    nest.store "u" %a, %s[%k + 8] : memref<16xf32>
  }
  func.return
}

// -----

// Each iteration stores it first: nothing is loaded. The step leaves three iterations of seven.
// CHECK-LABEL: @stored
// CHECK: [[R:%\S+]] = nest.alloc "s_acc"
// CHECK-NEXT: nest.for "k"
// CHECK: nest.store "s" {{%\S+}}, [[R]][]
// CHECK: nest.load [[R]][]
// CHECK: nest.load [[R]][]
// CHECK-NEXT: nest.store "s" {{%\S+}}, %s[] : memref<i64>
func.func @stored(%x: memref<?xi64>, %y: memref<?xi64>, %s: memref<i64> {nest.role = "out"}) {
  nest.for "k" %k = 0 to 7 step 3 {
    %a = nest.load %x[%k] : memref<?xi64>
    nest.store "s" %a, %s[] : memref<i64>
    %b = nest.load %s[] : memref<i64>
    nest.store "y" %b, %y[%k] : memref<?xi64>
  }
  func.return
}

// -----

// Nothing is certain, but the buffer comes written: loaded and stored back where the element exists.
// CHECK-LABEL: @masked
// CHECK: nest.store "s_acc" {{%\S+}}, [[R:%\S+]][] where (%i < 8)
// CHECK: nest.accumulate "s" add {{%\S+}}, [[R]][] mask {{%\S+}} : memref<f32, 5 : i64>
// CHECK: nest.store "s" {{%\S+}}, %s[%i] where (%i < 8)
func.func @masked(%n: index, %x: memref<?x?xf32>, %z: f32, %s: memref<8xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.for "k" %k = %i to %n {
      %a = nest.load %x[%i, %k] : memref<?x?xf32>
      %c = arith.cmpf ogt, %a, %z : f32
      nest.accumulate "s" add %a, %s[%i] mask %c : memref<8xf32>
    }
  }
  func.return
}

// -----

// Threads around write other elements; this one each iteration does.
// CHECK-LABEL: @thread
// CHECK: nest.store "s_acc" {{%\S+}}, [[R:%\S+]][] where (%n >= 1)
// CHECK: nest.for "k"
// CHECK-NEXT: nest.for "v"
// CHECK: nest.accumulate "s" add {{%\S+}}, [[R]][] :
// CHECK: nest.store "s" {{%\S+}}, %s[%t] where (%n >= 1)
func.func @thread(%n: index, %x: memref<?x?xf32>, %s: memref<?xf32>) {
  nest.for "t" %t = 0 to 8 bind "thread.x" {
    nest.for "k" %k = 0 to %n {
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[%t, 4 * %k + %v] : memref<?x?xf32>
        nest.accumulate "s" add %a, %s[%t] : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

// A result, never written before its first store: what each iteration touches exists where the loop runs.
// CHECK-LABEL: @result
// CHECK: nest.store "s_acc" {{%\S+}}, [[R:%\S+]][] where (%n >= 4)
// CHECK: nest.store "s" {{%\S+}}, %s[%i] where (%n >= 4) : memref<?xf32>
func.func @result(%n: index, %z: f32, %x: memref<?x?xf32>, %s: memref<?xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to %n {
    nest.store "s" %z, %s[%i] where (%n >= 4) : memref<?xf32>
    nest.for "k" %k = 3 to %n {
      %a = nest.load %x[%i, %k] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[%i] : memref<?xf32>
    }
  }
  func.return
}

// -----

// The loop may be empty: though each iteration stores it first, what was before is loaded, and so comes back.
// CHECK-LABEL: @stored_if_any
// CHECK: nest.store "s" %z, %s[]
// CHECK-NEXT: [[R:%\S+]] = nest.alloc "s_acc"
// CHECK-NEXT: [[A:%\S+]] = nest.load %s[]
// CHECK-NEXT: nest.store "s_acc" [[A]], [[R]][]
// CHECK-NEXT: nest.for "k"
func.func @stored_if_any(%n: index, %z: i64, %x: memref<?xi64>, %s: memref<i64> {nest.role = "out"}) {
  nest.store "s" %z, %s[] : memref<i64>
  nest.for "k" %k = 0 to %n {
    %a = nest.load %x[%k] : memref<?xi64>
    nest.store "s" %a, %s[] : memref<i64>
  }
  func.return
}

// -----

// A store under a mask says as little of the element as one in a domain.
// CHECK-LABEL: @masked_before
// CHECK: nest.store "s_acc" {{%\S+}}, [[R:%\S+]][] where (%n >= 4)
// CHECK: nest.store "s" {{%\S+}}, %s[%i] where (%n >= 4) : memref<?xf32>
func.func @masked_before(%n: index, %c: i1, %z: f32, %x: memref<?x?xf32>, %s: memref<?xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to %n {
    nest.store "s" %z, %s[%i] mask %c : memref<?xf32>
    nest.for "k" %k = 3 to %n {
      %a = nest.load %x[%i, %k] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[%i] : memref<?xf32>
    }
  }
  func.return
}
