#include "rlmr/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_DIGITS_MIN 16
#define EXPONENT_MAX 9999 /* far beyond what fits, so that larger ones need not be kept exactly */

/* value = 0.<digits> * 10^point, without leading zeros in digits */
typedef struct {
    char digits[RLMR_DECIMAL_BYTES_MAX];
    int count;
    int point;
    bool negative;
    bool has_fraction;
    bool has_exponent;
} decimal;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t parse_mantissa(rlmr_slice text, size_t at, decimal *out) {
    bool any = false;
    for (; at < text.bytes; at++) {
        char c = text.text[at];
        if (c == '.' && !out->has_fraction) {
            out->has_fraction = true;
            continue;
        }
        if (!is_digit(c)) {
            break;
        }
        any = true;
        if (out->count > 0 || c != '0') {
            out->digits[out->count++] = c;
            out->point += out->has_fraction ? 0 : 1;
        } else if (out->has_fraction) {
            out->point--;
        }
    }
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
        if (!is_digit(text.text[at])) {
            return false;
        }
        exponent = exponent * 10 + (text.text[at] - '0');
        exponent = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent;
    }
    out->point += negative ? -exponent : exponent;
    out->has_exponent = true;
    return true;
}

static bool parse(rlmr_slice text, decimal *out) {
    out->count = 0; /* and so there are no digits */
    out->point = 0;
    out->has_fraction = false;
    out->has_exponent = false;
    out->negative = false;
    if (text.bytes == 0 || text.bytes > RLMR_DECIMAL_BYTES_MAX) {
        return false;
    }
    out->negative = text.text[0] == '-';
    size_t at = parse_mantissa(text, text.text[0] == '-' || text.text[0] == '+' ? 1 : 0, out);
    if (at == 0) {
        return false;
    }
    if (at == text.bytes) {
        return true;
    }
    return (text.text[at] == 'e' || text.text[at] == 'E') && parse_exponent(text, at + 1, out);
}

/* The number times 10^shift as an integer, half away from zero. */
static bool to_integer(const decimal *number, int shift, int64_t *value) {
    int whole = number->point + shift;
    uint64_t magnitude = 0;
    if (number->count > 0 && whole > 19) {
        return false;
    }
    for (int i = 0; i < whole && number->count > 0; i++) {
        uint64_t digit = i < number->count ? (uint64_t)(number->digits[i] - '0') : 0;
        magnitude = magnitude * 10 + digit; /* at most 19 digits: no overflow of 64 unsigned bits */
    }
    if (whole >= 0 && whole < number->count && number->digits[whole] >= '5') {
        magnitude++;
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
static bool to_double_exactly(const decimal *number, int exponent, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { DIGITS_MAX = 15, POWER_MAX = sizeof powers / sizeof powers[0] - 1 };
    int power = number->point + exponent - number->count;
    if (number->count > DIGITS_MAX || (number->count > 0 && (power > POWER_MAX || power < -POWER_MAX))) {
        return false;
    }
    int64_t digits = 0;
    for (int i = 0; i < number->count; i++) {
        digits = digits * 10 + (number->digits[i] - '0');
    }
    power = digits == 0 ? 0 : power;
    double magnitude = power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
    *value = number->negative ? -magnitude : magnitude;
    return true;
}

bool rlmr_decimal_to_double(rlmr_slice text, int exponent, double *value) {
    decimal number;
    if (!parse(text, &number)) {
        return false;
    }
    if (to_double_exactly(&number, exponent, value)) {
        return true;
    }
    /* One call of strtod() rounds once, whatever the exponent. The program never sets a locale, so the point
     * is a point. */
    char exact[RLMR_DECIMAL_BYTES_MAX + 32];
    (void)snprintf(exact, sizeof exact, "%s0.0%.*se%d", number.negative ? "-" : "", number.count,
                   number.digits, number.point + exponent + 1);
    *value = strtod(exact, NULL);
    return isfinite(*value);
}

bool rlmr_decimal_to_i64(rlmr_slice text, int64_t *value) {
    decimal number;
    return parse(text, &number) && !number.has_fraction && !number.has_exponent &&
           to_integer(&number, 0, value);
}

bool rlmr_decimal_to_whole(rlmr_slice text, int64_t *value) {
    decimal number;
    if (!parse(text, &number)) {
        return false;
    }
    for (int i = number.point > 0 ? number.point : 0; i < number.count; i++) {
        if (number.digits[i] != '0') {
            return false;
        }
    }
    return to_integer(&number, 0, value);
}
