/* A 32-bit RISC-V as qemu's virt machine emulates it: output by semihosting, instructions from the instret counter. */
#include <stdint.h>

#define BOARD_READ(place) (place)
/* The stack pointer, and so far below it that no prediction reaches it. */
#define BOARD_STACK ({ uint8_t *stack; __asm__ volatile("mv %0, sp" : "=r"(stack)); stack; })
#define BOARD_STACK_END ((uint8_t *)&stack_top - 32768)

extern uint32_t stack_top; /* in link.ld */

static char board_line[64];
static unsigned board_length;

void board_call(long operation, const void *argument); /* in start.S */

static void board_put(char c)
{
    board_line[board_length++] = c;
    if (c == '\n' || board_length == sizeof board_line - 1) {
        board_line[board_length] = 0;
        board_call(0x04, board_line);
        board_length = 0;
    }
}

static void board_start(void)
{
}

static unsigned long board_clock(void)
{
    unsigned long count;
    __asm__ volatile("csrr %0, minstret" : "=r"(count));
    return count;
}

static unsigned long board_elapsed(unsigned long before, unsigned long after)
{
    return after - before;
}

static void board_stop(void)
{
    board_call(0x18, (void *)0x20026);
    for (;;) {
    }
}
