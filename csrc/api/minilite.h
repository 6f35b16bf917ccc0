/* minilite.h -- includes all of api/ for C. cffi's cdef parser takes neither guards nor includes,
 * so they are here. */
#ifndef MINILITE_H
#define MINILITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order is that of the cdef (CMakeLists.txt). The package has only the headers that kernels
 * need. */
#include "api/types.h"
#include "api/load.h"
#include "api/load_file.h"
#if __has_include("api/run.h")
#include "api/run.h"
#include "api/memory.h"
#include "api/look.h"
#include "api/lower.h"
#include "api/owned.h"
#include "api/packed.h"
#endif

#endif
