#include "rlmr/decimal.h"

#include <CUnit/Basic.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*to_integer)(rlmr_slice text, int64_t *value);

typedef struct {
    const char *text;
    int64_t value;
} accepted;

/* On a failure the text is shown, since CUnit shows only the line. */
static void check_accepted(to_integer convert, const accepted *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t value = 0;
        bool good = convert(rlmr_slice_of(cases[i].text), &value) && value == cases[i].value;
        CU_ASSERT_TRUE(good);
        if (!good) {
            (void)fprintf(stderr, "\n    '%s' gives %lld\n", cases[i].text, (long long)value);
        }
    }
}

static void check_refused(to_integer convert, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t value = 0;
        bool refused = !convert(rlmr_slice_of(texts[i]), &value);
        CU_ASSERT_TRUE(refused);
        if (!refused) {
            (void)fprintf(stderr, "\n    '%s' gives %lld\n", texts[i], (long long)value);
        }
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
static bool time_us_to_ns(rlmr_slice text, int64_t *ns) {
    return rlmr_decimal_time_to_ns(text, 3, ns);
}

#define CHECK_ACCEPTED(convert, cases) check_accepted(convert, cases, COUNT(cases))
#define CHECK_REFUSED(convert, refused) check_refused(convert, refused, COUNT(refused))

static void test_a_stamp_is_exact_to_the_ns(void) {
    static const accepted cases[] = {
        {"1736408883694624.810", INT64_C(1736408883694624810)},
        {"1736408883694624.811", INT64_C(1736408883694624811)},
        {"1736412474720984.920", INT64_C(1736412474720984920)},
        {"1736408883694624.8", INT64_C(1736408883694624800)},
        {"1736408883694624.", INT64_C(1736408883694624000)},
        {"1736408883694624", INT64_C(1736408883694624000)},
        {"+1736408883694624.001", INT64_C(1736408883694624001)},
        {"-1736408883694624.001", INT64_C(-1736408883694624001)},
        {"0001736408883694624.810", INT64_C(1736408883694624810)},
        {"9007199254740993.001", INT64_C(9007199254740993001)},
    };
    CHECK_ACCEPTED(rlmr_decimal_us_to_ns, cases);
    CHECK_ACCEPTED(time_us_to_ns, cases);
}

static void test_small_numbers_and_zero(void) {
    static const accepted cases[] = {
        {"0", 0},    {"-0", 0},    {"0.", 0},        {".0", 0},     {"00.00", 0},  {"5", 5000},
        {".5", 500}, {"0.001", 1}, {"12.34", 12340}, {"-.002", -2}, {"1.5", 1500},
    };
    CHECK_ACCEPTED(rlmr_decimal_us_to_ns, cases);
    CHECK_ACCEPTED(time_us_to_ns, cases);
}

static void test_what_is_below_a_ns_is_rounded_half_away_from_zero(void) {
    static const accepted cases[] = {
        {"0.0005", 1},
        {"0.00049999999999999", 0},
        {"-0.0005", -1},
        {"-0.0004", 0},
        {"0.00005", 0},
        {"1.0015", 1002},
        {"1.0014999999999", 1001},
        {"-1.0015", -1002},
        {"0.9995", 1000},
        {"0.9994999999", 999},
        {"9.9999", 10000},
        {"1736408883694624.8105", INT64_C(1736408883694624811)},
        {"1736408883694624.8104999999999999", INT64_C(1736408883694624810)},
        {"1736408883694999.9995", INT64_C(1736408883695000000)},
    };
    CHECK_ACCEPTED(rlmr_decimal_us_to_ns, cases);
}

static void test_seventeen_decimals_are_read(void) {
    static const accepted cases[] = {
        {"12.34567890123456789", 12346}, {"25.46999999999999886", 25470},     {"0.00150000000000001", 2},
        {"0.00149999999999999", 1},      {"8555.69999999999890861", 8555700},
    };
    CHECK_ACCEPTED(rlmr_decimal_us_to_ns, cases);
}

static void test_exponents_of_both_signs_and_any_size(void) {
    static const accepted cases[] = {
        {"1e3", 1000000},
        {"1E3", 1000000},
        {"1e+3", 1000000},
        {"1e-3", 1},
        {"1e003", 1000000},
        {"1.5e-3", 2},
        {"5e-4", 1},
        {"4e-4", 0},
        {"-5e-4", -1},
        {"123456e-5", 1235},
        {"0.000001e9", 1000000},
        {"1.736408883694624810e15", INT64_C(1736408883694624810)},
        {"1736408883694624810e-3", INT64_C(1736408883694624810)},
        {"1e-99999999999999999999", 0},
        {"0e99999999999999999999", 0},
        {"0.0e-99999999999999999999", 0},
    };
    static const char *const refused[] = {"1e16",   "1e99999999999999999999", "-1e16", "0.1e17", "1e9999",
                                          "1e10000"};
    CHECK_ACCEPTED(rlmr_decimal_us_to_ns, cases);
    CHECK_REFUSED(rlmr_decimal_us_to_ns, refused);
}

static void test_a_stamp_with_an_exponent_needs_sixteen_digits(void) {
    static const accepted cases[] = {
        {"1.736408883694624E+15", INT64_C(1736408883694624000)},
        {"1.7364088836946248E+15", INT64_C(1736408883694624800)},
        {"1.736408883694624810e15", INT64_C(1736408883694624810)},
        {"1736408883694624e0", INT64_C(1736408883694624000)},
        {"1736408883694624810e-3", INT64_C(1736408883694624810)},
    };
    static const char *const refused[] = {
        "1.69512E+15",
        "1.73640888369462E+15",
        "0001.73640888369462E+15",
        "0.000173640888369462E+19",
        "1e3",
        "0e0",
        "5E-1",
    };
    CHECK_ACCEPTED(time_us_to_ns, cases);
    CHECK_REFUSED(time_us_to_ns, refused);
    /* A duration has no such rule. */
    int64_t value = 0;
    CU_ASSERT_TRUE(rlmr_decimal_us_to_ns(RLMR_SLICE("1.69512E+15"), &value));
    CU_ASSERT_EQUAL(value, INT64_C(1695120000000000000));
}

static void test_the_limits_of_64_bits(void) {
    static const accepted cases[] = {
        {"9223372036854775.806", INT64_MAX - 1}, {"9223372036854775.807", INT64_MAX},
        {"9223372036854775.80749", INT64_MAX},   {"-9223372036854775.807", -INT64_MAX},
        {"-9223372036854775.80749", -INT64_MAX},
    };
    static const char *const refused[] = {
        "9223372036854775.8075", "9223372036854775.808",  "9223372036854776",
        "9999999999999999.9999", "10000000000000000",     "18446744073709551.616",
        "-9223372036854775.809", "-9999999999999999.999", "99999999999999999999.9",
    };
    CHECK_ACCEPTED(rlmr_decimal_us_to_ns, cases);
    CHECK_REFUSED(rlmr_decimal_us_to_ns, refused);
    CHECK_ACCEPTED(time_us_to_ns, cases);
    CHECK_REFUSED(time_us_to_ns, refused);
}

static void test_no_time_is_the_sentinel_of_an_absent_one(void) {
    static const char *const refused[] = {"-9223372036854775.808", "-9223372036854775.8075",
                                          "-9223372036854775808e-3"};
    CHECK_REFUSED(rlmr_decimal_us_to_ns, refused);
    CHECK_REFUSED(time_us_to_ns, refused);
}

static void test_integers_are_plain_digits_of_64_bits(void) {
    static const accepted cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+7", 7},
        {"-1", -1},
        {"4294967296", INT64_C(4294967296)},
        {"9223372036854775806", INT64_MAX - 1},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807", -INT64_MAX},
        {"000000000000000000000000000042", 42},
    };
    static const char *const refused[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "9999999999999999999",
        "18446744073709551615",
        "18446744073709551617",
        "11022204950826225271",
        "1.0",
        "1.",
        ".5",
        "1e0",
        "1E2",
        "10e-1",
    };
    CHECK_ACCEPTED(rlmr_decimal_to_i64, cases);
    CHECK_REFUSED(rlmr_decimal_to_i64, refused);
}

