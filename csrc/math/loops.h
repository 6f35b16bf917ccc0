/* loops.h -- tells a compiler about the loop that follows, in the words of gcc or clang. */
#ifndef ML_MATH_LOOPS_H
#define ML_MATH_LOOPS_H

#define ML_PRAGMA(text) _Pragma(#text)

/* ML_IVDEP: no iteration depends on what another one writes, so iterations may run at once.
 * ML_UNROLL(times): the body is written out `times` times, a number in digits. */
#ifdef __clang__
#define ML_IVDEP ML_PRAGMA(clang loop vectorize(assume_safety))
#define ML_UNROLL(times) ML_PRAGMA(clang loop unroll_count(times))
#else
#define ML_IVDEP ML_PRAGMA(GCC ivdep)
#define ML_UNROLL(times) ML_PRAGMA(GCC unroll times)
#endif

#endif
