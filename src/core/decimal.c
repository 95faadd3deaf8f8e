#include "rlmr/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_DIGITS_MIN 16
#define EXPONENT_MAX 9999 /* far beyond what fits, so that larger ones need not be kept exactly */
#define DIGITS_MAX 19     /* that fit 64 bits, whatever they are */

/* value = 0.<significant digits> * 10^point */
typedef struct {
    uint64_t digits; /* the first of them, as an integer */
    int count;       /* of all, without leading zeros */
    int taken;       /* of them in digits */
    bool next_five;  /* the first that is not in digits is 5 or more */
    bool more;       /* one of those that are not is no zero */
    int point;
    int exponent;         /* as it is written */
    rlmr_slice magnitude; /* what is before the exponent, without its sign */
    bool negative;
    bool has_fraction;
    bool has_exponent;
} decimal;

static const uint64_t powers_of_ten[DIGITS_MAX + 1] = {
    1U,
    10U,
    100U,
    1000U,
    10000U,
    100000U,
    1000000U,
    10000000U,
    100000000U,
    1000000000U,
    10000000000U,
    100000000000U,
    1000000000000U,
    10000000000000U,
    100000000000000U,
    1000000000000000U,
    10000000000000000U,
    100000000000000000U,
    1000000000000000000U,
    10000000000000000000U,
};

/* @return behind the digits, or 0 if there are none */
static size_t parse_mantissa(rlmr_slice text, size_t at, decimal *out) {
    uint64_t digits = 0;
    int count = 0;
    int behind_point = 0;
    bool fraction = false;
    bool any = false;
    for (; at < text.bytes; at++) {
        unsigned digit = (unsigned)text.text[at] - '0';
        if (digit > 9) {
            if (text.text[at] != '.' || fraction) {
                break;
            }
            fraction = true;
            continue;
        }
        any = true;
        behind_point += fraction;
        if (count < DIGITS_MAX) {
            digits = digits * 10 + digit;
            count += digits != 0;
        } else {
            out->next_five = out->next_five || (count == DIGITS_MAX && digit >= 5);
            out->more = out->more || digit != 0;
            count++;
        }
    }
    out->digits = digits;
    out->count = count;
    out->taken = count < DIGITS_MAX ? count : DIGITS_MAX;
    out->point = count - behind_point;
    out->has_fraction = fraction;
    return any ? at : 0;
}

static bool parse_exponent(rlmr_slice text, size_t at, decimal *out) {
    bool negative = at < text.bytes && text.text[at] == '-';
    if (at < text.bytes && (text.text[at] == '-' || text.text[at] == '+')) {
        at++;
    }
    if (at == text.bytes) {
        return false;
    }
    int exponent = 0;
    for (; at < text.bytes; at++) {
        if (text.text[at] < '0' || text.text[at] > '9') {
            return false;
        }
        exponent = exponent * 10 + (text.text[at] - '0');
        exponent = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent;
    }
    out->exponent = negative ? -exponent : exponent;
    out->point += out->exponent;
    out->has_exponent = true;
    return true;
}

static bool parse(rlmr_slice text, decimal *out) {
    *out = (decimal){.negative = text.bytes > 0 && text.text[0] == '-'};
    if (text.bytes == 0 || text.bytes > RLMR_DECIMAL_BYTES_MAX) {
        return false;
    }
    size_t from = text.text[0] == '-' || text.text[0] == '+' ? 1 : 0;
    size_t at = parse_mantissa(text, from, out);
    if (at == 0) {
        return false;
    }
    out->magnitude = (rlmr_slice){.text = text.text + from, .bytes = at - from};
    if (at == text.bytes) {
        return true;
    }
    return (text.text[at] == 'e' || text.text[at] == 'E') && parse_exponent(text, at + 1, out);
}

