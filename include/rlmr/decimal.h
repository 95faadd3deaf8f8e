/* layer: core */
/** Exact numbers from decimal text: [+-] digits [. digits] [e [+-] digits], at least one digit, no blanks,
 *  nothing after.
 *
 *  Time stamps have 19 digits in ns, where a double has steps of 250 ns; so they go from digits to integers
 *  directly.
 */
#ifndef RLMR_DECIMAL_H
#define RLMR_DECIMAL_H

#include "rlmr/bytes.h"

/** Longest text that is taken for a number; longer ones are refused. */
#define RLMR_DECIMAL_BYTES_MAX 255

/** Microseconds as text to ns, rounded half away from zero.
 *
 *  @return false if `text` is no decimal number, or does not fit 64 bits */
bool rlmr_decimal_us_to_ns(rlmr_slice text, int64_t *ns);

/** A time stamp as text, times 10^power, as ns (power 3: microseconds): as rlmr_decimal_us_to_ns(), but with an exponent and
 *  fewer than 16 significant digits it is refused, since a spreadsheet has thrown the precision away. */
bool rlmr_decimal_time_to_ns(rlmr_slice text, int power, int64_t *ns);

/** The double nearest to text * 10^exponent, rounded once. @return false if `text` is no number or too great
 */
bool rlmr_decimal_to_double(rlmr_slice text, int exponent, double *value);

/** An integer as text, without point or exponent. @return false if it is anything else or does not fit 64
 *  bits */
bool rlmr_decimal_to_i64(rlmr_slice text, int64_t *value);

/** As rlmr_decimal_to_i64(), but an integer may be written as a float: "3.0", "3e2". */
bool rlmr_decimal_to_whole(rlmr_slice text, int64_t *value);

#endif
