    .section .start, "ax"
    .globl _start
_start:
    la sp, stack_top
    la t0, bss_start
    la t1, bss_end
clear:
    bgeu t0, t1, go
    sw zero, 0(t0)
    addi t0, t0, 4
    j clear
go:
    call main
stop:
    j stop

    # The three instructions that mean a semihosting call must not be compressed, and must lie in one page.
    .text
    .globl board_call
    .option norvc
    .balign 16
board_call:
    slli x0, x0, 0x1f
    ebreak
    srai x0, x0, 7
    ret