static void test_a_whole_number_may_be_written_as_a_float(void) {
    static const accepted cases[] = {
        {"0", 0},          {"-0.0", 0},     {"3", 3},      {"3.", 3},
        {"3.000", 3},      {"-12.0", -12},  {"1e3", 1000}, {"1.5e1", 15},
        {"10e-1", 1},      {"0.0003e4", 3}, {"0e-400", 0}, {"9223372036854775807.0", INT64_MAX},
        {"120.00e-1", 12},
    };
    static const char *const refused[] = {
        "0.5", "3.7", "1e-1", "3.0001", "10e-2", "0.00000000001", "1e19", "9223372036854775808.0", "1e400",
    };
    CHECK_ACCEPTED(rlmr_decimal_to_whole, cases);
    CHECK_REFUSED(rlmr_decimal_to_whole, refused);
}

static void test_what_is_no_number_is_refused_by_all(void) {
    static const char *const refused[] = {
        "",      ".",    "+",     "-",        "+.",           "-.",       "e",
        "e5",    ".e5",  "1e",    "1e+",      "1e-",          "1E",       "1.2.3",
        "..1",   "1..",  "1e5e5", "1e1.5",    "1e 5",         "--1",      "+-1",
        "- 1",   "1-",   "1+2",   "0x10",     "0X1p3",        "inf",      "-inf",
        "INF",   "nan",  "NaN",   "infinity", " 1",           "1 ",       "\t1",
        "1\t",   "1\n",  "1,5",   "1_000",    "1'000",        "12a",      "a12",
        "1d3",   "1f",   "N/A",   "1e5 ",     "\xEF\xBC\x91", "\xD9\xA1", "true",
        "1e-+5", "1ee5",
    };
    CHECK_REFUSED(rlmr_decimal_us_to_ns, refused);
    CHECK_REFUSED(time_us_to_ns, refused);
    CHECK_REFUSED(rlmr_decimal_to_i64, refused);
    CHECK_REFUSED(rlmr_decimal_to_whole, refused);
    for (size_t i = 0; i < COUNT(refused); i++) {
        double value;
        CU_ASSERT_FALSE(rlmr_decimal_to_double(rlmr_slice_of(refused[i]), 0, &value));
    }
}

