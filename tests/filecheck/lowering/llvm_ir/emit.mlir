// LLVM IR text: phis from block arguments, constants at their uses in exact hex, metadata, attribute groups.
// RUN: opt-tool %s -t llvm-ir | filecheck %s

// CHECK-LABEL: define i32 @f(ptr noalias readonly %x, i64 %n, i1 %c) #0 {
// CHECK-NEXT: entry:
// CHECK: br label %bb1
// CHECK: bb1:
// CHECK-NEXT: %i = phi i64 [ 0, %entry ], [ [[NEXT:%.+]], %bb1 ]
// CHECK-NEXT: %s = phi float [ 0x3FB99999A0000000, %entry ], [ %s1, %bb1 ]
// CHECK: [[P:%.+]] = getelementptr inbounds float, ptr %x, i64 %i
// CHECK: %v = load float, ptr [[P]], align 4
// CHECK: %s1 = fadd nnan nsz float %s, %v
// CHECK: store float %s1, ptr [[P]], align 4, !nontemporal ![[NT:[0-9]+]]
// CHECK: br i1 {{%.+}}, label %bb1, label %bb2, !llvm.loop ![[LOOP:[0-9]+]]
// CHECK: bb2:
// CHECK-NEXT: %sel.0 = select i1 %c, i32 1, i32 2
// CHECK-NEXT: br label %bb3
// CHECK: bb3:
// CHECK-NEXT: %r = phi i32 [ %sel.0, %bb2 ]
// CHECK-NEXT: call <2 x bfloat> @llvm.maximum.v2bf16
// CHECK-SAME: splat (bfloat 0xR3F80), <2 x bfloat> <bfloat 0xR3F80, bfloat 0xRFF80>
// CHECK-NEXT: ret i32 %r
// CHECK: declare <2 x bfloat> @llvm.maximum.v2bf16(<2 x bfloat>, <2 x bfloat>)
// CHECK: attributes #0 = { nounwind "prefer-vector-width"="512" }
// CHECK: ![[NT]] = !{i32 1}
// CHECK: ![[LOOP]] = distinct !{![[LOOP]], !{{[0-9]+}}}
llvm.func @f(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %n: i64, %c: i1) -> i32 attributes {no_unwind, passthrough = [["prefer-vector-width", "512"]]} {
  %zero = llvm.mlir.constant(0) : i64
  %one = llvm.mlir.constant(1) : i64
  %a = llvm.mlir.constant(0.1 : f32) : f32
  %k1 = llvm.mlir.constant(1 : i32) : i32
  %k2 = llvm.mlir.constant(2 : i32) : i32
  %b1 = llvm.mlir.constant(dense<1.0> : vector<2xbf16>) : vector<2xbf16>
  %b2 = llvm.mlir.constant(dense<[1.0, 0xFF80]> : vector<2xbf16>) : vector<2xbf16>
  llvm.br ^bb1(%zero, %a : i64, f32)
^bb1(%i: i64, %s: f32):
  %p = llvm.getelementptr inbounds %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> f32
  %s1 = llvm.fadd %s, %v {fastmathFlags = #llvm.fastmath<nnan,nsz>} : f32
  llvm.store %s1, %p {alignment = 4 : i64, nontemporal} : f32, !llvm.ptr
  %next = llvm.add %i, %one overflow<nsw> : i64
  %more = llvm.icmp "slt" %next, %n : i64
  llvm.cond_br %more, ^bb1(%next, %s1 : i64, f32), ^bb2 {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>>}
^bb2:
  llvm.cond_br %c, ^bb3(%k1 : i32), ^bb3(%k2 : i32)
^bb3(%r: i32):
  %m = llvm.intr.maximum(%b1, %b2) : (vector<2xbf16>, vector<2xbf16>) -> vector<2xbf16>
  llvm.return %r : i32
}
