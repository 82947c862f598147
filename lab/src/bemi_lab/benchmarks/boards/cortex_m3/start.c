#include <stdint.h>

extern uint32_t stack_top, data_load, data_start, data_end, bss_start, bss_end;
int main(void);

void reset(void)
{
    const uint32_t *from = &data_load;
    for (volatile uint32_t *to = &data_start; to < &data_end;)
        *to++ = *from++;
    for (volatile uint32_t *to = &bss_start; to < &bss_end;)
        *to++ = 0;
    main();
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {&stack_top, (const void *)reset};
