; Which processor a thread is on, and how it leaves one: part of thread_pool.ll where the system is Linux.

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i32 @processor() alwaysinline {
  %number = call i32 @sched_getcpu()
  ret i32 %number
}

; Go to another of the processors that this thread may run on, where there is one; afterwards it may run on all of them
; again. A thread that is woken may be put where the one that woke it runs, and stay there for as long as it runs briefly.
define internal void @leave(i32 %processor) noinline {
entry:
  %all = alloca [128 x i8], align 16
  %others = alloca [128 x i8], align 16
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %all)
  %is_known = icmp sge i32 %failed, 0
  %is_in_mask = icmp ult i32 %processor, 1024
  %can = and i1 %is_known, %is_in_mask
  br i1 %can, label %change, label %done
change:
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %others, ptr align 16 %all, i64 128, i1 false)
  %at = lshr i32 %processor, 3
  %in = and i32 %processor, 7
  %byte = getelementptr i8, ptr %others, i32 %at
  %bit = shl i32 1, %in
  %short = trunc i32 %bit to i8
  %kept = xor i8 %short, -1
  %before = load i8, ptr %byte
  %after = and i8 %before, %kept
  store i8 %after, ptr %byte
  %refused = call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)  ; where there is no other one
  %moved = icmp eq i32 %refused, 0
  br i1 %moved, label %restore, label %done
restore:
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %all)
  br label %done
done:
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
