// Other forms of calls of ops.h, which includes this header: those that are a dtype or a sharding
// short of braces, and those that are right in NumPy but not here. A compiler that refuses one
// shows its line, whose comment has the right form.
#pragma once
#include <concepts>
#include <initializer_list>
#include <utility>

#include "tessera/ops.h"

namespace TESSERA_PUBLIC tessera {

// Same, with only a dtype, or only a sharding. These are templates so that `{}` means the options.
template <std::same_as<DType> T>
Array zeros(Shape shape, T dtype, Loc loc = Loc::Current()) {
  return zeros(std::move(shape), {.dtype = dtype}, loc);
}
template <std::same_as<DType> T>
Array ones(Shape shape, T dtype, Loc loc = Loc::Current()) {
  return ones(std::move(shape), {.dtype = dtype}, loc);
}
template <std::same_as<DType> T>
Array full(Shape shape, Operand value, T dtype, Loc loc = Loc::Current()) {
  return full(std::move(shape), std::move(value), {.dtype = dtype}, loc);
}
template <std::same_as<PartitionSpec> T>
Array zeros(Shape shape, T sharding, Loc loc = Loc::Current()) {
  return zeros(std::move(shape), {.out_sharding = std::move(sharding)}, loc);
}
template <std::same_as<PartitionSpec> T>
Array ones(Shape shape, T sharding, Loc loc = Loc::Current()) {
  return ones(std::move(shape), {.out_sharding = std::move(sharding)}, loc);
}
template <std::same_as<PartitionSpec> T>
Array full(Shape shape, Operand value, T sharding, Loc loc = Loc::Current()) {
  return full(std::move(shape), std::move(value), {.out_sharding = std::move(sharding)}, loc);
}
template <Integer A, Integer B, Integer... C>
Array zeros(A, B, C...) = delete;  // a shape has braces: zeros({3, 4})
template <Integer A, Integer B, Integer... C>
Array ones(A, B, C...) = delete;  // a shape has braces: ones({3, 4})
template <Integer A, Integer B, Number V>
Array full(A, B, V) = delete;  // a shape has braces: full({3, 4}, value)
template <Integer A, Integer B, Integer... C>
Array reshape(Operand, A, B, C...) = delete;  // a shape has braces: reshape(x, {4, 8})
template <Integer A, Integer B, Integer... C>
Array transpose(Operand, A, B, C...) = delete;  // several dims have braces: transpose(x, {1, 0})
template <Integer A, Integer B, Integer... C>
Array broadcast_to(Operand, A, B, C...) = delete;  // a shape has braces: broadcast_to(x, {4, 8})
template <Integer A, Integer B, Integer... C>
Array tile(Operand, A, B, C...) = delete;  // several counts have braces: tile(x, {2, 3})

// Same as with a spec of these dims: reshard(x, {"x", None}) is reshard(x, P("x", None)).
Array reshard(Operand x, std::initializer_list<DimSharding> dims, Loc loc = Loc::Current());
Array with_sharding_constraint(Operand x, std::initializer_list<DimSharding> dims,
                               Loc loc = Loc::Current());

namespace detail {
// Prints the note about a dim 0 without braces.
void NoteDimZero(const char* function, Loc loc);
// An operand that max and min do not compare with.
template <class T>
concept Compared = std::floating_point<T> || std::same_as<T, Array>;
}  // namespace detail
template <std::same_as<int> T>
Array max(Operand x, T dim, ReduceOptions options = {}, Loc loc = Loc::Current()) {
  if (dim == 0) detail::NoteDimZero("max", loc);
  return max(std::move(x), Dims(dim), std::move(options), loc);
}
template <std::same_as<int> T>
Array min(Operand x, T dim, ReduceOptions options = {}, Loc loc = Loc::Current()) {
  if (dim == 0) detail::NoteDimZero("min", loc);
  return min(std::move(x), Dims(dim), std::move(options), loc);
}
template <detail::Compared T>
Array max(Operand, T) = delete;  // max reduces dims: maximum(x, y) compares elements
template <detail::Compared T>
Array min(Operand, T) = delete;  // min reduces dims: minimum(x, y) compares elements

}  // namespace tessera
