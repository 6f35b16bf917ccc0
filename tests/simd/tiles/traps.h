/* traps.h -- instructions on tiles, answered by an emulation where the processor has none. */
#ifndef TRAPS_H
#define TRAPS_H

/* From now on, in this process. */
void trap_tiles(void);

#endif
