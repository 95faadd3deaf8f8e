/** The parts of the reader of traces: the parser, which reads all and finds its way through damage, and the scan in front of it,
 *  which reads events as long as there is none. */
#ifndef RLMR_TRACE_STATE_H
#define RLMR_TRACE_STATE_H

#include "event_tokens.h"
#include "json_parser.h"
#include "rlmr/event_scan.h"
#include "rlmr/input.h"

#define RLMR_RANGE_OPEN INT64_MAX

typedef struct {
    rlmr_on_event on_event;
    void *self;
    const rlmr_damage *damage;
    rlmr_status refused; /* what a callback returned: it ends the reading */
    rlmr_input *input;
    uint64_t events;

    rlmr_json_parser *parser; /* NULL while the next event is searched for */
    int64_t at;               /* offset of what is scanned, parsed or searched next */
    int64_t fed;              /* offset of what the parser was given last */
    int64_t floor;            /* from there on the file's bytes are at hand */
    int64_t passed;           /* offset behind the last token taken, or event scanned */
    char last;                /* while searching: the last byte passed that is no blank */
    bool done;                /* no event follows */
    bool proving;             /* the parser stands at what may be an event */
    int64_t candidate;        /* the offset of that */
    int64_t reread;           /* bytes parsed in vain behind damage */

    int array_depth;          /* depth of the elements of the event array, -1 before it is found */
    bool found;               /* the array was found, now or before damage */
    bool resumed;             /* a parser was started behind damage */
    bool in_object;           /* the document is an object */
    bool in_array;            /* between the array's brackets */
    bool events_next;         /* the root object's key just read is traceEvents */
    bool ours;                /* what the parser is given is not in the file, and counts for nothing */
    int64_t event_start;      /* of the event being read, -1 between events */
    rlmr_event_tokens fields; /* of the event */

    bool may_scan; /* and not only parse: events that nobody wants are not looked into then */
    bool strict;   /* in a scan: all events are wanted */
    bool scanning; /* the parser stands behind the array's bracket; events come from the scan */
    bool bad;      /* the scan was ended by an event that is wanted, and not valid */
    bool comma;    /* the scan has passed a comma behind the last event, before `floor` */
    rlmr_event_scan scan;
    int64_t scan_start;
    rlmr_json_parser *events_parser; /* of single events; NULL before the first */
    rlmr_event_tokens parsed;        /* by it */
    bool parsed_whole;
    rlmr_bytes decoded; /* texts of an event */

    int64_t from; /* the range's start: 0, or where an event seems to begin, with one before it */
    bool heading; /* the file's beginning is read for it, up to the array */
    int64_t to;   /* the range's end, RLMR_RANGE_OPEN if it ends with the file */
    bool arrived; /* a scan has ended there */
    bool unsound; /* a range in which there may be damage */
} rlmr_trace;

/** Give the parser what is not in the file. */
RLMR_MUST_CHECK rlmr_status rlmr_trace_feed_ours(rlmr_trace *self, rlmr_slice text, rlmr_error *err);

/** Where an error was met, unless that is known already. */
void rlmr_trace_set_offset(rlmr_error *err, int64_t offset);

/** Read the file, or the range: then up to the first damage. */
RLMR_MUST_CHECK rlmr_status rlmr_trace_read_all(rlmr_trace *self, const char *path, const rlmr_meter *meter,
                                                rlmr_error *err);

/** Go on by scanning: at `at` stands the first byte behind the array's bracket, or an event. */
void rlmr_trace_scan_begin(rlmr_trace *self);

/** Scan `bytes`, which begin at `at`. Behind the last sound event the parser goes on. */
RLMR_MUST_CHECK rlmr_status rlmr_trace_scan(rlmr_trace *self, rlmr_slice bytes, rlmr_error *err);

/** Have the parser go on behind the last event that was scanned. */
RLMR_MUST_CHECK rlmr_status rlmr_trace_scan_end(rlmr_trace *self, rlmr_error *err);

#endif
