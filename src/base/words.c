/* Lists of words. O(length) each. */
#include "base/words.h"

#include <string.h>

bool tn_words_next(const char **at, const char **word, size_t *n)
{
    if (!*at)
        return false;
    *word = *at + strspn(*at, " ");
    *n = strcspn(*word, " ");
    *at = *word + *n;
    return *n > 0;
}

int tn_words_find(const char *list, const char *word)
{
    const char *w;
    size_t n, want = strlen(word);
    for (int i = 0; tn_words_next(&list, &w, &n); i++)
        if (n == want && memcmp(w, word, n) == 0)
            return i;
    return -1;
}

bool tn_words_hold(const char *const *at, size_t n, const char *word)
{
    size_t i = 0;
    while (i < n && strcmp(at[i], word) != 0)
        i++;
    return i < n;
}
