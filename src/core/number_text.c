#include "rlmr/number_text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SURE_DIGITS = 15,   /* a decimal of so many digits comes back from any double but a subnormal one */
    ENOUGH_DIGITS = 17, /* so many name every double */
    POINT_MIN = -4,     /* exponents of ten that are written without an exponent */
    POINT_END = 16,
    MICRO_DIGITS = 6,
};

#define MICRO 1e6
#define EXACT_MAX 1e15 /* integers below have at most 15 digits */

/* Digits of the decimal d.ddd * 10^exponent. */
typedef struct {
    char digits[ENOUGH_DIGITS + 1];
    int count;
    int exponent;
} decimal;

/* "d.dddde[+-]xx" with `count` digits, taken apart. */
static void take_apart(const char *scientific, int count, decimal *out) {
    out->digits[0] = scientific[0];
    if (count > 1) {
        memcpy(out->digits + 1, scientific + 2, (size_t)count - 1);
    }
    out->exponent = (int)strtol(strchr(scientific, 'e') + 1, NULL, 10);
    out->count = count;
    while (out->count > 1 && out->digits[out->count - 1] == '0') {
        out->count--;
    }
}

/* Add one to the last of the digits "d.ddd"; false if that would change their number. */
static bool raise_last(char *scientific, int count) {
    for (int at = count; at >= 0; at--) {
        if (scientific[at] >= '0' && scientific[at] < '9') {
            scientific[at]++;
            return true;
        }
        scientific[at] = scientific[at] == '9' ? '0' : scientific[at];
    }
    return false;
}

/* Below a power of two the doubles lie twice as close as above: the nearest decimal may lie below and name another double,
 * while the next one, above, names this. */
static bool is_named_from_above(char *scientific, int count, double magnitude) {
    int exponent;
    return frexp(magnitude, &exponent) == 0.5 && raise_last(scientific, count) &&
           strtod(scientific, NULL) == magnitude;
}

/* The first number of digits that is enough has the shortest text. */
static void find_shortest(double magnitude, decimal *out) {
    char scientific[RLMR_NUMBER_TEXT_BYTES];
    int count = magnitude < DBL_MIN ? 1 : SURE_DIGITS;
    for (;; count++) {
        (void)snprintf(scientific, sizeof scientific, "%.*e", count - 1, magnitude);
        if (count == ENOUGH_DIGITS || strtod(scientific, NULL) == magnitude ||
            is_named_from_above(scientific, count, magnitude)) {
            break;
        }
    }
    take_apart(scientific, count, out);
}

/* Most values of profiles are decimals of up to six places and 15 digits. The quotient below is rounded once, so if it is
 * the value, then these digits name it, and no others of so few do. @return false for all other values */
static bool find_short(double magnitude, decimal *out) {
    double scaled = round(magnitude * MICRO);
    if (!(scaled < EXACT_MAX) || scaled < 1 || scaled / MICRO != magnitude) {
        return false;
    }
    char text[RLMR_NUMBER_TEXT_BYTES];
    int count = snprintf(text, sizeof text, "%" PRIu64, (uint64_t)scaled);
    out->exponent = count - 1 - MICRO_DIGITS;
    while (count > 1 && text[count - 1] == '0') {
        count--;
    }
    memcpy(out->digits, text, (size_t)count);
    out->count = count;
    return true;
}

static char *put_zeros(char *to, int count) {
    if (count > 0) {
        memset(to, '0', (size_t)count);
        to += count;
    }
    return to;
}

static char *put_digits(char *to, const decimal *number, int first, int end) {
    end = end < number->count ? end : number->count;
    if (end > first) {
        memcpy(to, number->digits + first, (size_t)(end - first));
        to += end - first;
    }
    return to;
}

static char *put_plain(char *to, const decimal *number) {
    int whole = number->exponent + 1;
    if (whole <= 0) {
        *to++ = '0';
        *to++ = '.';
        to = put_zeros(to, -whole);
        return put_digits(to, number, 0, number->count);
    }
    to = put_digits(to, number, 0, whole);
    to = put_zeros(to, whole - number->count);
    *to++ = '.';
    return number->count > whole ? put_digits(to, number, whole, number->count) : put_zeros(to, 1);
}

static char *put_scientific(char *to, const decimal *number) {
    *to++ = number->digits[0];
    if (number->count > 1) {
        *to++ = '.';
        to = put_digits(to, number, 1, number->count);
    }
    return to + sprintf(to, "e%c%02d", number->exponent < 0 ? '-' : '+', abs(number->exponent));
}

size_t rlmr_number_text(double value, char text[RLMR_NUMBER_TEXT_BYTES]) {
    if (isnan(value)) {
        return (size_t)sprintf(text, "nan");
    }
    char *to = text;
    if (signbit(value)) {
        *to++ = '-';
    }
    double magnitude = fabs(value);
    if (isinf(value)) {
        return (size_t)(to - text) + (size_t)sprintf(to, "inf");
    }
    decimal number = {.digits = "0", .count = 1};
    if (magnitude > 0 && !find_short(magnitude, &number)) {
        find_shortest(magnitude, &number);
    }
    bool plain = number.exponent >= POINT_MIN && number.exponent < POINT_END;
    to = plain ? put_plain(to, &number) : put_scientific(to, &number);
    *to = '\0';
    return (size_t)(to - text);
}

size_t rlmr_number_text_us(int64_t ns, char text[RLMR_NUMBER_TEXT_BYTES]) {
    int64_t below = ns % 1000;
    int bytes = sprintf(text, "%s%" PRId64 ".%03" PRId64, ns < 0 ? "-" : "",
                        ns < 0 ? -(ns / 1000) : ns / 1000, below < 0 ? -below : below);
    while (text[bytes - 1] == '0' && text[bytes - 2] != '.') {
        text[--bytes] = '\0';
    }
    return (size_t)bytes;
}

double rlmr_number_round(double value, int decimals) {
    if (!isfinite(value) || fabs(value) >= EXACT_MAX) {
        return value; /* without decimals, or next to none */
    }
    char text[RLMR_NUMBER_TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%.*f", decimals, value);
    return strtod(text, NULL);
}