static void test_a_nul_byte_is_refused_and_the_length_is_kept_to(void) {
    int64_t value = 0;
    CU_ASSERT_FALSE(rlmr_decimal_to_i64(RLMR_SLICE("1\0"), &value));
    CU_ASSERT_FALSE(rlmr_decimal_to_i64(RLMR_SLICE("\0"), &value));
    CU_ASSERT_FALSE(rlmr_decimal_to_i64((rlmr_slice){0}, &value));
    CU_ASSERT_TRUE(rlmr_decimal_to_i64((rlmr_slice){"123456", 3}, &value));
    CU_ASSERT_EQUAL(value, 123);
    CU_ASSERT_TRUE(rlmr_decimal_us_to_ns((rlmr_slice){"1e56", 3}, &value));
    CU_ASSERT_EQUAL(value, 100000000);
}

static void test_the_longest_text_has_255_bytes(void) {
    char text[RLMR_DECIMAL_BYTES_MAX + 1];
    memset(text, '0', sizeof text);
    text[RLMR_DECIMAL_BYTES_MAX - 1] = '7';
    text[RLMR_DECIMAL_BYTES_MAX] = '7';
    int64_t value = 0;
    CU_ASSERT_TRUE(rlmr_decimal_to_i64((rlmr_slice){text, RLMR_DECIMAL_BYTES_MAX}, &value));
    CU_ASSERT_EQUAL(value, 7);
    CU_ASSERT_FALSE(rlmr_decimal_to_i64((rlmr_slice){text, RLMR_DECIMAL_BYTES_MAX + 1}, &value));

    /* All of the digits are kept: 0.00149 followed by nines is below a half. */
    memset(text, '9', sizeof text);
    memcpy(text, "0.00149", 7);
    CU_ASSERT_TRUE(rlmr_decimal_us_to_ns((rlmr_slice){text, RLMR_DECIMAL_BYTES_MAX}, &value));
    CU_ASSERT_EQUAL(value, 1);
}

/* Bits and not values are compared, so that the sign of zero counts. */
static bool converts_to(const char *text, int exponent, double wanted) {
    double value = NAN;
    bool good = rlmr_decimal_to_double(rlmr_slice_of(text), exponent, &value) &&
                memcmp(&value, &wanted, sizeof value) == 0;
    if (!good) {
        (void)fprintf(stderr, "\n    '%s' e%d gives %.17g\n", text, exponent, value);
    }
    return good;
}

