// Names that LLVM IR only takes in quotes, where they are defined, declared and called.
// RUN: opt-tool %s -t llvm-ir | filecheck %s

// CHECK: declare void @"to<i32>"(i32)
llvm.func @"to<i32>"(i32)
// CHECK: define i32 @"a \22quoted\22 \D0\96"(i32 %x)
llvm.func @"a \"quoted\" Ж"(%x: i32) -> i32 {
  // CHECK: call void @"to<i32>"(i32 %x)
  llvm.call @"to<i32>"(%x) : (i32) -> ()
  llvm.return %x : i32
}
// CHECK: define i32 @plain.name$1(i32 %x)
llvm.func @plain.name$1(%x: i32) -> i32 {
  // CHECK: call i32 @"a \22quoted\22 \D0\96"(i32 %x)
  %0 = llvm.call @"a \"quoted\" Ж"(%x) : (i32) -> i32
  llvm.return %0 : i32
}
