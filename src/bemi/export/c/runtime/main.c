/* An example for a desktop computer: reads rows of BEMI_INPUTS $what each and prints their labels.
   cc -std=c99 -O2 -I$folder $folder/bemi_model.c main.c -o predict && ./predict < inputs.txt */
#include <stdio.h>

#include "bemi_model.h"

int main(void)
{
    static const char *const labels[] = BEMI_CLASS_LABELS;
    static $type given[BEMI_INPUTS];
${state}    long value, count = 0;
${start}    while (scanf("%ld", &value) == 1) {
        if (value < $low || value > $high) {
            fprintf(stderr, "%ld is outside %ld..%ld\n", value, (long)$low, (long)$high);
            return 1;
        }
        given[count++] = ($type)value;
        if (count == BEMI_INPUTS) {
$predict
${smooth}            puts(label < 0 ? "unclassified" : labels[label]);
            count = 0;
        }
    }
    if (count > 0 || !feof(stdin)) {
        fprintf(stderr, "the last row is not %d integers\n", BEMI_INPUTS);
        return 1;
    }
    return 0;
}
