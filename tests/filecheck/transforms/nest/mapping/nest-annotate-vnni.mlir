// A nest of products of bytes that lie as vectors have them is vpdpbusd, its sums in registers while the loop runs; sums that a
// nest before it sets to zero begin as zeros there.
// RUN: opt-tool %s -p 'nest-annotate{loop=k func=without_a_sign mark="nestor.vnni"}' | filecheck %s --check-prefix=MARK
// RUN: opt-tool %s -p 'nest-annotate{loop=k func=without_a_sign mark="nestor.vnni"},convert-nest-to-scf' | filecheck %s
// RUN: opt-tool %s -p 'nest-annotate{loop=k func=without_a_sign mark="nestor.vnni"},convert-nest-to-scf,cpu-to-llvm' -t llvm-ir | filecheck %s --check-prefix=IR

// MARK: nest.for "k" %{{.*}} = 0 to 3 attributes {nestor.vnni} {

// CHECK-LABEL: func.func @without_a_sign
// CHECK-NOT:  memref.store %zero
// CHECK:      scf.for [[K:%.*]] = %c0 to %c3 step %c1 iter_args([[S0:%.*]] = {{%.*}}, [[S1:%.*]] = {{%.*}}, [[S2:%.*]] = {{%.*}}, [[S3:%.*]] = {{%.*}})
// CHECK-NEXT: [[B0:%.*]] = vector.load %y{{\[}}[[K]], %c0, %c0] : memref<3x4x128xi8>, vector<64xi8>
// CHECK-NEXT: [[B1:%.*]] = vector.load %y{{\[}}[[K]], %c0, %c64] : memref<3x4x128xi8>, vector<64xi8>
// CHECK-NEXT: [[F:%.*]] = vector.load %x{{\[}}[[K]], %c0, %c0] : memref<3x2x16xi8>, vector<4xi8>
// CHECK-NEXT: [[I:%.*]] = vector.bitcast [[F]] : vector<4xi8> to vector<1xi32>
// CHECK-NEXT: [[E:%.*]] = vector.extract [[I]][0]
// CHECK-NEXT: [[L:%.*]] = vector.broadcast [[E]] : i32 to vector<16xi32>
// CHECK-NEXT: [[A:%.*]] = vector.bitcast [[L]] : vector<16xi32> to vector<64xi8>
// CHECK-NEXT: vnni.dot [[A]], [[B0]], [[S0]]
// CHECK-NEXT: vnni.dot [[A]], [[B1]], [[S1]]
// CHECK-NEXT: vector.load %x{{\[}}[[K]], %c1, %c0]
// CHECK-NOT:  arith.xori
// CHECK:      scf.yield
// CHECK-COUNT-4: vector.store {{.*}}, %s[

// With signs on both sides: the left operand plus 128, less 128 times the sums of the right one.
// CHECK-LABEL: func.func @with_signs
// CHECK-DAG:  [[SIGN:%.*]] = arith.constant dense<-128> : vector<64xi8>
// CHECK:      scf.for {{.*}} iter_args([[S0:%.*]] = {{%.*}}, [[S1:%.*]] = {{%.*}})
// CHECK-NEXT: [[B:%.*]] = vector.load %y
// CHECK-NEXT: vnni.dot [[SIGN]], [[B]], [[S1]]
// CHECK:      [[A:%.*]] = arith.xori {{%.*}}, [[SIGN]] : vector<64xi8>
// CHECK-NEXT: vnni.dot [[A]], [[B]], [[S0]]
// CHECK:      arith.subi {{.*}} : vector<16xi32>

// The other way round, the operands are exchanged.
// CHECK-LABEL: func.func @right_without
// CHECK:      [[B:%.*]] = vector.load %y
// CHECK:      [[A:%.*]] = vector.bitcast {{.*}} to vector<64xi8>
// CHECK-NEXT: vnni.dot [[B]], [[A]]

// IR: call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> {{.*}}, <64 x i8> {{.*}}, <64 x i8> {{.*}})

