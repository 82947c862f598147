/* Tables stay in flash.  AVR reads flash with special instructions. */
#ifdef __AVR__
#include <avr/pgmspace.h>
#define BEMI_TABLE static const PROGMEM
#define BEMI_READ8(place) pgm_read_byte(&(place))
#define BEMI_READ16(place) pgm_read_word(&(place))
#define BEMI_READ32(place) pgm_read_dword(&(place))
#else
#define BEMI_TABLE static const
#define BEMI_READ8(place) (place)
#define BEMI_READ16(place) (place)
#define BEMI_READ32(place) (place)
#endif