/* The number times 10^shift as an integer, half away from zero. */
static bool to_integer(const decimal *number, int shift, int64_t *value) {
    int whole = number->point + shift; /* so many digits are before the point */
    uint64_t magnitude = 0;
    if (number->count > 0 && whole > DIGITS_MAX) {
        return false;
    }
    if (number->count > 0 && whole >= number->taken) {
        magnitude = number->digits * powers_of_ten[whole - number->taken]; /* at most 19 digits */
        magnitude += number->next_five; /* which stands behind 19 digits: the power was 1 */
    } else if (number->count > 0 && whole >= 0) {
        uint64_t power = powers_of_ten[number->taken - whole];
        magnitude = number->digits / power + (number->digits % power >= power / 2);
    }
    if (magnitude > INT64_MAX) {
        return false;
    }
    *value = number->negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

bool rlmr_decimal_us_to_ns(rlmr_slice text, int64_t *ns) {
    decimal number;
    return parse(text, &number) && to_integer(&number, 3, ns);
}

bool rlmr_decimal_time_to_ns(rlmr_slice text, int power, int64_t *ns) {
    decimal number;
    if (!parse(text, &number) || (number.has_exponent && number.count < TIME_DIGITS_MIN)) {
        return false;
    }
    return to_integer(&number, power, ns);
}

/* Digits and a power of ten that are both doubles exactly: one operation rounds once (Clinger, How to Read Floating Point
 * Numbers Accurately, PLDI 1990). @return false if they are not */
static bool to_double_at_once(uint64_t digits, int power, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { POWER_MAX = sizeof powers / sizeof powers[0] - 1 };
    if (digits > (uint64_t)1 << 53 || power > POWER_MAX || power < -POWER_MAX) {
        return false;
    }
    *value = power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
    return true;
}

__extension__ typedef unsigned __int128 wide;

/* digits / divisor, both not 0: the integer quotient has 64 bits and more, of which 55 are kept, and the last of these says whether anything
 * is behind it; so the one conversion rounds as if all were there. */
static double divide(uint64_t digits, uint64_t divisor) {
    enum { KEPT_BITS = 55 };
    int shift = __builtin_clzll(digits);
    wide dividend = (wide)(digits << shift) << 64;
    wide quotient = dividend / divisor;
    uint64_t high = (uint64_t)(quotient >> 64);
    int bits = high != 0 ? 128 - __builtin_clzll(high) : 64;
    int dropped = bits - KEPT_BITS;
    uint64_t kept = (uint64_t)(quotient >> dropped);
    bool rest = (wide)kept << dropped != quotient || quotient * divisor != dividend;
    return ldexp((double)(kept | rest), dropped - 64 - shift);
}

/* One call of strtod() rounds once, whatever the digits and the exponent. The program never sets a locale, so the point is a point. */
static double to_double_by_library(const decimal *number, int exponent) {
    char text[RLMR_DECIMAL_BYTES_MAX + 32];
    (void)snprintf(text, sizeof text, "%.*se%d", (int)number->magnitude.bytes, number->magnitude.text,
                   number->exponent + exponent);
    return strtod(text, NULL);
}

bool rlmr_decimal_to_double(rlmr_slice text, int exponent, double *value) {
    decimal number;
    double magnitude = 0;
    if (!parse(text, &number)) {
        return false;
    }
    int power = number.point + exponent - number.taken;
    bool all_taken = number.count == number.taken;
    if (all_taken && number.digits != 0 && power < 0 && power >= -DIGITS_MAX &&
        number.digits > (uint64_t)1 << 53) {
        magnitude = divide(number.digits, powers_of_ten[-power]);
    } else if (number.count > 0 && !(all_taken && to_double_at_once(number.digits, power, &magnitude))) {
        magnitude = to_double_by_library(&number, exponent);
    }
    *value = number.negative ? -magnitude : magnitude;
    return isfinite(magnitude);
}

bool rlmr_decimal_to_i64(rlmr_slice text, int64_t *value) {
    decimal number;
    return parse(text, &number) && !number.has_fraction && !number.has_exponent &&
           to_integer(&number, 0, value);
}

bool rlmr_decimal_to_whole(rlmr_slice text, int64_t *value) {
    decimal number;
    if (!parse(text, &number) || number.more) {
        return false;
    }
    int whole = number.point > 0 ? number.point : 0;
    if (whole < number.taken && number.digits % powers_of_ten[number.taken - whole] != 0) {
        return false;
    }
    return to_integer(&number, 0, value);
}
