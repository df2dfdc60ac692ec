#ifndef TENON_TESTS_SANITIZED_H
#define TENON_TESTS_SANITIZED_H
/* RUN_SANITIZED: 1 in builds with a sanitizer, which are five to ten times as slow: long tests take fewer cases. */
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RUN_SANITIZED 1
#endif
#endif
#ifndef RUN_SANITIZED
#define RUN_SANITIZED 0
#endif

/* What a build with sanitizers may leave to the release build: all is taken where TENON_SLOW is set. */
#define RUN_FEWER (RUN_SANITIZED && !getenv("TENON_SLOW"))

#endif
