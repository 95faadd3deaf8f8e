/* layer: core */
/** Where the events of a trace begin and end, and what lies in them, without a full parse: JSON is looked at in blocks of 64
 *  bytes as bit masks. What is found here agrees with a parser on every valid text; whatever is not certain is said to be so, and
 *  is for the parser. Nothing here allocates. */
#ifndef RLMR_EVENT_SCAN_H
#define RLMR_EVENT_SCAN_H

#include "rlmr/bytes.h"
#include "rlmr/limits.h"

/** How blocks are looked at. All give the same. */
typedef enum {
    RLMR_SCAN_PORTABLE,
    RLMR_SCAN_AVX2,
    RLMR_SCAN_NEON,
    RLMR_SCAN_PATHS,
} rlmr_scan_path;

/** Whether this machine has it. */
bool rlmr_scan_has(rlmr_scan_path path);

/** The fastest that this machine has. */
rlmr_scan_path rlmr_scan_best(void);

/** What the bytes behind a position must know of those before it. */
typedef struct {
    uint64_t string;    /**< all ones inside a string, else 0 */
    uint64_t escaped;   /**< 1 behind an odd run of backslashes; the rest are 1 or 0 by the last byte: */
    uint64_t closed;    /**< a quote that ends a string */
    uint64_t delimiter; /**< a blank, or one of `,:{}[]` */
    uint64_t letter;    /**< the last letter of a text that is looked for */
} rlmr_scan_carry;

/* ---- The bounds of events ---- */

enum {
    RLMR_EVENT_STACK = 1,    /**< it has a string `Call stack`, maybe as a key */
    RLMR_EVENT_SEQUENCE = 2, /**< it has a string `Sequence number`, maybe as a key */
    RLMR_EVENT_CPU_OP = 4,   /**< it has a string `cpu_op`, maybe as a value */
    RLMR_EVENT_UNSURE = 8,   /**< an escape may hide one of these, or a string may be beyond the limit */
};

typedef struct {
    int64_t start;   /**< offset of its `{` */
    int64_t end;     /**< offset behind its `}` */
    uint64_t number; /**< from 0 */
    unsigned flags;  /**< a sum of the above; with none of them, no reader finds these texts in it */
} rlmr_event_bounds;

typedef rlmr_status (*rlmr_on_bounds)(void *self, const rlmr_event_bounds *event, rlmr_error *err);

typedef enum {
    RLMR_SCAN_OPEN,    /**< the array goes on; if nothing follows, the input is cut */
    RLMR_SCAN_CLOSED,  /**< the array has ended */
    RLMR_SCAN_DAMAGED, /**< there is damage behind the last event given */
} rlmr_scan_state;

/** What may stand next between events. */
typedef enum {
    RLMR_SCAN_FIRST, /**< an event or the end */
    RLMR_SCAN_COMMA, /**< a comma or the end */
    RLMR_SCAN_EVENT, /**< an event */
} rlmr_scan_next;

#define RLMR_SCAN_TAIL_BYTES 16

/** A scan of the elements of an array of events. Plain data; the first four members are for reading. */
typedef struct {
    rlmr_scan_state state;
    int64_t good;    /**< behind the last event given, else where it began; behind the `]` if closed */
    int64_t at;      /**< offset of the byte that is fed next, if the array is open */
    uint64_t events; /**< given */

    rlmr_scan_path path;
    rlmr_scan_carry carry;
    rlmr_scan_next next;
    int outer_depth;                 /* of the document around the events */
    int depth;                       /* inside the event, 0 between events */
    uint64_t kinds[2];               /* of the brackets open in it */
    int64_t start;                   /* of the event at hand */
    unsigned flags;                  /* of the event at hand */
    char last;                       /* byte that is no blank */
    char tail[RLMR_SCAN_TAIL_BYTES]; /* the last bytes fed */
    const struct rlmr_json_block
        *blocks;        /* while a piece is scanned, some of its masks, up to the event given; else NULL */
    size_t first_block; /* number of the first in the piece */
} rlmr_event_scan;

/** Stand behind the `[` of an array of events, or at the first byte of an event.
 *
 *  @param path    which rlmr_scan_has()
 *  @param offset  of the byte that is fed first
 *  @param depth   brackets open around the events, 1 for a bare array */
void rlmr_event_scan_begin(rlmr_event_scan *scan, rlmr_scan_path path, int64_t offset, int depth);

/** Scan the next piece, of any size; all of it unless the state is no longer open. Every event that ends in it is given.
 *
 *  Damage is: between events anything but blanks and one comma; an element that is no object, and a comma before the
 *  closing bracket; a bracket that closes another kind, or opens where no value may stand; a string that stands beside what
 *  is neither blank nor one of `,:{}[]`; a byte below 0x20 in a string, or outside if it is no blank; a backslash outside a
 *  string; more depth than RLMR_LIMIT_JSON_DEPTH, or an event of more bytes than RLMR_LIMIT_EVENT_BYTES. Values are not looked at.
 *
 *  @return OK, also if there is damage; or what `on_event` returned, which ends the scan */
RLMR_MUST_CHECK rlmr_status rlmr_event_scan_feed(rlmr_event_scan *scan, rlmr_slice piece,
                                                 rlmr_on_bounds on_event, void *self, rlmr_error *err);

/** Whether the next byte fed is the first of an event, if it is a `{`. */
bool rlmr_event_scan_is_between(const rlmr_event_scan *scan);

#endif
