; The threads of compiled programs. A parallel region asks threads that wait for work, works itself, and waits at its end
; only for those that have begun: what the others did not begin, its own thread has done meanwhile
; (lowering/to_llvm/iteration_shares.py). So a thread that the system does not run costs its help, not time.
;
; A worker is one thread. Its state is 4 * (regions that it worked for) + one of
;   0 idle    1 reserved by a caller    2 offered: the fields below are written    3 at work
; and changes in this order; a caller that finds 2 at its end takes the offer back, which makes it 0.
;
; Calls of several threads that run at once (nt.fork, threads of Python) share the threads: a region asks for one fewer for each
; other call, also while that is between two regions, and for each other region. A worker that calls leave no processor for does
; not look for work.
;
; Rules for a machine that others use as well (docs/decisions/0016-threads-wait.md):
;   A thread that waits looks again and again for %quiet ns, and sleeps then. Where the clock jumps meanwhile, another
;   process had the processor: the machine counts as crowded for a while, and every wait is short. Where there is a
;   sign of it again soon after, the while is twice as long. A thread that finds itself on the processor of its caller
;   goes to another one, and sleeps at once where there is none.
;   Waking a thread takes some microseconds. The next one is woken when regions have run for %wake_debt ns since; beside
;   others, where it may not come in time and what it worked on has to be fetched, for %crowded_debt ns.
;   Who waits at the end of a region looks for an eighth of its time, and sleeps then: the processor that becomes free
;   may be the one that the awaited thread needs.
;   A region that waited longer for its threads than they had a processor in it was late: its own thread would have done
;   their part sooner. What was lost has to be run as well before the next one is woken.

%worker = type {
  i64,        ; 0 the state
  ptr,        ; 1 the function of the region
  ptr,        ; 2 its first argument
  i64,        ; 3 the number of this thread in the region
  i64,        ; 4 how many threads the region has
  i32,        ; 5 whether it sleeps: 0 no, 1 yes, 2 it was woken and is not up yet
  i32,        ; 6 how many callers sleep until it is done
  i32,        ; 7 the thread: 0 not made, 1 being made, 2 there, 3 could not be made
  i32,        ; 8 the processor that its last caller was on
  i64,        ; 9 ns that it had a processor in the last region
  [64 x i8],  ; 10 a mutex
  [64 x i8]   ; 11 a condition variable
}

%pool = type {
  i64,        ; 0 ns that regions must run before a thread is woken again
  i64,        ; 1 until when the machine counts as crowded
  i64,        ; 2 for how many ns it did, which is doubled at a sign soon after
  i64,        ; 3 how many regions run
  [4 x i64],
  [255 x %worker]
}

@pool = internal global %pool zeroinitializer, align 64

; How many calls run that let other threads of Python run meanwhile: calls count themselves (call_wrapper.py).
@{calls} = external global i64

; How many threads there may be.
@{count} = external global i32

declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

; What the runtime adds for this machine: @pause() between two looks, @clock(), @own_clock() and @set_mask(), numbers of the C library,
; @without_faults(signals), @processor() that the thread is on (-1: not known) and @leave(processor) (thread_places.ll).

define internal i64 @now() {
  %clock = call i32 @clock()
  %ns = call i64 @read(i32 %clock)
  ret i64 %ns
}

; The time that this thread has not had a processor, from a moment in the past on: what the clock has gone on, less its own.
define internal i64 @missed() noinline {
  %time = call i64 @now()
  %clock = call i32 @own_clock()
  %own = call i64 @read(i32 %clock)
  %ns = sub i64 %time, %own
  ret i64 %ns
}

