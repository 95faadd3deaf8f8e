/* layer: core */
/** Compensated sums of doubles: Neumaier's variant of Kahan's summation (ZAMM 54, 1974), whose error does not grow with the
 *  number of terms. NaN counts as absent; the sum of nothing is NaN. */
#ifndef RLMR_SUM_H
#define RLMR_SUM_H

#include <math.h>
#include <stdbool.h>

/** All zero is the empty sum. */
typedef struct {
    double sum;
    double lost; /**< what the roundings so far have lost */
    bool any;
} rlmr_sum;

static inline void rlmr_sum_add(rlmr_sum *sum, double value) {
    if (isnan(value)) {
        return;
    }
    if (!sum->any) {
        *sum = (rlmr_sum){.sum = value, .any = true}; /* as it is, a negative zero too */
        return;
    }
    double next = sum->sum + value;
    sum->lost += fabs(sum->sum) >= fabs(value) ? (sum->sum - next) + value : (value - next) + sum->sum;
    sum->sum = next;
}

static inline double rlmr_sum_value(const rlmr_sum *sum) {
    if (!sum->any) {
        return NAN;
    }
    /* What was lost is no number once the sum is too great. */
    return isfinite(sum->sum) && sum->lost != 0 ? sum->sum + sum->lost : sum->sum;
}

/** numerator / denominator, 0 if the denominator is 0; NaN if one is absent. */
static inline double rlmr_quotient_of(double numerator, double denominator) {
    return denominator == 0 && !isnan(numerator) ? 0.0 : numerator / denominator;
}

#endif
