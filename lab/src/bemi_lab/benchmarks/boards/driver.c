/* Predicts every row of rows.h and prints the class indices, what each prediction took where the board can count it
   (instructions or cycles), how many bytes of stack it used, and what it took to push the samples of the row.  Whatever
   defines bemi_input_t, BEMI_INPUTS and bemi_predict in bemi_model.h can be run.  With BOARD_PUSH, rows are windows that
   are pushed sample by sample; BOARD_NO_STREAM leaves out the memory for them, which a model that does nothing needs not. */
#include "bemi_model.h"
#include "board.h"
#include "rows.h"

#define UNTOUCHED 0xA5

static void put_number(long value)
{
    char digits[12];
    int length = 0;
    if (value < 0) {
        board_put('-');
        value = -value;
    }
    do {
        digits[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (length > 0)
        board_put(digits[--length]);
}

#ifdef BOARD_PUSH
#define PREDICT() bemi_predict_window(STREAM)

#ifdef BOARD_NO_STREAM
#define STREAM 0
#else
static bemi_stream_t stream;
#define STREAM &stream
#endif

/* What pushing the samples of a row took. */
static unsigned long load(long row)
{
    unsigned long took = 0;
    bemi_input_t sample[BEMI_CHANNELS];
    long t, c;
    for (t = 0; t < BEMI_WINDOW; t++) {
        unsigned long before;
        for (c = 0; c < BEMI_CHANNELS; c++)
            sample[c] = (bemi_input_t)BOARD_READ(rows[row * BEMI_INPUTS + t * BEMI_CHANNELS + c]);
        before = board_clock();
        bemi_push(STREAM, sample);
        took += board_elapsed(before, board_clock());
    }
    return took;
}
#else
#define PREDICT() bemi_predict(x)

static bemi_input_t x[BEMI_INPUTS];

static unsigned long load(long row)
{
    /* Volatile, since a compiler may turn a plain copy into a call of memcpy. */
    volatile bemi_input_t *input = x;
    long i;
    for (i = 0; i < BEMI_INPUTS; i++)
        input[i] = (bemi_input_t)BOARD_READ(rows[row * BEMI_INPUTS + i]);
    return 0;
}
#endif

int main(void)
{
    long row;
    board_start();
#ifdef BOARD_PUSH
    bemi_stream_init(STREAM);
    /* So that the oldest sample of a window is not the first of the buffer. */
    for (row = 0; row < BEMI_WINDOW / 3; row++) {
        static const bemi_input_t nothing[BEMI_CHANNELS];
        bemi_push(STREAM, nothing);
    }
#endif
    for (row = 0; row < ROWS; row++) {
        unsigned long before, after;
        volatile uint8_t *stack, *place;
        const unsigned long pushed = load(row);
        int label;
        /* Not in a function of its own, whose frame would be painted over. */
        stack = BOARD_STACK;
        for (place = BOARD_STACK_END; place < stack; place++)
            *place = UNTOUCHED;
        before = board_clock();
        label = PREDICT();
        after = board_clock();
        for (place = BOARD_STACK_END; place < stack && *place == UNTOUCHED;)
            place++;
        put_number(label);
        board_put(' ');
        put_number((long)board_elapsed(before, after));
        board_put(' ');
        /* -1 if it may have used more than was painted. */
        put_number(place == BOARD_STACK_END ? -1 : (long)(stack - place));
        board_put(' ');
        put_number((long)pushed);
        board_put('\n');
    }
    board_stop();
    return 0;
}