define internal i64 @read(i32 %clock) {
  %time = alloca [2 x i64]
  call i32 @clock_gettime(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time
  %at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %at
  %whole = mul i64 %seconds, 1000000000
  %ns = add i64 %whole, %rest
  ret i64 %ns
}

define internal void @lock(ptr %worker) {
  %mutex = getelementptr %worker, ptr %worker, i64 0, i32 10
  call i32 @pthread_mutex_lock(ptr %mutex)
  ret void
}

define internal void @unlock(ptr %worker) {
  %mutex = getelementptr %worker, ptr %worker, i64 0, i32 10
  call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}

; With the lock held: sleep until the worker or its caller says that something has changed.
define internal void @sleep(ptr %worker) {
  %mutex = getelementptr %worker, ptr %worker, i64 0, i32 10
  %condition = getelementptr %worker, ptr %worker, i64 0, i32 11
  call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  ret void
}

define internal void @wake(ptr %worker) noinline {
  %condition = getelementptr %worker, ptr %worker, i64 0, i32 11
  call void @lock(ptr %worker)
  call i32 @pthread_cond_broadcast(ptr %condition)
  call void @unlock(ptr %worker)
  ret void
}

; A sign that another process wanted the processor, at a time.
define internal void @is_crowded(i64 %time) noinline {
entry:
  %until_at = getelementptr %pool, ptr @pool, i64 0, i32 1
  %for_at = getelementptr %pool, ptr @pool, i64 0, i32 2
  %until = load atomic i64, ptr %until_at monotonic, align 8
  %known = icmp slt i64 %time, %until
  br i1 %known, label %done, label %note
note:
  %before = load atomic i64, ptr %for_at monotonic, align 8
  %soon = call i64 @llvm.smax.i64(i64 %before, i64 {soon})
  %quiet_from = add i64 %until, %soon
  %again = icmp slt i64 %time, %quiet_from
  %double = shl i64 %before, 1
  %longer = call i64 @llvm.smin.i64(i64 %double, i64 {crowded_most})
  %for = select i1 %again, i64 %longer, i64 {crowded_least}
  %later = add i64 %time, %for
  store atomic i64 %for, ptr %for_at monotonic, align 8
  store atomic i64 %later, ptr %until_at monotonic, align 8
  br label %done
done:
  ret void
}

; ---- waiting ----------------------------------------------------------------------------------------

; Look at a state until it is not %seen, for %patience ns, less where others want the processor: where the clock has jumped,
; and this thread has missed that time, or where it is worker number %k and calls leave it no processor. %before is what it had
; missed when it began; -1: not to be looked at.
define internal void @look(ptr %state, i64 %seen, i64 %patience, i64 %before, i64 %k) noinline {
entry:
  %start = call i64 @now()
  br label %round
round:
  %last = phi i64 [ %start, %entry ], [ %time, %go_on ]
  br label %each
each:
  %n = phi i64 [ 0, %round ], [ %following, %same ]
  call void @pause()
  %found = load atomic i64, ptr %state acquire, align 8
  %changed = icmp ne i64 %found, %seen
  br i1 %changed, label %done, label %same
same:
  %following = add i64 %n, 1
  %more = icmp slt i64 %following, 16
  br i1 %more, label %each, label %measure
measure:
  %time = call i64 @now()
  %gap = sub i64 %time, %last
  %jumped = icmp sgt i64 %gap, {jump}
  %is_asked = icmp sge i64 %before, 0
  %suspect = and i1 %jumped, %is_asked
  br i1 %suspect, label %ask, label %go_on
ask:
  %missed = call i64 @missed()
  %lost = sub i64 %missed, %before
  %twice = shl i64 %lost, 1
  %is_lost = icmp sgt i64 %twice, %gap
  br i1 %is_lost, label %others, label %go_on
go_on:
  %gone = sub i64 %time, %start
  %short = icmp slt i64 %gone, %patience
  %threads = load atomic i32, ptr @{count} monotonic, align 4
  %processors = sext i32 %threads to i64
  %calls = load atomic i64, ptr @{calls} monotonic, align 8
  %left = sub i64 %processors, %calls
  %has_one = icmp slt i64 %k, %left
  %stays = and i1 %short, %has_one
  br i1 %stays, label %round, label %done
others:
  call void @is_crowded(i64 %time)
  br label %done
done:
  ret void
}

; ---- a worker ---------------------------------------------------------------------------------------

; Whether it is on the processor that its last caller was on, and so in its way.
define internal i1 @is_with_caller(ptr %worker) {
  %place_at = getelementptr %worker, ptr %worker, i64 0, i32 8
  %here = call i32 @processor()
  %caller = load atomic i32, ptr %place_at monotonic, align 4
  %is_same = icmp eq i32 %here, %caller
  %is_known = icmp sge i32 %here, 0
  %is_with = and i1 %is_same, %is_known
  ret i1 %is_with
}

define internal ptr @work(ptr %worker) {
entry:
  %asleep = getelementptr %worker, ptr %worker, i64 0, i32 5
  %awaited = getelementptr %worker, ptr %worker, i64 0, i32 6
  %missed_at = alloca i64
  %worked_at = getelementptr %worker, ptr %worker, i64 0, i32 9
  %at_begin = call i64 @missed()
  store i64 %at_begin, ptr %missed_at
  br label %wait
wait:
  %in_its_way = call i1 @is_with_caller(ptr %worker)
  br i1 %in_its_way, label %make_way, label %see
make_way:
  %here = call i32 @processor()
  call void @leave(i32 %here)
  br label %see
see:
  %seen = load atomic i64, ptr %worker acquire, align 8
  %kind = and i64 %seen, 3
  %offered = icmp eq i64 %kind, 2
  br i1 %offered, label %begin, label %rest
rest:
  %missed = call i64 @missed()
  store i64 %missed, ptr %missed_at
  %time = call i64 @now()
  %still = call i1 @is_with_caller(ptr %worker)
  br i1 %still, label %give_up, label %look
give_up:
  call void @is_crowded(i64 %time)
  br label %lie_down
look:
  %until_at = getelementptr %pool, ptr @pool, i64 0, i32 1
  %until = load atomic i64, ptr %until_at monotonic, align 8
  %crowded = icmp slt i64 %time, %until
  %patience = select i1 %crowded, i64 {crowded}, i64 {quiet}
  %first = getelementptr %pool, ptr @pool, i64 0, i32 5
  %first_at = ptrtoint ptr %first to i64
  %worker_at = ptrtoint ptr %worker to i64
  %bytes = sub i64 %worker_at, %first_at
  %next = getelementptr %worker, ptr null, i64 1
  %size = ptrtoint ptr %next to i64
  %number = udiv i64 %bytes, %size
  call void @look(ptr %worker, i64 %seen, i64 %patience, i64 %missed, i64 %number)
  %then = load atomic i64, ptr %worker acquire, align 8
  %changed = icmp ne i64 %then, %seen
  br i1 %changed, label %wait, label %lie_down
lie_down:
  call void @lock(ptr %worker)
  store atomic i32 1, ptr %asleep seq_cst, align 4
  %state = load atomic i64, ptr %worker seq_cst, align 8
  %kind_now = and i64 %state, 3
  %is_offered = icmp eq i64 %kind_now, 2
  br i1 %is_offered, label %get_up, label %doze
doze:
  call void @sleep(ptr %worker)
  %mark = load atomic i32, ptr %asleep monotonic, align 4
  %still_sleeps = icmp eq i32 %mark, 1
  br i1 %still_sleeps, label %doze, label %get_up
get_up:
  store atomic i32 0, ptr %asleep seq_cst, align 4
  %missed_then = call i64 @missed()
  store i64 %missed_then, ptr %missed_at
  call void @unlock(ptr %worker)
  br label %wait
begin:
  %busy = add i64 %seen, 1
  %taken = cmpxchg ptr %worker, i64 %seen, i64 %busy acq_rel monotonic
  %is_mine = extractvalue { i64, i1 } %taken, 1
  br i1 %is_mine, label %run, label %wait
run:
  %at_body = getelementptr %worker, ptr %worker, i64 0, i32 1
  %at_context = getelementptr %worker, ptr %worker, i64 0, i32 2
  %at_thread = getelementptr %worker, ptr %worker, i64 0, i32 3
  %at_threads = getelementptr %worker, ptr %worker, i64 0, i32 4
  %body = load ptr, ptr %at_body
  %context = load ptr, ptr %at_context
  %thread = load i64, ptr %at_thread
  %threads = load i64, ptr %at_threads
  %begin_time = call i64 @now()
  call void %body(ptr %context, i64 %thread, i64 %threads)
  %end_time = call i64 @now()
  %took = sub i64 %end_time, %begin_time
  %was_long = icmp sgt i64 %took, {late}
  br i1 %was_long, label %account, label %finish
account:
  %missed_now = call i64 @missed()
  %missed_before = load i64, ptr %missed_at
  %lost = sub i64 %missed_now, %missed_before
  %had = sub i64 %took, %lost
  store i64 %missed_now, ptr %missed_at
  br label %finish
finish:
  %worked = phi i64 [ %took, %run ], [ %had, %account ]
  store atomic i64 %worked, ptr %worked_at monotonic, align 8
  %idle = add i64 %busy, 1
  store atomic i64 %idle, ptr %worker seq_cst, align 8
  %sleepers = load atomic i32, ptr %awaited seq_cst, align 4
  %nobody = icmp eq i32 %sleepers, 0
  br i1 %nobody, label %wait, label %tell
tell:
  call void @wake(ptr %worker)
  br label %wait
}

; Make the thread of a worker; whether it is there. No signal is handled in it but faults of its own: Python's are for its
; threads.
define internal i1 @make(ptr %worker) noinline {
entry:
  %made = getelementptr %worker, ptr %worker, i64 0, i32 7
  %mutex = getelementptr %worker, ptr %worker, i64 0, i32 10
  %condition = getelementptr %worker, ptr %worker, i64 0, i32 11
  %thread = alloca ptr
  %all = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %first = cmpxchg ptr %made, i32 0, i32 1 acq_rel monotonic
  %is_mine = extractvalue { i32, i1 } %first, 1
  br i1 %is_mine, label %create, label %no
create:
  call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  call i32 @pthread_cond_init(ptr %condition, ptr null)
  call i32 @sigfillset(ptr %all)
  call void @without_faults(ptr %all)
  %set = call i32 @set_mask()
  call i32 @pthread_sigmask(i32 %set, ptr %all, ptr %before)
  %status = call i32 @pthread_create(ptr %thread, ptr null, ptr @work, ptr %worker)
  call i32 @pthread_sigmask(i32 %set, ptr %before, ptr null)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %never, label %detach
never:
  store atomic i32 3, ptr %made release, align 4
  br label %no
detach:
  %handle = load ptr, ptr %thread
  call i32 @pthread_detach(ptr %handle)
  store atomic i32 2, ptr %made release, align 4
  ret i1 true
no:
  ret i1 false
}

; ---- a region ---------------------------------------------------------------------------------------

; Whether a worker can be asked: it is there and awake, or may be made or woken.
define internal i1 @can_ask(ptr %worker, i1 %may_wake) {
entry:
  %made = getelementptr %worker, ptr %worker, i64 0, i32 7
  %asleep = getelementptr %worker, ptr %worker, i64 0, i32 5
  %there = load atomic i32, ptr %made acquire, align 4
  switch i32 %there, label %no [ i32 0, label %missing
                                 i32 2, label %present ]
missing:
  br i1 %may_wake, label %create, label %no
create:
  %created = call i1 @make(ptr %worker)
  ret i1 %created
present:
  %sleeps = load atomic i32, ptr %asleep monotonic, align 4
  %awake = icmp ne i32 %sleeps, 1
  %can = or i1 %awake, %may_wake
  ret i1 %can
no:
  ret i1 false
}

; Write down what a reserved worker is to do; 1 where it had to be woken.
define internal i64 @offer(ptr %worker, i64 %reserved, ptr %body, ptr %context, i64 %thread, i64 %threads) {
entry:
  %at_body = getelementptr %worker, ptr %worker, i64 0, i32 1
  %at_context = getelementptr %worker, ptr %worker, i64 0, i32 2
  %at_thread = getelementptr %worker, ptr %worker, i64 0, i32 3
  %at_threads = getelementptr %worker, ptr %worker, i64 0, i32 4
  %asleep = getelementptr %worker, ptr %worker, i64 0, i32 5
  %place_at = getelementptr %worker, ptr %worker, i64 0, i32 8
  %place = call i32 @processor()
  store atomic i32 %place, ptr %place_at monotonic, align 4
  store ptr %body, ptr %at_body
  store ptr %context, ptr %at_context
  store i64 %thread, ptr %at_thread
  store i64 %threads, ptr %at_threads
  %offered = add i64 %reserved, 1
  store atomic i64 %offered, ptr %worker seq_cst, align 8
  %found = cmpxchg ptr %asleep, i32 1, i32 2 seq_cst seq_cst
  %slept = extractvalue { i32, i1 } %found, 1
  br i1 %slept, label %call, label %done
call:
  call void @wake(ptr %worker)
  ret i64 1
done:
  ret i64 0
}

; Take the offer back, or wait until the worker is done: for how long it had a processor.
define internal i64 @join(ptr %worker, i64 %reserved, i64 %patience) {
entry:
  %offered = add i64 %reserved, 1
  %busy = add i64 %reserved, 2
  %idle = sub i64 %reserved, 1
  %awaited = getelementptr %worker, ptr %worker, i64 0, i32 6
  %found = cmpxchg ptr %worker, i64 %offered, i64 %idle acq_rel acquire
  %is_back = extractvalue { i64, i1 } %found, 1
  br i1 %is_back, label %back, label %begun
begun:
  %state = load atomic i64, ptr %worker acquire, align 8
  %at_work = icmp eq i64 %state, %busy
  br i1 %at_work, label %watch, label %done
watch:
  call void @look(ptr %worker, i64 %busy, i64 %patience, i64 -1, i64 -9223372036854775808)
  %then = load atomic i64, ptr %worker acquire, align 8
  %still = icmp eq i64 %then, %busy
  br i1 %still, label %lie_down, label %done
lie_down:
  call void @lock(ptr %worker)
  atomicrmw add ptr %awaited, i32 1 seq_cst
  br label %check
check:
  %now = load atomic i64, ptr %worker seq_cst, align 8
  %works = icmp eq i64 %now, %busy
  br i1 %works, label %doze, label %get_up
doze:
  call void @sleep(ptr %worker)
  br label %check
get_up:
  atomicrmw sub ptr %awaited, i32 1 seq_cst
  call void @unlock(ptr %worker)
  br label %done
done:
  %worked_at = getelementptr %worker, ptr %worker, i64 0, i32 9
  %worked = load atomic i64, ptr %worked_at monotonic, align 8
  ret i64 %worked
back:
  ret i64 0
}

; Run %body(%context, thread, threads) on this thread, the first, and on others of at most %wanted in all. It returns when
; every thread that has begun is done. The body does all of the work whoever takes part.
define void @nestor_parallel(ptr %body, ptr %context, i64 %wanted) {
entry:
  %workers = alloca [255 x ptr]
  %states = alloca [255 x i64]
  %debt_at = getelementptr %pool, ptr @pool, i64 0, i32 0
  %start = call i64 @now()
  %running_at = getelementptr %pool, ptr @pool, i64 0, i32 3
  %running = atomicrmw add ptr %running_at, i64 1 monotonic
  %calls = load atomic i64, ptr @{calls} monotonic, align 8
  %other_calls = sub i64 %calls, 1
  %taken = call i64 @llvm.smax.i64(i64 %running, i64 %other_calls)
  %most = sub i64 %wanted, 1
  %free = sub i64 %most, %taken
  %others = call i64 @llvm.smax.i64(i64 %free, i64 0)
  %debt = load atomic i64, ptr %debt_at monotonic, align 8
  %may_wake = icmp sle i64 %debt, 0
  br label %ask
ask:
  %k = phi i64 [ 0, %entry ], [ %following, %next ]
  %asked = phi i64 [ 0, %entry ], [ %asked_then, %next ]
  %more = icmp slt i64 %k, %others
  br i1 %more, label %one, label %all_asked
one:
  %worker = getelementptr %pool, ptr @pool, i64 0, i32 5, i64 %k
  %can = call i1 @can_ask(ptr %worker, i1 %may_wake)
  br i1 %can, label %reserve, label %next
reserve:
  %state = load atomic i64, ptr %worker monotonic, align 8
  %kind = and i64 %state, 3
  %idle = icmp eq i64 %kind, 0
  br i1 %idle, label %try, label %next
try:
  %reserved = add i64 %state, 1
  %result = cmpxchg ptr %worker, i64 %state, i64 %reserved acq_rel monotonic
  %mine = extractvalue { i64, i1 } %result, 1
  br i1 %mine, label %keep, label %next
keep:
  %worker_at = getelementptr ptr, ptr %workers, i64 %asked
  %state_at = getelementptr i64, ptr %states, i64 %asked
  store ptr %worker, ptr %worker_at
  store i64 %reserved, ptr %state_at
  %asked_one = add i64 %asked, 1
  br label %next
next:
  %asked_then = phi i64 [ %asked, %one ], [ %asked, %reserve ], [ %asked, %try ], [ %asked_one, %keep ]
  %following = add i64 %k, 1
  br label %ask

all_asked:
  %threads = add i64 %asked, 1
  br label %offers
offers:
  %j = phi i64 [ 0, %all_asked ], [ %thread, %offering ]
  %woken = phi i64 [ 0, %all_asked ], [ %woken_then, %offering ]
  %is_more = icmp slt i64 %j, %asked
  br i1 %is_more, label %offering, label %run
offering:
  %thread = add i64 %j, 1
  %offer_worker_at = getelementptr ptr, ptr %workers, i64 %j
  %offer_state_at = getelementptr i64, ptr %states, i64 %j
  %offer_worker = load ptr, ptr %offer_worker_at
  %offer_state = load i64, ptr %offer_state_at
  %had_to_wake = call i64 @offer(ptr %offer_worker, i64 %offer_state, ptr %body, ptr %context, i64 %thread, i64 %threads)
  %woken_then = add i64 %woken, %had_to_wake
  br label %offers

run:
  call void %body(ptr %context, i64 0, i64 %threads)
  %own_end = call i64 @now()
  %own = sub i64 %own_end, %start
  %eighth = ashr i64 %own, 3
  %some = call i64 @llvm.smax.i64(i64 %eighth, i64 {join_least})
  %patience = call i64 @llvm.smin.i64(i64 %some, i64 {quiet})
  br label %joins
joins:
  %i = phi i64 [ 0, %run ], [ %i_then, %joining ]
  %helped = phi i64 [ 0, %run ], [ %helped_then, %joining ]
  %left = icmp slt i64 %i, %asked
  br i1 %left, label %joining, label %joined
joining:
  %join_worker_at = getelementptr ptr, ptr %workers, i64 %i
  %join_state_at = getelementptr i64, ptr %states, i64 %i
  %join_worker = load ptr, ptr %join_worker_at
  %join_state = load i64, ptr %join_state_at
  %helped_one = call i64 @join(ptr %join_worker, i64 %join_state, i64 %patience)
  %helped_then = add i64 %helped, %helped_one
  %i_then = add i64 %i, 1
  br label %joins

joined:
  atomicrmw sub ptr %running_at, i64 1 monotonic
  %end = call i64 @now()
  %crowded_at = getelementptr %pool, ptr @pool, i64 0, i32 1
  %crowded_until = load atomic i64, ptr %crowded_at monotonic, align 8
  %crowded = icmp slt i64 %end, %crowded_until
  %cost = select i1 %crowded, i64 {crowded_debt}, i64 {wake_debt}
  %costs = mul i64 %woken, %cost
  %waited = sub i64 %end, %own_end
  %loss = sub i64 %waited, %helped
  %late = icmp sgt i64 %loss, {late}
  %lost = select i1 %late, i64 %loss, i64 0
  %owed_now = add i64 %costs, %lost
  %owed = add i64 %debt, %owed_now
  %rest = sub i64 %owed, %own
  %debt_then = call i64 @llvm.smax.i64(i64 %rest, i64 0)
  store atomic i64 %debt_then, ptr %debt_at monotonic, align 8
  br i1 %late, label %was_late, label %done
was_late:
  call void @is_crowded(i64 %end)
  ret void
done:
  ret void
}

; A call that another thread is about to begin counts as one that runs, so that a worker does not keep its processor: 1; -1: it begins.
define void @nestor_expect_call(i64 %by) {
  atomicrmw add ptr @{calls}, i64 %by monotonic
  ret void
}

; In a child that fork made there are no threads of its parent.
define void @nestor_forget_threads() {
  %end = getelementptr %pool, ptr null, i64 1
  %bytes = ptrtoint ptr %end to i64
  call void @llvm.memset.p0.i64(ptr align 64 @pool, i8 0, i64 %bytes, i1 false)
  ret void
}
