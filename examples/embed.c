/* A model as a library: no runtime to install, no file to ship. README.md beside this file builds it. */
#include "digit.h"

#include <stdio.h>

int main(void)
{
    float image[28 * 28] = {0}, score[10];
    for (int y = 4; y < 24; y++) /* a one */
        image[y * 28 + 14] = image[y * 28 + 15] = 255;
    struct tvmgen_digit_inputs in = {image};
    struct tvmgen_digit_outputs out = {score};
    if (tvmgen_digit_run(&in, &out))
        return fprintf(stderr, "%s\n", tvmgen_digit_error()), 1;
    for (int k = 0; k < 10; k++)
        printf("%d %8.3f\n", k, score[k]);
    return 0;
}
