/* tiles.c -- eight tiles of at most 16 rows of 64 bytes, as Intel's manual describes them
 * (Instruction Set Extensions Programming Reference, chapter 3). */
#include "tiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 8, ROWS = 16, LINE = 64, AT_BYTES = 16, AT_ROWS = 48 };

typedef struct tile {
    int rows;
    int line; /* bytes of a row */
    uint8_t bytes[ROWS][LINE];
} tile;

static tile tiles[TILES];
static bool configured;
static int64_t dots;

static void fault(const char *what, int number) {
    fprintf(stderr, "tile %d: %s\n", number, what);
    abort();
}

void tile_configure(const void *config) {
    const uint8_t *from = config;
    if (from[0] != 1) fault("a palette that there is not", from[0]);
    if (from[1] != 0) fault("does not start in row 0", from[1]);
    for (int i = 2; i < AT_BYTES; i++)
        if (from[i]) fault("a reserved byte is set", i);
    memset(tiles, 0, sizeof tiles);
    for (int i = 0; i < ROWS; i++) {
        uint16_t line;
        memcpy(&line, from + AT_BYTES + 2 * i, sizeof line);
        const uint8_t rows = from[AT_ROWS + i];
        if (i >= TILES && (line || rows)) fault("is not in this palette", i);
        if (line > LINE || rows > ROWS) fault("is too large", i);
        if (!line != !rows) fault("has rows or bytes alone", i);
        if (i < TILES) tiles[i].rows = rows, tiles[i].line = line;
    }
    configured = true;
}

static tile *valid(int number) {
    if (!configured) fault("tiles are not configured", number);
    if (number < 0 || number >= TILES || !tiles[number].rows) fault("is not configured", number);
    return &tiles[number];
}

void tile_zero(int number) { memset(valid(number)->bytes, 0, sizeof tiles->bytes); }

void tile_load(int number, const void *from, int64_t stride) {
    tile *to = valid(number);
    memset(to->bytes, 0, sizeof to->bytes);
    for (int r = 0; r < to->rows; r++)
        memcpy(to->bytes[r], (const uint8_t *)from + r * stride, (size_t)to->line);
}

void tile_store(int number, void *to, int64_t stride) {
    const tile *from = valid(number);
    for (int r = 0; r < from->rows; r++)
        memcpy((uint8_t *)to + r * stride, from->bytes[r], (size_t)from->line);
}

void tile_dot(int sums, int bytes, int weights) {
    tile *to = valid(sums);
    const tile *a = valid(bytes), *w = valid(weights);
    if (to == a || to == w || a == w) fault("is an operand twice", sums);
    if (to->line % 4 || a->line % 4 || w->line % 4) fault("has part of a number", sums);
    if (to->rows != a->rows) fault("has other rows than its bytes", sums);
    if (to->line != w->line) fault("has other columns than its weights", sums);
    if (a->line / 4 != w->rows) fault("has other groups than the weights", bytes);
    for (int r = 0; r < to->rows; r++)
        for (int i = 0; i < to->line / 4; i++) {
            uint32_t sum;
            memcpy(&sum, to->bytes[r] + 4 * i, sizeof sum);
            for (int j = 0; j < a->line; j++)
                sum += (uint32_t)(a->bytes[r][j] * (int8_t)w->bytes[j / 4][4 * i + j % 4]);
            memcpy(to->bytes[r] + 4 * i, &sum, sizeof sum);
        }
    dots++;
}

void tile_release(void) {
    memset(tiles, 0, sizeof tiles);
    configured = false;
}

bool tiles_are_configured(void) { return configured; }

int64_t tile_dots(void) { return dots; }
