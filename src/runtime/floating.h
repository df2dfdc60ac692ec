#ifndef TNR_FLOATING_H
#define TNR_FLOATING_H
/* The floating-point control word of the thread: compiled code runs with the default one (round to nearest
 * even, denormals kept, exceptions masked), whatever the caller has set. Flags raised inside are not left
 * behind. */
#include <stdint.h>

#if defined(__SSE__)
#include <xmmintrin.h>
typedef uint32_t tnr_floating;
static inline tnr_floating tnr_floating_default(void)
{
    tnr_floating old = _mm_getcsr();
    _mm_setcsr(0x1F80);
    return old;
}
static inline void tnr_floating_restore(tnr_floating old) { _mm_setcsr(old); }
#elif defined(__aarch64__)
typedef uint64_t tnr_floating;
static inline tnr_floating tnr_floating_default(void)
{
    tnr_floating old;
    __asm__ volatile("mrs %0, fpcr" : "=r"(old));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    return old;
}
static inline void tnr_floating_restore(tnr_floating old) { __asm__ volatile("msr fpcr, %0" : : "r"(old)); }
#else
#include <fenv.h>
typedef fenv_t tnr_floating;
static inline tnr_floating tnr_floating_default(void)
{
    tnr_floating old;
    fegetenv(&old);
    fesetenv(FE_DFL_ENV);
    return old;
}
static inline void tnr_floating_restore(tnr_floating old) { fesetenv(&old); }
#endif

#endif
