/* Counts the bytes that a process has allocated, and the most it had at once since a moment: loaded by LD_PRELOAD (glibc).

   allocations_start();  ...  allocations_peak()    bytes beyond those that there were at the start
*/
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static atomic_long live, most, base;

static void *added(void *p) {
  if (p) {
    long now = atomic_fetch_add(&live, (long)malloc_usable_size(p)) + (long)malloc_usable_size(p);
    long seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {
    }
  }
  return p;
}

static void removed(void *p) {
  if (p) atomic_fetch_sub(&live, (long)malloc_usable_size(p));
}

void *malloc(size_t n) { return added(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return added(__libc_calloc(n, size)); }
void *memalign(size_t at, size_t n) { return added(__libc_memalign(at, n)); }
void *aligned_alloc(size_t at, size_t n) { return added(__libc_memalign(at, n)); }

int posix_memalign(void **p, size_t at, size_t n) {
  *p = added(__libc_memalign(at, n));
  return *p ? 0 : ENOMEM;
}

void *realloc(void *p, size_t n) {
  removed(p);
  void *made = __libc_realloc(p, n);
  if (!made && n) { /* the old one is still there */
    added(p);
    return made;
  }
  return added(made);
}

void free(void *p) {
  removed(p);
  __libc_free(p);
}

void allocations_start(void) {
  base = live;
  most = live;
}

long allocations_peak(void) { return most - base; }