func.func @without_a_sign(%x: memref<3x2x16xi8>, %y: memref<3x4x128xi8>, %z: memref<2x32xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %s = nest.alloc "s" : memref<2x32xi32>
  nest.for "i" %i = 0 to 2 {
    nest.for "j" %j = 0 to 32 {
      nest.store "s" %zero, %s[%i, %j] : memref<2x32xi32>
    }
  }
  nest.for "k" %k = 0 to 3 attributes {nestor.vnni} {
    nest.for "r" %r = 0 to 2 {
      nest.for "n" %n = 0 to 2 {
        nest.for "c" %c = 0 to 16 {
          nest.for "g" %g = 0 to 4 {
            nest.for "v" %v = 0 to 4 {
              %a = nest.load %x[%k, %r, 4 * %g + %v] : memref<3x2x16xi8>
              %b = nest.load %y[%k, %g, 64 * %n + 4 * %c + %v] : memref<3x4x128xi8>
              %a_1 = arith.extui %a : i8 to i32
              %b_1 = arith.extsi %b : i8 to i32
              %p = arith.muli %a_1, %b_1 : i32
              nest.accumulate "s" add %p, %s[%r, 16 * %n + %c] : memref<2x32xi32>
            }
          }
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 2 {
    nest.for "j.1" %j = 0 to 32 {
      %0 = nest.load %s[%i, %j] : memref<2x32xi32>
      nest.store "z" %0, %z[%i, %j] : memref<2x32xi32>
    }
  }
  func.return
}

func.func @with_signs(%x: memref<3x1x4xi8>, %y: memref<3x1x64xi8>, %z: memref<1x16xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %s = nest.alloc "s" : memref<1x16xi32>
  nest.for "i" %i = 0 to 1 {
    nest.for "j" %j = 0 to 16 {
      nest.store "s" %zero, %s[%i, %j] : memref<1x16xi32>
    }
  }
  nest.for "k" %k = 0 to 3 attributes {nestor.vnni} {
    nest.for "r" %r = 0 to 1 {
      nest.for "n" %n = 0 to 1 {
        nest.for "c" %c = 0 to 16 {
          nest.for "g" %g = 0 to 1 {
            nest.for "v" %v = 0 to 4 {
              %a = nest.load %x[%k, %r, 4 * %g + %v] : memref<3x1x4xi8>
              %b = nest.load %y[%k, %g, 64 * %n + 4 * %c + %v] : memref<3x1x64xi8>
              %a_1 = arith.extsi %a : i8 to i32
              %b_1 = arith.extsi %b : i8 to i32
              %p = arith.muli %a_1, %b_1 : i32
              nest.accumulate "s" add %p, %s[%r, 16 * %n + %c] : memref<1x16xi32>
            }
          }
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 1 {
    nest.for "j.1" %j = 0 to 16 {
      %0 = nest.load %s[%i, %j] : memref<1x16xi32>
      nest.store "z" %0, %z[%i, %j] : memref<1x16xi32>
    }
  }
  func.return
}

func.func @right_without(%x: memref<3x1x4xi8>, %y: memref<3x1x64xi8>, %z: memref<1x16xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %s = nest.alloc "s" : memref<1x16xi32>
  nest.for "i" %i = 0 to 1 {
    nest.for "j" %j = 0 to 16 {
      nest.store "s" %zero, %s[%i, %j] : memref<1x16xi32>
    }
  }
  nest.for "k" %k = 0 to 3 attributes {nestor.vnni} {
    nest.for "r" %r = 0 to 1 {
      nest.for "n" %n = 0 to 1 {
        nest.for "c" %c = 0 to 16 {
          nest.for "g" %g = 0 to 1 {
            nest.for "v" %v = 0 to 4 {
              %a = nest.load %x[%k, %r, 4 * %g + %v] : memref<3x1x4xi8>
              %b = nest.load %y[%k, %g, 64 * %n + 4 * %c + %v] : memref<3x1x64xi8>
              %a_1 = arith.extsi %a : i8 to i32
              %b_1 = arith.extui %b : i8 to i32
              %p = arith.muli %a_1, %b_1 : i32
              nest.accumulate "s" add %p, %s[%r, 16 * %n + %c] : memref<1x16xi32>
            }
          }
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 1 {
    nest.for "j.1" %j = 0 to 16 {
      %0 = nest.load %s[%i, %j] : memref<1x16xi32>
      nest.store "z" %0, %z[%i, %j] : memref<1x16xi32>
    }
  }
  func.return
}
