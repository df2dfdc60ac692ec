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

/* The letters of a word, n of them; what is longer than any proposal has none. */
static size_t spell(const char *word, size_t n, unsigned char at[static LONGEST])
{
    if (n > LONGEST)
        return 0;
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)letter(word[i]);
    return n;
}

/* Damerau 1964, Levenshtein 1966: rows of the table of distances between beginnings; a swap looks two rows back. More
 * than `most` is some number above it: every row is at least the least of the two before. */
static int distance(const unsigned char *a, size_t n, const unsigned char *b, size_t m, int most)
{
    int row[3][LONGEST + 1], least_last = 0;
    if ((int)(n > m ? n - m : m - n) > most)
        return most + 1;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3], least_now = (int)i;
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int least = last[j - 1] + (a[i - 1] != b[j - 1]);
            least = last[j] + 1 < least ? last[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            now[j] = least;
            least_now = least < least_now ? least : least_now;
        }
        if (least_now > most && least_last > most)
            return most + 1;
        least_last = least_now;
    }
    return row[n % 3][m];
}

int tn_words_apart(const char *word, size_t n, const char *name)
{
    unsigned char a[LONGEST], b[LONGEST];
    size_t m = spell(name, strlen(name), b);
    n = spell(word, n, a);
    if (!n || !m)
        return -1;
    int quarter = (int)(n + 2) / 4, most = quarter > (n > 2) ? quarter : n > 2;
    const char *dot = strrchr(name, '.');
    int d = distance(a, n, b, m, most);
    if (dot && dot[1]) {
        size_t before = (size_t)(dot + 1 - name);
        int part = 1 + distance(a, n, b + before, m - before, most);
        d = part < d ? part : d;
    }
    return d <= most ? d : -1;
}

void tn_nearest_offer(tn_nearest *s, const char *name)
{
    int d = tn_words_apart(s->word, s->n, name);
    if (d >= 0 && (!s->best || d < s->apart)) {
        s->best = name;
        s->apart = d;
    }
}
