/* An example for a desktop computer: reads inputs of BEMI_INPUTS integers each and prints their labels.
   cc -std=c99 -O2 bemi_model.c main.c -o predict && ./predict < inputs.txt */
#include <stdio.h>

#include "bemi_model.h"

int main(void)
{
    static const char *const labels[] = BEMI_CLASS_LABELS;
    static bemi_input_t x[BEMI_INPUTS];
    long value, count = 0;
    while (scanf("%ld", &value) == 1) {
        if (value < BEMI_INPUT_MIN || value > BEMI_INPUT_MAX) {
            fprintf(stderr, "%ld is outside %ld..%ld\n", value, (long)BEMI_INPUT_MIN, (long)BEMI_INPUT_MAX);
            return 1;
        }
        x[count++] = (bemi_input_t)value;
        if (count == BEMI_INPUTS) {
            int label = bemi_predict(x);
            puts(label < 0 ? "unclassified" : labels[label]);
            count = 0;
        }
    }
    if (count > 0 || !feof(stdin)) {
        fprintf(stderr, "the last input is not %d integers\n", BEMI_INPUTS);
        return 1;
    }
    return 0;
}
