// Element access by a signed number, and conversion of signed numbers to sizes. They are for dims,
// axes, positions and devices, which are signed integers. Ids do not go here: they index an
// IdVector.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace tessera::base {

// A signed number, or an enumerator of one byte: the kind by which an array holds one item each.
template <class I>
concept IsPosition = std::signed_integral<I> ||(std::is_enum_v<I> && sizeof(I) == 1);

// Returns c[i]. Debug builds (_GLIBCXX_ASSERTIONS) stop if i is negative.
template <class C, IsPosition I>
constexpr decltype(auto) At(C&& c, I i) {
  return std::forward<C>(c)[static_cast<std::size_t>(i)];
}

// Returns n as a size. Debug builds stop if it is negative.
constexpr std::size_t Size(std::int64_t n) {
#ifdef _GLIBCXX_ASSERTIONS
  if (n < 0) std::abort();
#endif
  return static_cast<std::size_t>(n);
}

}  // namespace tessera::base
