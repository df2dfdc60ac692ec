#ifndef TENON_TESTS_RUNTIME_TSAN_FORK_H
#define TENON_TESTS_RUNTIME_TSAN_FORK_H
/* For tests that fork and start threads in the child: the thread sanitizer ends such children unless told not
 * to. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

#endif
