/* An example for a desktop computer: reads samples of BEMI_CHANNELS integers each and prints the label of the last
   BEMI_WINDOW of them, again after every HOP samples.
   cc -std=c99 -O2 -I$folder $folder/bemi_model.c main.c -o predict && ./predict < samples.txt */
#include <stdio.h>

#include "bemi_model.h"

#define HOP ((BEMI_WINDOW + 1) / 2)

int main(void)
{
    static const char *const labels[] = BEMI_CLASS_LABELS;
    static bemi_stream_t stream; /* one for each sensor */
${state}    bemi_input_t sample[BEMI_CHANNELS];
    long value, since = 0;
    int label, count = 0;
    bemi_stream_init(&stream);
${start}    while (scanf("%ld", &value) == 1) {
        if (value < BEMI_INPUT_MIN || value > BEMI_INPUT_MAX) {
            fprintf(stderr, "%ld is outside %ld..%ld\n", value, (long)BEMI_INPUT_MIN, (long)BEMI_INPUT_MAX);
            return 1;
        }
        sample[count++] = (bemi_input_t)value;
        if (count < BEMI_CHANNELS)
            continue;
        count = 0;
        bemi_push(&stream, sample);
        if (++since < HOP)
            continue;
        since = 0;
        label = bemi_predict_window(&stream);
        if (label == BEMI_NOT_READY)
            continue;
${smooth}        puts(label < 0 ? "unclassified" : labels[label]);
    }
    if (count > 0 || !feof(stdin)) {
        fprintf(stderr, "the last sample is not %d integers\n", BEMI_CHANNELS);
        return 1;
    }
    return 0;
}
