// fmt::print("{}", x) for every type that prints. The one public header that needs fmt.
#pragma once
#if __has_include(<fmt/ostream.h>)
#include <fmt/ostream.h>

#include "tessera/array.h"
#include "tessera/program.h"

namespace fmt {
template <>
struct formatter<tessera::Array> : ostream_formatter {};
template <>
struct formatter<tessera::ArrayType> : ostream_formatter {};
template <>
struct formatter<tessera::Mesh> : ostream_formatter {};
template <>
struct formatter<tessera::PartitionSpec> : ostream_formatter {};
template <>
struct formatter<tessera::Sharding> : ostream_formatter {};
template <>
struct formatter<tessera::Program> : ostream_formatter {};
template <>
struct formatter<tessera::CommReport> : ostream_formatter {};
}  // namespace fmt
#endif
