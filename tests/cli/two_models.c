/* Two models in one program: each must answer for itself. Both take x, a vector of 4; the argument is how often. */
#include "twice.h"
#include "square.h"

#include <stdio.h>

int main(void)
{
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
