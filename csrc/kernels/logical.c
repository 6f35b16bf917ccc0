/* logical.c -- LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT, BITWISE_XOR, RIGHT_SHIFT: truth values and
 * bits, with numpy's broadcasting. */
#include "rules/broadcast.h"
#include "rules/elementwise.h"

ML_UNARY(logical_not_b8, uint8_t, uint8_t, ML_NO_CONTEXT, x == 0)
ML_BINARY(logical_and_b8, uint8_t, uint8_t, ML_NO_CONTEXT, (u != 0) & (v != 0))
ML_BINARY(logical_or_b8, uint8_t, uint8_t, ML_NO_CONTEXT, (u | v) != 0)

ML_BINARY(xor_x1, uint8_t, uint8_t, ML_NO_CONTEXT, u ^ v)
ML_BINARY(xor_x2, uint16_t, uint16_t, ML_NO_CONTEXT, u ^ v)
ML_BINARY(xor_x4, uint32_t, uint32_t, ML_NO_CONTEXT, u ^ v)

/* The number of bits to shift by: 0 if negative, at most all but one; signs are kept. */
static inline int32_t bits_of(int64_t bits, int32_t most) {
    return bits < 0 ? 0 : bits > most ? most : (int32_t)bits;
}
#define SHIFT(type, most)                                            \
    ML_BINARY(right_shift_##type, type##_t, type##_t, ML_NO_CONTEXT, \
              (type##_t)(u >> bits_of((int64_t)v, most)))
SHIFT(int8, 7)
SHIFT(uint8, 7)
SHIFT(int16, 15)
SHIFT(uint16, 15)
SHIFT(int32, 31)
SHIFT(uint32, 31)

#define BINARY .takes = "a b -> y", .in_place = ML_INPUT(0) | ML_INPUT(1), ML_PREPARED_BROADCAST
ML_KERNELS(logical) = {
    {ML_OP(LOGICAL_NOT, 1, 1), .name = "logical_not", .takes = "x -> y", .in_place = ML_INPUT(0),
     ML_PREPARED_ELEMENTWISE, ML_TYPED({"b8 -> b8", NULL, NULL, logical_not_b8})},
    {ML_OP(LOGICAL_AND, 1, 1), .name = "logical_and", BINARY,
     ML_TYPED({"b8 b8 -> b8", NULL, NULL, logical_and_b8})},
    {ML_OP(LOGICAL_OR, 1, 1), .name = "logical_or", BINARY,
     ML_TYPED({"b8 b8 -> b8", NULL, NULL, logical_or_b8})},
    {ML_OP(BITWISE_XOR, 1, 1), .name = "bitwise_xor", BINARY,
     ML_TYPED({"T T -> T: s8 u8", NULL, NULL, xor_x1}, {"T T -> T: s16 u16", NULL, NULL, xor_x2},
              {"T T -> T: s32 u32", NULL, NULL, xor_x4})},
    {ML_OP(RIGHT_SHIFT, 1, 1), .name = "right_shift", BINARY,
     ML_TYPED({"s8 s8 -> s8", NULL, NULL, right_shift_int8},
              {"u8 u8 -> u8", NULL, NULL, right_shift_uint8},
              {"s16 s16 -> s16", NULL, NULL, right_shift_int16},
              {"u16 u16 -> u16", NULL, NULL, right_shift_uint16},
              {"s32 s32 -> s32", NULL, NULL, right_shift_int32},
              {"u32 u32 -> u32", NULL, NULL, right_shift_uint32})},
    ML_KERNELS_END,
};
