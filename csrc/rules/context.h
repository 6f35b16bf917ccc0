/* context.h -- macros that declare the `p` of an expression in ML_UNARY or ML_BINARY. It is a copy,
 * so the compiler knows that stores do not change it. */
#ifndef ML_RULES_CONTEXT_H
#define ML_RULES_CONTEXT_H

#define ML_NO_CONTEXT
#define ML_PARAMS_AS(context) const context p = *(const context *)c->params;
#define ML_DERIVED_AS(context) const context p = *(const context *)c->derived;

#endif
