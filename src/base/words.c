/* Lists of words. O(length) each. */
#include "base/words.h"

#include <ctype.h>
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

/* ---- did you mean ---- */

enum { LONGEST = 63 }; /* letters of a word that is worth a proposal */

static int letter(char c) { return c == '_' ? '-' : tolower((unsigned char)c); }

/* Damerau 1964, Levenshtein 1966: rows of the table of distances between beginnings; a swap looks two rows back. */
static int distance(const char *a, size_t n, const char *b, size_t m)
{
    int row[3][LONGEST + 1] = {{0}};
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int x = letter(a[i - 1]), y = letter(b[j - 1]), least = last[j - 1] + (x != y);
            least = last[j] + 1 < least ? last[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && x == letter(b[j - 2]) && letter(a[i - 2]) == y && before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            now[j] = least;
        }
    }
    return row[n % 3][m];
}

int tn_words_apart(const char *word, size_t n, const char *name)
{
    size_t m = strlen(name);
    if (!n || !m || n > LONGEST || m > LONGEST)
        return -1;
    const char *dot = strrchr(name, '.');
    int d = distance(word, n, name, m);
    if (dot && dot[1]) {
        int part = 1 + distance(word, n, dot + 1, strlen(dot + 1));
        d = part < d ? part : d;
    }
    return d <= (int)(n + 2) / 4 || d <= (n > 2) ? d : -1;
}

void tn_nearest_offer(tn_nearest *s, const char *name)
{
    int d = tn_words_apart(s->word, s->n, name);
    if (d >= 0 && (!s->best || d < s->apart)) {
        s->best = name;
        s->apart = d;
    }
}
