// Deleted overloads of reductions. Compilers show their comments, which say how options are given.
#pragma once
#include "tessera/ops.h"

namespace TESSERA_PUBLIC tessera {

// They are templates, so that sum(x, {}) calls the function of ops.h.
template <class = void>
Array sum(Operand x, ReduceOptions) = delete;  // write sum(x, All, {.keepdims = true})
template <class = void>
Array prod(Operand x, ReduceOptions) = delete;  // write prod(x, All, {.keepdims = true})
template <class = void>
Array max(Operand x, ReduceOptions) = delete;  // write max(x, All, {.keepdims = true})
template <class = void>
Array min(Operand x, ReduceOptions) = delete;  // write min(x, All, {.keepdims = true})
template <class = void>
Array mean(Operand x, ReduceOptions) = delete;  // write mean(x, All, {.keepdims = true})
template <class = void>
Array any(Operand x, ReduceOptions) = delete;  // write any(x, All, {.keepdims = true})
template <class = void>
Array all(Operand x, ReduceOptions) = delete;  // write all(x, All, {.keepdims = true})
template <class = void>
Array logsumexp(Operand x,
                LogsumexpOptions) = delete;  // write logsumexp(x, All, {.keepdims = true})
template <class = void>
Array ptp(Operand x, ReduceOptions) = delete;  // write ptp(x, All, {.keepdims = true})
template <class = void>
Array count_nonzero(Operand x,
                    ReduceOptions) = delete;  // write count_nonzero(x, All, {.keepdims = true})
template <class = void>
Array var(Operand x, VarOptions) = delete;  // write var(x, All, {.keepdims = true})
template <class = void>
Array stddev(Operand x, VarOptions) = delete;  // write stddev(x, All, {.keepdims = true})
template <class = void>
Array average(Operand x, AverageOptions) = delete;  // write average(x, All, {.keepdims = true})
template <class = void>
Array norm(Operand x, NormOptions) = delete;  // write norm(x, All, {.keepdims = true})

}  // namespace tessera
