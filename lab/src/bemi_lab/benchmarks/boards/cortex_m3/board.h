/* The Cortex-M3 of the MPS2 AN385 board as qemu emulates it: output by semihosting, time by the SysTick counter.  With
   -icount shift=0 an instruction takes a nanosecond, and the counter runs at 25 MHz: a tick is 40 instructions. */
#include <stdint.h>

#define BOARD_READ(place) (place)
/* The stack pointer, and so far below it that no prediction reaches it. */
#define BOARD_STACK ({ uint8_t *stack; __asm__ volatile("mov %0, sp" : "=r"(stack)); stack; })
#define BOARD_STACK_END ((uint8_t *)&stack_top - 32768)
#define SYSTICK ((volatile uint32_t *)0xE000E010)

extern uint32_t stack_top; /* in link.ld */

static char board_line[64];
static unsigned board_length;

static void board_call(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void board_put(char c)
{
    board_line[board_length++] = c;
    if (c == '\n' || board_length == sizeof board_line - 1) {
        board_line[board_length] = 0;
        board_call(0x04, board_line); /* SYS_WRITE0 */
        board_length = 0;
    }
}

static void board_start(void)
{
    SYSTICK[1] = 0xFFFFFF;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5;
}

static unsigned long board_clock(void)
{
    return SYSTICK[2];
}

static unsigned long board_elapsed(unsigned long before, unsigned long after)
{
    return ((before - after) & 0xFFFFFF) * 40;
}

static void board_stop(void)
{
    board_call(0x18, (void *)0x20026); /* SYS_EXIT, stopped by the application */
    for (;;) {
    }
}
