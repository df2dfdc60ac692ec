/* Two models in one program: each must answer for itself, and in each thread. Both take x, a vector of 4. */
#include "twice.h"
#include "square.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A call without inputs is refused in words that other threads and the other model do not see. */
static void *fail(void *yes)
{
    struct tvmgen_twice_outputs none = {NULL};
    int code = tvmgen_twice_run(NULL, &none);
    return code && strstr(tvmgen_twice_error(), "NULL") && !*tvmgen_square_error() ? yes : NULL;
}

static int errors_are_apart(void)
{
    pthread_t t;
    char yes = 0;
    void *ok = NULL;
    if (pthread_create(&t, NULL, fail, &yes) || pthread_join(t, &ok))
        return 0;
    return ok && !*tvmgen_twice_error();
}

int main(void)
{
    if (!errors_are_apart())
        return fprintf(stderr, "errors: %s %s\n", tvmgen_twice_error(), tvmgen_square_error()), 1;
    for (int round = 0; round < 3; round++) {
        float x[4] = {1, 2, 3, 5}, a[4] = {0}, b[4] = {0};
        struct tvmgen_twice_inputs ti = {x};
        struct tvmgen_twice_outputs to = {a};
        struct tvmgen_square_inputs si = {x};
        struct tvmgen_square_outputs so = {b};
        if (tvmgen_square_run(&si, &so) || tvmgen_twice_run(&ti, &to))
            return fprintf(stderr, "%s%s\n", tvmgen_twice_error(), tvmgen_square_error()), 1;
        for (int i = 0; i < 4; i++)
            if (a[i] != 2 * x[i] || b[i] != x[i] * x[i])
                return fprintf(stderr, "%g: twice %g, square %g\n", x[i], a[i], b[i]), 1;
        tvmgen_twice_free(); /* the other one goes on */
    }
    return 0;
}
