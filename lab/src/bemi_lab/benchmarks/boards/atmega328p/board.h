/* An ATmega328P as simavr emulates it: rows stay in flash, output by the serial port, cycles by timer 1, which counts
   every 64th of them. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include <stdint.h>

#define BOARD_FLASH PROGMEM
#define BOARD_READ(place)                                                        \
    ((bemi_input_t)(sizeof(bemi_input_t) == 1   ? pgm_read_byte(&(place))        \
                    : sizeof(bemi_input_t) == 2 ? pgm_read_word(&(place))        \
                                                : pgm_read_dword(&(place))))
/* The stack pointer, and the end of the variables. */
#define BOARD_STACK ((uint8_t *)SP)
#define BOARD_STACK_END ((uint8_t *)&__heap_start)

extern uint8_t __heap_start;

static void board_put(char c)
{
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = (uint8_t)c;
}

static void board_start(void)
{
    UCSR0B = 1 << TXEN0;
    TCCR1B = 1 << CS11 | 1 << CS10;
}

static unsigned long board_clock(void)
{
    return TCNT1;
}

static unsigned long board_elapsed(unsigned long before, unsigned long after)
{
    return ((after - before) & 0xFFFF) * 64;
}

static void board_stop(void)
{
    /* simavr ends when the processor sleeps with interrupts off. */
    cli();
    sleep_mode();
}
