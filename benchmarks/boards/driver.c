/* Predicts every row of rows.h and prints the class indices, and how many instructions each prediction took where the
   board can count them. */
#include "bemi_model.h"
#include "board.h"
#include "rows.h"

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
        int label;
        for (i = 0; i < BEMI_INPUTS; i++)
            x[i] = (bemi_input_t)BOARD_READ(rows[row * BEMI_INPUTS + i]);
        before = board_clock();
        label = bemi_predict(x);
        after = board_clock();
        put_number(label);
        board_put(' ');
        put_number((long)board_elapsed(before, after));
        board_put('\n');
    }
    board_stop();
    return 0;
}
