/* callbacks.h -- declares the Python functions that C calls; only cffi reads this file (the cdef is
 * api.h followed by it). */
extern "Python" int32_t ml_hook_eval(void *owner, const ml_call *call);
extern "Python" int32_t ml_hook_shape(void *owner, const ml_call *call, ml_shape *outputs);
extern "Python" int32_t ml_hook_poll(void *owner);
extern "Python" int64_t ml_hook_clock(void *owner);
