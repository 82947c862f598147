/* Runs few-bit models that are data, written by bemi export blob; for version $version of their format.  $inputs

   bemi_blob_open checks a whole model once: length, checksum, version, and every number that could lead out of it.  No
   bytes make this program read or write outside of the model, the inputs and the work memory, or overflow.  A checksum
   finds damage; whether a model is yours, only a signature can tell. */
#ifndef BEMI_BLOB_H
#define BEMI_BLOB_H

#include <stdint.h>

typedef $input_type bemi_blob_input_t;
#define BEMI_BLOB_INPUTS_ID ${id}UL

/* What bemi_blob_open returns. */
#define BEMI_BLOB_OK 0
#define BEMI_BLOB_BAD_LENGTH 1
#define BEMI_BLOB_BAD_MAGIC 2
#define BEMI_BLOB_BAD_VERSION 3
#define BEMI_BLOB_BAD_CHECKSUM 4
#define BEMI_BLOB_OTHER_INPUTS 5 /* made for a runtime with other inputs */
#define BEMI_BLOB_BAD_CONTENT 6

/* What bemi_blob_predict returns besides a class index. */
#define BEMI_BLOB_UNCLASSIFIED (-1)
#define BEMI_BLOB_OUT_OF_RANGE (-2) /* an input is below low or above high */

typedef struct {
    uint8_t bytes[2];
} bemi_two_t;
typedef struct {
    uint8_t bytes[4];
} bemi_four_t;

/* An open model: where its parts are.  The model itself must stay in memory. */
typedef struct {
    int32_t $fields;
$sections} bemi_blob_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the model of a length at any address; on AVR in program memory, unless compiled with BEMI_BLOB_IN_RAM. */
int bemi_blob_open(bemi_blob_t *blob, const void *model, uint32_t length);

/* Bytes of memory that a prediction works in, aligned for an int32_t. */
uint32_t bemi_blob_work(const bemi_blob_t *blob);

/* Class index of blob->inputs inputs, from 0, or a negative number. */
int bemi_blob_predict(const bemi_blob_t *blob, const bemi_blob_input_t *x, void *work);
$window
/* Copies as much of a class's name as fits, with its end. */
void bemi_blob_label(const bemi_blob_t *blob, int label, char *text, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
