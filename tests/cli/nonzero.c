/* A result whose extent the run finds: room is given, what is there is told; too little room is an error. */
#include "nonzero.h"

#include <stdio.h>

int main(void)
{
    float x[8] = {0, 1, 0, 0, 2, 0, 3, 0};
    static const int64_t want[6] = {0, 1, 1, 1, 0, 2};
    int64_t y[16];
    struct tvmgen_nonzero_inputs in = {x};
    struct tvmgen_nonzero_outputs out = {y};
    for (int64_t room = 8; room >= 2; room--) {
        struct tvmgen_nonzero_symbols sizes = {room};
        int code = tvmgen_nonzero_run_symbolic(&in, &out, &sizes);
        if ((code == 0) != (room >= 3) || (code == 0 && sizes.u0 != 3))
            return fprintf(stderr, "room for %d: %d %d %s\n", (int)room, code, (int)sizes.u0,
                           tvmgen_nonzero_error()),
                   1;
        for (int i = 0; i < 6 && !code; i++)
            if (y[i] != want[i])
                return fprintf(stderr, "y[%d] = %d\n", i, (int)y[i]), 1;
    }
    for (int i = 0; i < 8; i++)
        x[i] = 0;
    struct tvmgen_nonzero_symbols none = {0}; /* none are found: no room is needed */
    if (tvmgen_nonzero_run_symbolic(&in, &out, &none) || none.u0 != 0)
        return fprintf(stderr, "%d %s\n", (int)none.u0, tvmgen_nonzero_error()), 1;
    return 0;
}
