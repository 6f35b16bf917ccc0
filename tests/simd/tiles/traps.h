/* traps.h -- instructions on tiles, answered by an emulation where the processor has none. */
#ifndef TRAPS_H
#define TRAPS_H

/* Emulates tile instructions from now on, in this process. */
void trap_tiles(void);

#endif
