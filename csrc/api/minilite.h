/* minilite.h -- all of api/ for C: the guard and the includes that cffi's cdef parser does not
 * take. */
#ifndef MINILITE_H
#define MINILITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of the cdef (CMakeLists.txt). */
#include "api/types.h"
#include "api/load.h"
#include "api/run.h"
#include "api/memory.h"
#include "api/look.h"
#include "api/load_file.h"
#include "api/lower.h"

#endif
