// Element access by signed index, and conversion of signed numbers to sizes. Ids, dims and axes are
// signed integers or enums over them.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace tessera::base {

// Returns c[i]. Debug builds (_GLIBCXX_ASSERTIONS) stop if i is negative.
template <class C, class I>
requires(std::signed_integral<I> || std::is_enum_v<I>) constexpr decltype(auto) At(C&& c, I i) {
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
