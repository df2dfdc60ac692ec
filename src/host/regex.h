#ifndef TENON_HOST_REGEX_H
#define TENON_HOST_REGEX_H
/* Regular expressions in RE2's syntax, matched in time proportional to pattern times text. Not known: single
 * bytes (\C). */
#include "host/host.h"

typedef struct tnh_regex tnh_regex;

/* In memory of tnh_new. A run changes it, so it is one call's. NULL: the pattern is not valid, which is reported with
 * what is wrong and where. */
tnh_regex *tnh_regex_new(tnh_call *h, tnh_text pattern);

/* Does the pattern match the whole text? */
bool tnh_regex_matches(tnh_regex *r, tnh_text text);

/* The match that begins first at byte `from` or behind it, and of those that begin there the longest, or the
 * one that the pattern prefers: the first of alternatives, as many repetitions as there are, or of lazy ones
 * as few. It may be empty. In time proportional to pattern times the square of text, where matches that fail
 * are long. */
bool tnh_regex_search(tnh_regex *r, tnh_text text, size_t from, bool longest, tnh_text *out);

#endif
