// Adds up shards. Signs and buckets depend on global indices, so that layouts do not matter.
#include "compile/checks/fingerprint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "base/at.h"
#include "base/dtype.h"
#include "base/float8.h"
#include "base/narrow_floats.h"
#include "compile/host/host_array.h"
#include "ir/type.h"

namespace tessera::compile {
namespace {

// Calls f(part of `data` as floats, its first index, its count) until all elements are converted.
template <class Convert>
void AddConverted(const Convert& convert, int64_t count, int64_t first, kernels::SignedSums& to) {
  std::array<float, 1024> part;
  for (int64_t begin = 0; begin < count; begin += std::ssize(part)) {
    const int64_t n = std::min(std::ssize(part), count - begin);
    for (int64_t i = 0; i < n; ++i) part[base::Size(i)] = convert(begin + i);
    kernels::AddSignedSums(part.data(), n, first + begin, to);
  }
}

template <class T>
T Read(const std::byte* data, int64_t i) {
  T x;
  std::memcpy(&x, data + base::Size(i) * sizeof x, sizeof x);
  return x;
}

// Words of `size` bytes, of any meaning.
void AddWords(const std::byte* data, size_t size, int64_t count, int64_t first, uint64_t& to) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, data + base::Size(i) * size, size);
    // An odd factor per place.
    const uint64_t place = kernels::MixedBits(static_cast<uint64_t>(first + i)) | 1;
    to += kernels::MixedBits(word + 0x9e3779b97f4a7c15u) * place;
  }
}

// Adds elements first, first + 1, ... of an array.
void AddRun(DType t, const std::byte* data, int64_t count, int64_t first, Fingerprint& to) {
  kernels::SignedSums& floats = to.floats;
  if (t == f64) {
    kernels::AddSignedSums(reinterpret_cast<const double*>(data), count, first, floats);
  } else if (t == f32) {
    kernels::AddSignedSums(reinterpret_cast<const float*>(data), count, first, floats);
  } else if (t == f16) {
    AddConverted([&](int64_t i) { return base::HalfToFloat(Read<uint16_t>(data, i)); }, count,
                 first, floats);
  } else if (t == bf16) {
    AddConverted([&](int64_t i) { return base::BrainToFloat(Read<uint16_t>(data, i)); }, count,
                 first, floats);
  } else if (t.is_float8()) {
    const auto format = base::Float8Format::Of(t.code());
    AddConverted([&](int64_t i) { return base::Float8ToFloat(format, Read<uint8_t>(data, i)); },
                 count, first, floats);
  } else {
    AddWords(data, t.size(), count, first, to.exact);
  }
}

}  // namespace

Fingerprint FingerprintOf(const ir::HostArgument& value) {
  const ir::Type& type = *value.place;
  const DType t = type.dtype().is_complex() ? base::PartOf(type.dtype()) : type.dtype();
  const auto size = static_cast<int64_t>(t.size());
  Fingerprint out;
  std::map<std::pair<int64_t, int64_t>, const std::byte*> seen;  // by array and shard
  for (size_t p = 0; p < value.shards.size(); ++p) {
    const std::byte* shard = value.shards[p];
    if (!shard) continue;
    const auto position = static_cast<int64_t>(p);
    const auto [first, is_new] =
        seen.emplace(std::pair(ArrayAt(type, position), ShardAt(type, position)), shard);
    if (!is_new && first->second == shard) continue;
    ForEachPiece(type, position, [&](int64_t in_whole, int64_t in_shard, int64_t bytes) {
      if (is_new)
        AddRun(t, shard + in_shard, bytes / size, in_whole / size, out);
      else if (std::memcmp(first->second + in_shard, shard + in_shard, base::Size(bytes)) != 0)
        out.replicas_differ = true;
    });
  }
  return out;
}

double DifferenceOf(const Fingerprint& a, const Fingerprint& b) {
  const kernels::SignedSums &x = a.floats, &y = b.floats;
  if (x.nans != y.nans || x.positive != y.positive || x.negative != y.negative ||
      a.exact != b.exact)
    return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t k = 0; k < x.sums.size(); ++k) {
    const double difference = std::abs(x.sums[k] - y.sums[k]);
    if (difference == 0) continue;
    // Squares of numbers beyond 1e154 and below 1e-154 are infinite and 0.
    double size = std::sqrt(std::max(x.squares[k], y.squares[k]));
    if (size == 0 || std::isinf(size)) size = std::max(std::abs(x.sums[k]), std::abs(y.sums[k]));
    const double d = difference / size;
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

}  // namespace tessera::compile
