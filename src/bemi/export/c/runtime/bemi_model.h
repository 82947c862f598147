/* A few-bit ensemble, written by bemi $version.
$about */
#ifndef BEMI_MODEL_H
#define BEMI_MODEL_H

#include <stdint.h>

#define BEMI_INPUTS $inputs
typedef $input_type bemi_input_t;

/* Every input in this range gets exactly the same label as in Python. */
#define BEMI_INPUT_MIN $low
#define BEMI_INPUT_MAX $high

/* Upper limits for a Cortex-M3 with gcc -Os. */
#define BEMI_FLASH_BYTES $flash
#define BEMI_STACK_BYTES $stack

#define BEMI_CLASSES $classes
#define BEMI_CLASS_LABELS {$labels}
/* Bytes of the longest, with its end: on AVR, const char labels[BEMI_CLASSES][BEMI_LABEL_BYTES] PROGMEM stays in flash. */
#define BEMI_LABEL_BYTES $label_bytes

$class_names$shape$levels#ifdef __cplusplus
extern "C" {
#endif

/* Class index of an input, from 0, or -1 if it is unclassified. */
int bemi_predict(const bemi_input_t x[BEMI_INPUTS]);
$proba$scale$stream$smooth$learn
#ifdef __cplusplus
}
#endif

#endif
