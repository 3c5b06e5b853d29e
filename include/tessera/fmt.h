// fmt::print("{}", x) for every printable type. This is the only public header that needs fmt.
#pragma once
#if __has_include(<fmt/core.h>)
#include <fmt/core.h>

#include <string>

#include "tessera/array.h"
#include "tessera/first_difference.h"
#include "tessera/memory_advice.h"
#include "tessera/profile.h"
#include "tessera/program.h"

namespace TESSERA_PUBLIC tessera {
namespace detail {

// Writes the text with the options of `spec`. It is defined in the library because it needs all
// of fmt.
fmt::format_context::iterator FormatText(const fmt::formatter<fmt::string_view>& spec,
                                         const std::string& text, fmt::format_context& context);

// Returns the text that `operator<<` prints.
std::string PrintedText(const Array& array, Loc loc = Loc::Unknown());

// Formats the text of `operator<<` with the options of strings: "{:>30}".
template <class T>
struct TextFormatter : fmt::formatter<fmt::string_view> {
  auto format(const T& v, fmt::format_context& context) const {
    if constexpr (std::is_same_v<T, Array>)
      return FormatText(*this, PrintedText(v), context);
    else
      return FormatText(*this, v.text(), context);
  }
};

}  // namespace detail
}  // namespace tessera

namespace fmt {
template <>
struct formatter<tessera::Array> : tessera::detail::TextFormatter<tessera::Array> {};
template <>
struct formatter<tessera::ArrayType> : tessera::detail::TextFormatter<tessera::ArrayType> {};
template <>
struct formatter<tessera::Mesh> : tessera::detail::TextFormatter<tessera::Mesh> {};
template <>
struct formatter<tessera::PartitionSpec> : tessera::detail::TextFormatter<tessera::PartitionSpec> {
};
template <>
struct formatter<tessera::Sharding> : tessera::detail::TextFormatter<tessera::Sharding> {};
template <>
struct formatter<tessera::Program> : tessera::detail::TextFormatter<tessera::Program> {};
template <>
struct formatter<tessera::CommReport> : tessera::detail::TextFormatter<tessera::CommReport> {};
template <>
struct formatter<tessera::MemoryReport> : tessera::detail::TextFormatter<tessera::MemoryReport> {};
template <>
struct formatter<tessera::MemoryAdvice> : tessera::detail::TextFormatter<tessera::MemoryAdvice> {};
template <>
struct formatter<tessera::FirstDifference>
    : tessera::detail::TextFormatter<tessera::FirstDifference> {};
template <>
struct formatter<tessera::Lowered> : tessera::detail::TextFormatter<tessera::Lowered> {};
template <>
struct formatter<tessera::Profile> : tessera::detail::TextFormatter<tessera::Profile> {};
}  // namespace fmt
#endif
