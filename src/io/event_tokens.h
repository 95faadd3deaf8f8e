/** The fields of one event, from its tokens. */
#ifndef RLMR_EVENT_TOKENS_H
#define RLMR_EVENT_TOKENS_H

#include "rlmr/json_reader.h"
#include "rlmr/trace_reader.h"

#define RLMR_EVENT_FIELD_ENUM(field, key) RLMR_EVENT_FIELD_##field,
enum {
    RLMR_EVENT_FIELDS(RLMR_EVENT_FIELD_ENUM) RLMR_EVENT_ARGS_FIRST,
    RLMR_EVENT_ARGS_BEFORE = RLMR_EVENT_ARGS_FIRST - 1,
    RLMR_ARGS_FIELDS(RLMR_EVENT_FIELD_ENUM) RLMR_EVENT_FIELD_COUNT
};
#undef RLMR_EVENT_FIELD_ENUM

/** All zero is a valid start. */
typedef struct {
    bool named;      /**< it has a key ph or name */
    bool in_args;    /* inside its `args` object */
    bool args_next;  /* the key just read is args */
    int field;       /* that the key just read names, or -1 */
    rlmr_bytes text; /* of the fields */
    size_t start[RLMR_EVENT_FIELD_COUNT];
    size_t length[RLMR_EVENT_FIELD_COUNT];
} rlmr_event_tokens;

void rlmr_event_tokens_release(rlmr_event_tokens *self);

/** Behind the `{` of an event. */
void rlmr_event_tokens_begin(rlmr_event_tokens *self);

/** The next token. @param depth brackets open in the event, 1 for its keys  @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_event_tokens_take(rlmr_event_tokens *self, rlmr_json_kind kind,
                                                   rlmr_slice text, int depth, rlmr_error *err);

/** @param event out: its fields, until the next event begins; number and offset are not set */
void rlmr_event_tokens_end(const rlmr_event_tokens *self, rlmr_trace_event *event);

#endif
