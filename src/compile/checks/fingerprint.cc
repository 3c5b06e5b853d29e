// Adds up shards. Signs and buckets depend on global indices, so that layouts do not matter.
#include "compile/checks/fingerprint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "base/at.h"
#include "base/dtype.h"
#include "base/float8.h"
#include "base/narrow_floats.h"
#include "ir/type.h"
#include "sharding/local.h"

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

// Adds a shard that starts at global index `start`, in runs of elements that are neighbours in the
// whole array too. Elements beyond the shape are padding.
void AddShard(const ir::Type& type, const base::Shape& local, const std::vector<int64_t>& start,
              const std::byte* data, Fingerprint& to) {
  const base::Shape& whole = type.shape();
  const int64_t parts = type.dtype().is_complex() ? 2 : 1;
  const DType t = parts == 2 ? base::PartOf(type.dtype()) : type.dtype();
  // A run covers dims `outer`, outer + 1, ...: all but the first of them are whole.
  size_t outer = local.size();
  int64_t width = 1, whole_width = 1;  // of a run in the shard, and of a row in the whole array
  while (outer > 0) {
    --outer;
    width *= local[outer];
    whole_width *= whole[outer];
    if (local[outer] != whole[outer]) break;
  }
  const int64_t inside =
      local.empty() ? 1
                    : width / std::max<int64_t>(local[outer], 1) *
                          std::clamp<int64_t>(whole[outer] - start[outer], 0, local[outer]);
  int64_t runs = 1;
  for (size_t d = 0; d < outer; ++d) runs *= local[d];
  const int64_t offset =
      local.empty() ? 0 : start[outer] * (width / std::max<int64_t>(local[outer], 1));
  std::vector<int64_t> at(outer, 0);
  for (int64_t r = 0; r < runs && inside > 0; ++r) {
    int64_t row = 0;
    bool is_padding = false;
    for (size_t d = 0; d < outer; ++d) {
      is_padding = is_padding || start[d] + at[d] >= whole[d];
      row = row * whole[d] + start[d] + at[d];
    }
    if (!is_padding)
      AddRun(t, data + base::Size(r * width * parts) * t.size(), inside * parts,
             (row * whole_width + offset) * parts, to);
    for (size_t d = outer; d-- > 0;) {
      if (++at[d] < local[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace

Fingerprint FingerprintOf(const ir::HostArgument& value) {
  const ir::Type& type = *value.place;
  const sharding::TensorSharding& s = type.sharding();
  const base::Shape local = sharding::LocalShape(type.shape(), s);
  const size_t bytes = base::Size(sharding::LocalElements(type.shape(), s)) * type.dtype().size();
  Fingerprint out;
  // The first shard with each start and, if arrays vary or are partial, each of their coordinates.
  std::map<std::vector<int64_t>, const std::byte*> seen;
  for (size_t p = 0; p < value.shards.size(); ++p) {
    const std::byte* shard = value.shards[p];
    if (!shard) continue;
    std::vector<int64_t> start(local.size(), 0), key;
    const auto position = static_cast<int64_t>(p);
    for (size_t d = 0; d < local.size(); ++d) {
      const sharding::AxisList& axes = s.dims[d].axes;
      if (!axes.empty()) start[d] = sharding::ShardIndex(*type.mesh(), axes, position) * local[d];
    }
    key = start;
    for (const sharding::AxisList* axes : {&s.varying, &s.unreduced})
      if (!axes->empty()) key.push_back(sharding::ShardIndex(*type.mesh(), *axes, position));
    const auto [first, is_new] = seen.emplace(std::move(key), shard);
    if (is_new)
      AddShard(type, local, start, shard, out);
    else if (first->second != shard && std::memcmp(first->second, shard, bytes) != 0)
      out.replicas_differ = true;
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
