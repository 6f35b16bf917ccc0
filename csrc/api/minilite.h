/* minilite.h -- includes all of api/ for C. cffi's cdef parser takes neither guards nor includes,
 * so they are here. */
#ifndef MINILITE_H
#define MINILITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the same order as in the cdef (CMakeLists.txt). */
#include "api/types.h"
#include "api/load.h"
#include "api/run.h"
#include "api/memory.h"
#include "api/look.h"
#include "api/load_file.h"
#include "api/lower.h"

#endif
