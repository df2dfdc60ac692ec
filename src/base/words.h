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

/* For "did you mean": how many letters must be changed, left out, added or swapped with their neighbour to
 * make `name` of word[0..n). Case, and - for _, cost nothing; the part of the name behind its last dot may
 * stand for the whole. -1: the two have too little in common to be worth a proposal. O(n * length). */
int tn_words_apart(const char *word, size_t n, const char *name);

typedef struct tn_nearest { /* the name offered that is nearest to word[0..n); best NULL: none is near */
    const char *word;
    size_t n;
    const char *best;
    int apart;
} tn_nearest;
void tn_nearest_offer(tn_nearest *s, const char *name);

#endif
