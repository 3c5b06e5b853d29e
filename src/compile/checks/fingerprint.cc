// Adds up shards. Signs and buckets depend on global indices, so that layouts do not matter.
#include "compile/checks/fingerprint.h"

#include <absl/hash/hash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "base/at.h"
#include "base/dtype.h"
#include "base/float8.h"
#include "base/narrow_floats.h"
#include "compile/host/host_array.h"
#include "ir/type.h"

namespace tessera::compile {
namespace {

// Adds elements that `convert` returns by their index in a row.
template <class Convert>
void AddConverted(const Convert& convert, int64_t count, int64_t first, kernels::SignedSums& to) {
  std::array<float, 1024> part;
  for (int64_t begin = 0; begin < count; begin += std::ssize(part)) {
    const int64_t n = std::min(std::ssize(part), count - begin);
    for (int64_t i = 0; i < n; ++i) part[base::Size(i)] = convert(begin + i);
    kernels::AddSignedSums(part.data(), {.count = n, .first = first + begin}, to);
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

// Adds a row of elements first, first + 1, ... of an array.
void AddRow(DType t, const std::byte* data, int64_t count, int64_t first, Fingerprint& to) {
  kernels::SignedSums& floats = to.floats;
  if (t == f16) {
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

void AddRows(DType t, const ShardRows& r, const std::byte* shard, Fingerprint& to) {
  const kernels::SignedRows& rows = r.rows;
  const auto size = static_cast<int64_t>(t.size());
  const std::byte* data = shard + r.begin * size;
  if (t == f32)
    return kernels::AddSignedSums(reinterpret_cast<const float*>(data), rows, to.floats);
  if (t == f64)
    return kernels::AddSignedSums(reinterpret_cast<const double*>(data), rows, to.floats);
  for (int64_t k = 0; k < rows.rows; ++k)
    AddRow(t, data + k * rows.stride * size, rows.count, rows.first + k * rows.step, to);
}

// Returns the share of the rows that a part of a shard has.
ShardRows ShareOf(ShardRows r, const ShardPart& part) {
  int64_t& divided = r.rows.rows > 1 ? r.rows.rows : r.rows.count;
  const int64_t begin = divided * part.part / part.parts;
  const int64_t end = divided * (part.part + 1) / part.parts;
  r.rows.first += begin * (r.rows.rows > 1 ? r.rows.step : 1);
  r.begin += begin * (r.rows.rows > 1 ? r.rows.stride : 1);
  divided = end - begin;
  return r;
}

// A complex element is two numbers.
DType NumberOf(DType t) { return t.is_complex() ? base::PartOf(t) : t; }

// Adds a row to the last ones, and returns true, if it is as long and as far away as they are from
// each other.
bool Extend(std::vector<ShardRows>& all, const ShardRows& row) {
  if (all.empty() || all.back().rows.count != row.rows.count) return false;
  kernels::SignedRows& last = all.back().rows;
  const int64_t step = row.rows.first - last.first - (last.rows - 1) * last.step;
  const int64_t stride = row.begin - all.back().begin - (last.rows - 1) * last.stride;
  if (last.rows > 1 && (step != last.step || stride != last.stride)) return false;
  last.step = step, last.stride = stride;
  ++last.rows;
  return true;
}

}  // namespace

std::vector<ShardRows> RowsOf(const ir::Type& place, int64_t position) {
  const auto size = static_cast<int64_t>(NumberOf(place.dtype()).size());
  std::vector<ShardRows> all;
  ForEachPiece(place, position, [&](int64_t in_whole, int64_t in_shard, int64_t bytes) {
    const ShardRows row{{.count = bytes / size, .first = in_whole / size}, in_shard / size};
    if (!Extend(all, row)) all.push_back(row);
  });
  return all;
}

Fingerprint FingerprintOf(DType dtype, const std::vector<ShardRows>& rows, const ShardPart& part) {
  Fingerprint out;
  for (const ShardRows& r : rows) AddRows(NumberOf(dtype), ShareOf(r, part), part.shard, out);
  return out;
}

void Add(const Fingerprint& other, Fingerprint& to) {
  to.floats.Add(other.floats);
  to.exact += other.exact;
}

uint64_t HashOf(DType dtype, const std::vector<ShardRows>& rows, const ShardPart& part) {
  const size_t size = NumberOf(dtype).size();
  uint64_t hash = 0;
  for (const ShardRows& all : rows) {
    const ShardRows r = ShareOf(all, part);
    for (int64_t k = 0; k < r.rows.rows; ++k) {
      const std::byte* row = part.shard + base::Size(r.begin + k * r.rows.stride) * size;
      hash = absl::HashOf(hash, std::string_view(reinterpret_cast<const char*>(row),
                                                 base::Size(r.rows.count) * size));
    }
  }
  return hash;
}

bool HasOtherReplicas(const ir::HostArgument& value) {
  const ir::Type& type = *value.place;
  std::map<std::pair<int64_t, int64_t>, const std::byte*> seen;  // by array and shard
  bool differ = false;
  for (size_t p = 0; p < value.shards.size(); ++p) {
    const std::byte* shard = value.shards[p];
    if (!shard) continue;
    const auto position = static_cast<int64_t>(p);
    const auto [first, is_new] =
        seen.emplace(std::pair(ArrayAt(type, position), ShardAt(type, position)), shard);
    if (is_new || first->second == shard) continue;
    ForEachPiece(type, position, [&](int64_t, int64_t in_shard, int64_t bytes) {
      differ |= std::memcmp(first->second + in_shard, shard + in_shard, base::Size(bytes)) != 0;
    });
  }
  return differ;
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
