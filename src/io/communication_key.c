#include "communication_key.h"

#include <string.h>
#include <strings.h>

static bool starts_with(rlmr_slice text, rlmr_slice start) {
    return text.bytes >= start.bytes && memcmp(text.text, start.text, start.bytes) == 0;
}

rlmr_slice rlmr_communication_step(rlmr_slice step) {
    rlmr_slice prefix = RLMR_SLICE("step");
    if (starts_with(step, prefix)) {
        step.text += prefix.bytes;
        step.bytes -= prefix.bytes;
    }
    return step;
}

bool rlmr_communication_is_total(rlmr_slice op) {
    return starts_with(op, RLMR_SLICE("Total"));
}

void rlmr_communication_split(rlmr_slice key, rlmr_slice *op, rlmr_slice *group) {
    const char *at = key.bytes == 0 ? NULL : memrchr(key.text, '@', key.bytes);
    *op = key;
    *group = key;
    if (at != NULL) {
        op->bytes = (size_t)(at - key.text);
        group->text = at + 1;
        group->bytes = key.bytes - op->bytes - 1;
    }
}

bool rlmr_communication_is_p2p(rlmr_slice op) {
    static const char *const starts[] = {"hcom_send", "hcom_receive", "hcom_batchsendrecv"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        size_t bytes = strlen(starts[i]);
        if (op.bytes >= bytes && strncasecmp(op.text, starts[i], bytes) == 0) {
            return true;
        }
    }
    return false;
}