static void test_a_double_is_rounded_once(void) {
    /* Of all of these, the double divided by 1000, or times 1e-3, is another one. */
    CU_ASSERT_TRUE(converts_to("49.001", -3, 0.049001));
    CU_ASSERT_TRUE(converts_to("4580.6", -3, 4.5806));
    CU_ASSERT_TRUE(converts_to("98.2", -3, 0.0982));
    CU_ASSERT_TRUE(converts_to("656126.2", -3, 656.1262));
    CU_ASSERT_TRUE(converts_to("6.02", -3, 0.00602));
    CU_ASSERT_TRUE(converts_to("839.07", -3, 0.83907));
    CU_ASSERT_TRUE(converts_to("54897.06", -3, 54.89706));
    CU_ASSERT_TRUE(converts_to("1771.005", -3, 1.771005));
    CU_ASSERT_TRUE(converts_to("-1771.005e0", -3, -1.771005));
    CU_ASSERT_TRUE(converts_to("1.771005e3", -3, 1.771005));
}

/* Numbers of up to 18 digits, which are converted in two ways, with powers at and beyond the ends of the quicker one. */
static void test_doubles_are_those_of_strtod(void) {
    uint64_t state = 42;
    int wrong = 0;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int digits = (int)(state >> 33 & 31) % 18 + 1;
        int power = (int)(state >> 40 & 63) - 32;
        int length = snprintf(text, sizeof text, "%s%.*llue%d", state >> 63 != 0 ? "-" : "", digits,
                              (unsigned long long)(state >> 1) % (unsigned long long)pow(10, digits), power);
        CU_ASSERT_FATAL(length > 0 && length < (int)sizeof text);
        wrong += !converts_to(text, 0, strtod(text, NULL));
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Odd integers of 54 bits over 2, 4 and 8: each lies in the middle between two doubles, and its neighbours in the last digit do not. */
static void test_doubles_that_lie_in_the_middle(void) {
    uint64_t state = 54;
    int wrong = 0;
    for (int i = 0; i < 100000; i++) {
        char text[64];
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t odd = (state >> 11) | UINT64_C(1) << 53 | 1;
        int bits = 1 + i % 3;
        uint64_t digits = (odd & ((1U << bits) - 1)) * (bits == 1 ? 5 : bits == 2 ? 25 : 125);
        uint64_t last = digits + (uint64_t)(i / 3 % 3) - 1;
        (void)snprintf(text, sizeof text, "%llu.%0*llu", (unsigned long long)(odd >> bits), bits,
                       (unsigned long long)last);
        wrong += !converts_to(text, 0, strtod(text, NULL));
        /* Of 57 bits, and so near the middle that only the last one is beside it. */
        (void)snprintf(text, sizeof text, "%llu.5", (unsigned long long)((odd >> 1) << 3 | 4));
        wrong += !converts_to(text, 0, strtod(text, NULL));
        /* A quotient whose last bits may all be 0 with a rest behind them. */
        (void)snprintf(text, sizeof text, "0.%019llu", (unsigned long long)state % 10000000000000000000U);
        wrong += !converts_to(text, 0, strtod(text, NULL));
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Up to 24 digits with a point somewhere: what is before it, after `shift` digits more, and then rounded by the digit behind.
 * @return false if that is beyond 64 bits */
static bool shift_point(const char *digits, int point, int shift, int64_t *value) {
    uint64_t magnitude = 0;
    int count = (int)strlen(digits);
    for (int i = 0; i < point + shift; i++) {
        unsigned digit = i < count ? (unsigned)(digits[i] - '0') : 0;
        if (magnitude > (UINT64_MAX - digit) / 10) {
            return false;
        }
        magnitude = magnitude * 10 + digit;
    }
    magnitude += point + shift < count && digits[point + shift] >= '5';
    *value = (int64_t)magnitude;
    return magnitude <= INT64_MAX;
}

static void test_integers_of_many_digits(void) {
    uint64_t state = 24;
    int wrong = 0;
    int fit = 0;
    for (int i = 0; i < 200000; i++) {
        char digits[32] = "";
        char text[64];
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int count = 1 + (int)(state >> 33) % 24;
        for (int d = 0; d < count; d++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            digits[d] = "0000456789123499"[state >> 60];
        }
        int point = (int)(state >> 33) % (count + 1);
        (void)snprintf(text, sizeof text, "%.*s.%s", point, digits, digits + point);
        int64_t wanted = 0;
        int64_t ns = 0;
        bool fits = shift_point(digits, point, 3, &wanted);
        wrong += rlmr_decimal_us_to_ns(rlmr_slice_of(text), &ns) != fits || (fits && ns != wanted);
        bool whole =
            shift_point(digits, point, 0, &wanted) && strspn(digits + point, "0") == strlen(digits + point);
        wrong += rlmr_decimal_to_whole(rlmr_slice_of(text), &ns) != whole || (whole && ns != wanted);
        fit += fits;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(fit > 50000 && fit < 190000);
}

static void test_doubles_of_all_forms(void) {
    CU_ASSERT_TRUE(converts_to("0", 0, 0.0));
    CU_ASSERT_TRUE(converts_to("-0", 0, -0.0));
    CU_ASSERT_TRUE(converts_to("-0.000", 5, -0.0));
    CU_ASSERT_TRUE(converts_to("0.1", 0, 0.1));
    CU_ASSERT_TRUE(converts_to("0.1", 1, 1.0));
    CU_ASSERT_TRUE(converts_to("+12", 0, 12.0));
    CU_ASSERT_TRUE(converts_to(".5", 0, 0.5));
    CU_ASSERT_TRUE(converts_to("5.", 0, 5.0));
    CU_ASSERT_TRUE(converts_to("0.00000012", 0, 0.00000012));
    CU_ASSERT_TRUE(converts_to("120000000000000000000000", 0, 1.2e23));
    CU_ASSERT_TRUE(converts_to("8555.699999999999", 0, 8555.699999999999));
    CU_ASSERT_TRUE(converts_to("4e-06", 0, 4e-06));
    CU_ASSERT_TRUE(converts_to("9007199254740993", 0, 9007199254740992.0));
    CU_ASSERT_TRUE(converts_to("9007199254740993.0000000000000000000000001", 0, 9007199254740994.0));
}

static void test_the_limits_of_a_double(void) {
    CU_ASSERT_TRUE(converts_to("1.7976931348623157e308", 0, DBL_MAX));
    CU_ASSERT_TRUE(converts_to("1797693134862315700", 290, DBL_MAX));
    CU_ASSERT_TRUE(converts_to("4.9406564584124654e-324", 0, DBL_TRUE_MIN));
    CU_ASSERT_TRUE(converts_to("1e-400", 0, 0.0));
    CU_ASSERT_TRUE(converts_to("1e-99999999999999999999", 0, 0.0));
    CU_ASSERT_TRUE(converts_to("1e400", -100, 1e300));
    double value;
    CU_ASSERT_FALSE(rlmr_decimal_to_double(RLMR_SLICE("1.8e308"), 0, &value));
    CU_ASSERT_FALSE(rlmr_decimal_to_double(RLMR_SLICE("-1.8e308"), 0, &value));
    CU_ASSERT_FALSE(rlmr_decimal_to_double(RLMR_SLICE("1e300"), 10, &value));
    CU_ASSERT_FALSE(rlmr_decimal_to_double(RLMR_SLICE("1e99999999999999999999"), 0, &value));
}

CU_TestInfo rlmr_tests_decimal[] = {
    {"a stamp of 19 digits is exact to the ns", test_a_stamp_is_exact_to_the_ns},
    {"small numbers and zero are read in all forms", test_small_numbers_and_zero},
    {"what is below a ns is rounded half away from zero",
     test_what_is_below_a_ns_is_rounded_half_away_from_zero},
    {"seventeen decimals are read", test_seventeen_decimals_are_read},
    {"exponents have both signs and any size", test_exponents_of_both_signs_and_any_size},
    {"a stamp with an exponent needs sixteen digits", test_a_stamp_with_an_exponent_needs_sixteen_digits},
    {"times keep to the limits of 64 bits", test_the_limits_of_64_bits},
    {"no time is the sentinel of an absent one", test_no_time_is_the_sentinel_of_an_absent_one},
    {"integers are plain digits of 64 bits", test_integers_are_plain_digits_of_64_bits},
    {"a whole number may be written as a float", test_a_whole_number_may_be_written_as_a_float},
    {"what is no number is refused by all", test_what_is_no_number_is_refused_by_all},
    {"a NUL byte is refused, and the length is kept to",
     test_a_nul_byte_is_refused_and_the_length_is_kept_to},
    {"the longest text has 255 bytes", test_the_longest_text_has_255_bytes},
    {"a double is rounded once, whatever the exponent", test_a_double_is_rounded_once},
    {"doubles are those of strtod()", test_doubles_are_those_of_strtod},
    {"doubles that lie in the middle between two", test_doubles_that_lie_in_the_middle},
    {"integers of many digits", test_integers_of_many_digits},
    {"doubles are read in all forms", test_doubles_of_all_forms},
    {"doubles keep to their limits", test_the_limits_of_a_double},
    CU_TEST_INFO_NULL,
};
