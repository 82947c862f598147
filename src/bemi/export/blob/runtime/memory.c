/* Numbers of a model are little-endian, at any address. */
#if defined(__AVR__) && !defined(BEMI_BLOB_IN_RAM)
#include <avr/pgmspace.h>
#define BEMI_TABLE static const PROGMEM
#define BEMI_READ8(place) pgm_read_byte(&(place))
#define BEMI_PLAIN16(place) pgm_read_word(&(place))
#else
#define BEMI_TABLE static const
#define BEMI_READ8(place) (place)
#define BEMI_PLAIN16(place) (place)
#endif
#define BEMI_READ16(place) ((uint16_t)bemi_u16((place).bytes))
#define BEMI_READ32(place) bemi_u32((place).bytes)
