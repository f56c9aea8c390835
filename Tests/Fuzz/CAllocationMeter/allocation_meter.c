// Counts allocated bytes: by AddressSanitizer's hooks if present, otherwise by a malloc of the program that calls glibc's.
#include "CAllocationMeter.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>

static atomic_long live;
static atomic_long peak;
static atomic_long start;
static atomic_long total;

static void count(long bytes) {
    if (bytes > 0) atomic_fetch_add_explicit(&total, bytes, memory_order_relaxed);
    long now = atomic_fetch_add_explicit(&live, bytes, memory_order_relaxed) + bytes;
    if (now > atomic_load_explicit(&peak, memory_order_relaxed)) atomic_store_explicit(&peak, now, memory_order_relaxed);
}

void allocation_meter_start(void) {
    long now = atomic_load_explicit(&live, memory_order_relaxed);
    atomic_store_explicit(&start, now, memory_order_relaxed);
    atomic_store_explicit(&peak, now, memory_order_relaxed);
    atomic_store_explicit(&total, 0, memory_order_relaxed);
}

size_t allocation_meter_total(void) { return (size_t)atomic_load_explicit(&total, memory_order_relaxed); }

size_t allocation_meter_peak(void) {
    long bytes = atomic_load_explicit(&peak, memory_order_relaxed) - atomic_load_explicit(&start, memory_order_relaxed);
    return bytes > 0 ? (size_t)bytes : 0;
}

#ifdef FUZZER
#include <stdint.h>

extern int __sanitizer_install_malloc_and_free_hooks(
    void (*allocated)(const volatile void *, size_t), void (*freed)(const volatile void *));
extern size_t __sanitizer_get_allocated_size(const volatile void *);

static void allocated(const volatile void *block, size_t size) { if (block) count((long)size); }
static void freed(const volatile void *block) { if (block) count(-(long)__sanitizer_get_allocated_size(block)); }

__attribute__((constructor)) static void install(void) { __sanitizer_install_malloc_and_free_hooks(allocated, freed); }
#else
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static void *counted(void *block) {
    if (block) count((long)malloc_usable_size(block));
    return block;
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }
void *calloc(size_t number, size_t size) { return counted(__libc_calloc(number, size)); }
void *memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = counted(__libc_memalign(alignment, size));
    return *block ? 0 : ENOMEM;
}

void *realloc(void *block, size_t size) {
    long before = block ? (long)malloc_usable_size(block) : 0;
    void *grown = __libc_realloc(block, size);
    // The old and the new block may exist together for a moment. Size 0 frees the block.
    if (grown || size == 0) count(-before);
    return counted(grown);
}

void free(void *block) {
    if (block) count(-(long)malloc_usable_size(block));
    __libc_free(block);
}
#endif
