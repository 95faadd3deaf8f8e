#include "rlmr/number_text.h"

#include <CUnit/Basic.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double value;
    const char *text;
} expected;

static void check_text(double value, const char *text) {
    char made[RLMR_NUMBER_TEXT_BYTES];
    size_t bytes = rlmr_number_text(value, made);
    bool good = strcmp(made, text) == 0 && bytes == strlen(text);
    CU_ASSERT_TRUE(good);
    if (!good) {
        (void)fprintf(stderr, "\n    %.17g gives '%s', not '%s'\n", value, made, text);
    }
}

static void test_texts_are_those_of_python(void) {
    static const expected cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-3.0, "-3.0"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {16.777216, "16.777216"},
        {37.748735999999994, "37.748735999999994"},
        {0.0001, "0.0001"},
        {0.00012345678, "0.00012345678"},
        {0.000099999, "9.9999e-05"},
        {4e-06, "4e-06"},
        {1.5e-7, "1.5e-07"},
        {1e15, "1000000000000000.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e16, "1e+16"},
        {1.2345e22, "1.2345e+22"},
        {123456789.125, "123456789.125"},
        {1723545784022534.0, "1723545784022534.0"},
        {1e100, "1e+100"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1e-320, "1e-320"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_text(cases[i].value, cases[i].text);
    }
}

/* The nearest decimal of 16 digits lies below each of these powers of two, where it names another double. */
static void test_powers_of_two_have_their_shortest_text(void) {
    check_text(0x1p-1017, "7.120236347223045e-307");
    check_text(0x1p-44, "5.684341886080802e-14");
    check_text(0x1p-140, "7.174648137343064e-43");
    check_text(0x1p+89, "6.189700196426902e+26");
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void check_comes_back(double value, long *failures) {
    char text[RLMR_NUMBER_TEXT_BYTES];
    (void)rlmr_number_text(value, text);
    *failures += isfinite(value) && strtod(text, NULL) != value;
}

static void test_every_number_comes_back(void) {
    uint64_t state = 88172645463325252;
    long failures = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = next_random(&state);
        double value;
        memcpy(&value, &bits, sizeof value);
        check_comes_back(value, &failures);
        check_comes_back((double)(int64_t)(bits >> 20) / 1e6, &failures);
        check_comes_back((double)(int32_t)bits / 1000, &failures);
    }
    for (int exponent = -1074; exponent < 1024; exponent++) {
        double power = ldexp(1, exponent);
        check_comes_back(power, &failures);
        check_comes_back(nextafter(power, 0), &failures);
        check_comes_back(nextafter(power, INFINITY), &failures);
    }
    CU_ASSERT_EQUAL(failures, 0);
}

static void check_us(int64_t ns, const char *text) {
    char made[RLMR_NUMBER_TEXT_BYTES];
    CU_ASSERT_EQUAL(rlmr_number_text_us(ns, made), strlen(text));
    CU_ASSERT_STRING_EQUAL(made, text);
}

static void test_microseconds_are_exact(void) {
    check_us(0, "0.0");
    check_us(1, "0.001");
    check_us(-1, "-0.001");
    check_us(-1500, "-1.5");
    check_us(120, "0.12");
    check_us(1723545784022534000, "1723545784022534.0");
    check_us(1723545784022534123, "1723545784022534.123");
    check_us(INT64_MAX, "9223372036854775.807");
    check_us(INT64_MIN + 1, "-9223372036854775.807");
}

static void test_rounding_goes_by_the_exact_value(void) {
    CU_ASSERT_EQUAL(rlmr_number_round(2.67495, 4), 2.6749); /* it lies below the half */
    CU_ASSERT_EQUAL(rlmr_number_round(5e-05, 4), 0.0001);
    CU_ASSERT_EQUAL(rlmr_number_round(0.00005, 4), 0.0001);
    CU_ASSERT_EQUAL(rlmr_number_round(0.5, 0), 0.0); /* a half to even */
    CU_ASSERT_EQUAL(rlmr_number_round(-1.00006, 4), -1.0001);
    CU_ASSERT_EQUAL(rlmr_number_round(1e300, 4), 1e300);
    CU_ASSERT_TRUE(isnan(rlmr_number_round(NAN, 4)));
    CU_ASSERT_TRUE(isinf(rlmr_number_round(INFINITY, 4)));
}

CU_TestInfo rlmr_tests_number_text[] = {
    {"texts are those of Python's repr", test_texts_are_those_of_python},
    {"powers of two have their shortest text", test_powers_of_two_have_their_shortest_text},
    {"every number comes back", test_every_number_comes_back},
    {"microseconds are exact", test_microseconds_are_exact},
    {"rounding goes by the exact value", test_rounding_goes_by_the_exact_value},
    CU_TEST_INFO_NULL,
};
