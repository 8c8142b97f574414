// An unsigned minimum or maximum of short integers takes a literal of their type, for min and max are overloaded; an
// exclusive or of two comparisons keeps its parentheses.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: max((unsigned char)a_i, (unsigned char)-56)
// CHECK: min((unsigned char)a_i, (unsigned char)b_i)
// CHECK: mask[i] = a_i != 3 != (b_i != 3);

module attributes {gpu.container_module} {
  func.func @short(%a: memref<100xi8>, %b: memref<100xi8>, %out: memref<100xi8>, %mask: memref<100xi8>) {
    %c1 = arith.constant 1 : index
    %c100 = arith.constant 100 : index
    gpu.launch_func @k::@short blocks in (%c1, %c1, %c1) threads in (%c100, %c1, %c1)
        args(%a : memref<100xi8>, %b : memref<100xi8>, %out : memref<100xi8>, %mask : memref<100xi8>)
    func.return
  }
  gpu.module @k attributes {nestor.index_bits = 32 : i64} {
    gpu.func @short(%a: memref<100xi8>, %b: memref<100xi8>, %out: memref<100xi8>, %mask: memref<100xi8>) kernel {
      %c200 = arith.constant -56 : i8
      %c3 = arith.constant 3 : i8
      %i = gpu.thread_id x
      %0 = memref.load %a[%i] : memref<100xi8>
      %1 = memref.load %b[%i] : memref<100xi8>
      %2 = arith.maxui %0, %c200 : i8
      %3 = arith.minui %0, %1 : i8
      %4 = arith.addi %2, %3 : i8
      memref.store %4, %out[%i] : memref<100xi8>
      %5 = arith.cmpi ne, %0, %c3 : i8
      %6 = arith.cmpi ne, %1, %c3 : i8
      %7 = arith.xori %5, %6 : i1
      %8 = arith.extui %7 : i1 to i8
      memref.store %8, %mask[%i] : memref<100xi8>
      gpu.return
    }
  }
}
