// Elements by signed index: ids, dims and axes are signed numbers.
#pragma once
#include <concepts>
#include <cstddef>
#include <utility>

namespace tessera::base {

// Returns c[i]. A negative index is out of range, as debug builds tell (_GLIBCXX_ASSERTIONS).
template <class C, std::signed_integral I>
constexpr decltype(auto) At(C&& c, I i) {
  return std::forward<C>(c)[static_cast<std::size_t>(i)];
}

}  // namespace tessera::base
