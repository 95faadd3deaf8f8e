/* layer: core */
/** Numbers as text for people and programs: what is read back is the same number. */
#ifndef RLMR_NUMBER_TEXT_H
#define RLMR_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { RLMR_NUMBER_TEXT_BYTES = 32 }; /**< of the longest text, with its NUL */

/** The shortest decimal text that names this double, as Python's repr() has it: 0.1, 3.0, 4e-06, 1e+16, nan, inf.
 *
 *  @param text  out: NUL-terminated  @return its bytes without the NUL */
size_t rlmr_number_text(double value, char text[RLMR_NUMBER_TEXT_BYTES]);

/** Nanoseconds as microseconds, exactly, and at least one digit behind the point: 1723545784022534.0. Not of INT64_MIN.
 *  @return as rlmr_number_text() */
size_t rlmr_number_text_us(int64_t ns, char text[RLMR_NUMBER_TEXT_BYTES]);

/** `value` rounded to so many decimals, at most 9, halves by the digits of its exact value; other than by scaling, a value is
 *  never rounded twice. Not finite stays as it is. */
double rlmr_number_round(double value, int decimals);

#endif
