// Elements by signed index, and signed numbers as sizes: ids, dims and axes are signed numbers, or
// enums of them.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace tessera::base {

// Returns c[i]. A negative index is out of range, as debug builds tell (_GLIBCXX_ASSERTIONS).
template <class C, class I>
requires(std::signed_integral<I> || std::is_enum_v<I>) constexpr decltype(auto) At(C&& c, I i) {
  return std::forward<C>(c)[static_cast<std::size_t>(i)];
}

// Returns n as a size; debug builds stop where it is negative.
constexpr std::size_t Size(std::int64_t n) {
#ifdef _GLIBCXX_ASSERTIONS
  if (n < 0) std::abort();
#endif
  return static_cast<std::size_t>(n);
}

}  // namespace tessera::base
