/* Predicts every row of rows.h and prints the class indices, what each prediction took where the board can count it
   (instructions or cycles), and how many bytes of stack it used.  Whatever defines bemi_input_t, BEMI_INPUTS and
   bemi_predict in bemi_model.h can be run. */
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

int main(void)
{
    static bemi_input_t x[BEMI_INPUTS];
    long row, i;
    board_start();
    for (row = 0; row < ROWS; row++) {
        unsigned long before, after;
        volatile uint8_t *stack, *place;
        /* Volatile, since a compiler may turn a plain copy into a call of memcpy. */
        volatile bemi_input_t *input = x;
        int label;
        for (i = 0; i < BEMI_INPUTS; i++)
            input[i] = (bemi_input_t)BOARD_READ(rows[row * BEMI_INPUTS + i]);
        /* Not in a function of its own, whose frame would be painted over. */
        stack = BOARD_STACK;
        for (place = BOARD_STACK_END; place < stack; place++)
            *place = UNTOUCHED;
        before = board_clock();
        label = bemi_predict(x);
        after = board_clock();
        for (place = BOARD_STACK_END; place < stack && *place == UNTOUCHED;)
            place++;
        put_number(label);
        board_put(' ');
        put_number((long)board_elapsed(before, after));
        board_put(' ');
        /* -1 if it may have used more than was painted. */
        put_number(place == BOARD_STACK_END ? -1 : (long)(stack - place));
        board_put('\n');
    }
    board_stop();
    return 0;
}
