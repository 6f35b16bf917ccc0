/* minilite.h -- the api headers for C: the guard and the includes that cffi's cdef parser does not take. */
#ifndef MINILITE_H
#define MINILITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "memory/api.h"
#include "api/load_file.h"

#endif
