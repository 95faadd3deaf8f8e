/** What the names in communication files and tables mean. */
#ifndef RLMR_COMMUNICATION_KEY_H
#define RLMR_COMMUNICATION_KEY_H

#include "rlmr/communication_reader.h"

/** The bare id: without the `step` in front. */
rlmr_slice rlmr_communication_step(rlmr_slice step);

/** Whether a name is that of a total, `Total Op Info` and the like. */
bool rlmr_communication_is_total(rlmr_slice op);

/** Split the key of an operator at its last `@`; without one, name and group are the whole key. */
void rlmr_communication_split(rlmr_slice key, rlmr_slice *op, rlmr_slice *group);

/** Whether an operator of that name is point to point, as the producer of the files decides it. */
bool rlmr_communication_is_p2p(rlmr_slice op);

#endif
