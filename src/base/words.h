#ifndef TN_BASE_WORDS_H
#define TN_BASE_WORDS_H
/* Lists of words: in a string with blanks between them, "NCHW NHWC", or as pointers. */
#include <stdbool.h>
#include <stddef.h>

/* The next word of the list that *at stands in (NULL: none), which then stands behind it; false at the end. */
bool tn_words_next(const char **at, const char **word, size_t *n);
/* Number of the word that is `word`, from 0 on; -1: there is none. */
int tn_words_find(const char *list, const char *word);
/* Is `word` one of the n? */
bool tn_words_hold(const char *const *at, size_t n, const char *word);

#endif
