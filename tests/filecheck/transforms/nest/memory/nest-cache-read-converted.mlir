// A copy that holds what its readers convert the elements to; refused where a reader does something else with one.
// RUN: opt-tool %s -p 'nest-cache-read{buffer=x loop=i converted=true}' | filecheck %s
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=z loop=i converted=true}' 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not opt-tool %s -p 'nest-cache-read{buffer=w loop=i converted=true}' 2>&1 | filecheck %s --check-prefix=TYPES

// CHECK:      [[C:%\S+]] = nest.alloc "x_local" : memref<16xf32>
// CHECK:      [[A:%\S+]] = nest.load %x[[[I:%\S+]], [[K:%\S+]]] : memref<8x16xf16>
// CHECK-NEXT: [[F:%\S+]] = arith.extf [[A]] : f16 to f32
// CHECK-NEXT: nest.store "x_local" [[F]], [[C]][[[K]]] : memref<16xf32>
// CHECK:      [[V:%\S+]] = nest.load [[C]][{{%\S+}}] : memref<16xf32>
// CHECK-NOT:  arith.extf {{.*}} : f16 to f32
// CHECK:      nest.accumulate "y" add [[V]]
// OTHER: error: cannot cache what is read of the buffer "z" in the loop "i": its readers do not all convert an element to one type, and do nothing else with it
// OTHER: note: it is read here
// TYPES: error: cannot cache what is read of the buffer "w" in the loop "i": its readers do not all convert an element to one type, and do nothing else with it
func.func @sums(%x: memref<8x16xf16>, %z: memref<16xf16>, %w: memref<16xi8>, %y: memref<8xf32>, %r: memref<16xf16>, %s: memref<16xi32>) {
  nest.for "i" %i = 0 to 8 {
    nest.for "k" %k = 0 to 16 {
      %a = nest.load %x[%i, %k] : memref<8x16xf16>
      %b = arith.extf %a : f16 to f32
      nest.accumulate "y" add %b, %y[%i] : memref<8xf32>
      %c = nest.load %z[%k] : memref<16xf16>
      %d = arith.extf %c : f16 to f32
      nest.accumulate "y" add %d, %y[%i] : memref<8xf32>
      nest.store "r" %c, %r[%k] : memref<16xf16>
      %e = nest.load %w[%k] : memref<16xi8>
      %f = arith.extsi %e : i8 to i32
      %g = arith.extui %e : i8 to i32
      %h = arith.addi %f, %g : i32
      nest.store "s" %h, %s[%k] : memref<16xi32>
    }
  }
  func.return
}
