// Reads XLA's shardings, and finds the mesh that they are on.
#include "stablehlo/read/older_shardings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/at.h"
#include "stablehlo/text/constants.h"

namespace tessera::stablehlo {
namespace {

using sharding::MeshDef;
using Numbers = std::vector<int64_t>;

// Returns the numbers in the brackets that begin at `at`; moves `at` past them.
std::optional<Numbers> NumbersAt(std::string_view text, size_t& at, char open, char close) {
  if (at >= text.size() || text[at] != open) return {};
  const size_t end = text.find(close, at);
  if (end == std::string_view::npos) return {};
  Numbers numbers;
  const char* const last = text.data() + end;
  for (const char* next = text.data() + at + 1; next < last; ++next) {
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(next, last, number);
    if (error != std::errc() || number < 0 || (stop != last && *stop != ',')) return {};
    numbers.push_back(number);
    next = stop;
  }
  at = end + 1;
  return numbers;
}

int64_t Product(const Numbers& numbers) {
  int64_t product = 1;
  for (int64_t n : numbers) product *= n;
  return product;
}

// The digits of the devices of a tile assignment `<=[2,4]T(1,0)`, major to minor.
std::optional<std::vector<DeviceDigits>> DigitsOf(const Numbers& sizes, const Numbers& order) {
  std::vector<DeviceDigits> all(sizes.size()), digits;
  int64_t stride = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    all[k] = {sizes[k], stride};
    stride *= sizes[k];
  }
  for (int64_t k : order) {
    if (k >= static_cast<int64_t>(all.size())) return {};
    digits.push_back(all[base::Size(k)]);
  }
  return digits;
}

// Takes digits of that many devices from the front.
std::optional<std::vector<DeviceDigits>> Take(std::vector<DeviceDigits>& digits, int64_t count) {
  std::vector<DeviceDigits> taken;
  while (count > 1) {
    if (digits.empty()) return {};
    DeviceDigits& first = digits.front();
    if (first.size <= count) {
      if (count % first.size != 0) return {};
      count /= first.size;
      if (first.size > 1) taken.push_back(first);
      digits.erase(digits.begin());
      continue;
    }
    if (first.size % count != 0) return {};
    const int64_t rest = first.size / count;
    taken.push_back({count, first.stride * rest});
    first.size = rest;
    count = 1;
  }
  return taken;
}

// Calls f with each mhlo.sharding of the module.
template <class F>
void ForEachOlder(const TextRegion& region, const F& f) {
  for (const Operation& op : region.operations) {
    if (const Attribute* s = op.Find("mhlo.sharding")) f(s->text);
    for (const TextRegion& inner : op.regions) ForEachOlder(inner, f);
  }
}
template <class F>
void ForEachOlder(const Module& module, const F& f) {
  for (const TextFunction& function : module.functions) {
    for (auto attributes : {function.argument_attributes, function.result_attributes})
      for (const Attribute& of_value : attributes)
        if (const Attribute* s = of_value.Find("mhlo.sharding")) f(s->text);
    ForEachOlder(function.body, f);
  }
}

int64_t DevicesOf(const Module& module) {
  const Attribute* count = Find(module.attributes, "mhlo.num_partitions");
  return count ? IntegerOf(module, *count) : 1;
}

}  // namespace

std::optional<OlderSharding> ParseOlderSharding(std::string_view text, int64_t devices) {
  OlderSharding sharding;
  if (text == "{manual}") {
    sharding.is_manual = true;
    return sharding;
  }
  if (text == "{replicated}" || text.starts_with("{maximal")) return sharding;
  constexpr std::string_view kDevices = "{devices=";
  if (!text.starts_with(kDevices) || !text.ends_with('}')) return {};
  size_t at = kDevices.size();
  const std::optional<Numbers> tiles = NumbersAt(text, at, '[', ']');
  if (!tiles || text.substr(at, 2) != "<=") return {};
  at += 2;
  const std::optional<Numbers> sizes = NumbersAt(text, at, '[', ']');
  if (!sizes || Product(*sizes) != devices || Product(*tiles) != devices) return {};
  Numbers order(sizes->size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
  if (text.substr(at, 1) == "T") {
    const std::optional<Numbers> given = NumbersAt(text, ++at, '(', ')');
    if (!given || given->size() != order.size()) return {};
    order = *given;
  }
  std::optional<std::vector<DeviceDigits>> digits = DigitsOf(*sizes, order);
  if (!digits) return {};
  const std::string_view rest = text.substr(at);
  size_t last = rest.find("last_tile_dim_replicate") != std::string_view::npos ? 1 : 0;
  size_t manual = tiles->size();
  if (const size_t kinds = rest.find("last_tile_dims={"); kinds != std::string_view::npos) {
    const std::string_view list = rest.substr(kinds, rest.find('}', kinds) - kinds);
    last = static_cast<size_t>(std::count(list.begin(), list.end(), ',')) + 1;
    const size_t word = list.find("manual");
    if (word != std::string_view::npos)
      manual = tiles->size() - last +
               static_cast<size_t>(
                   std::count(list.begin(), list.begin() + static_cast<long>(word), ','));
  }
  for (size_t d = 0; d < tiles->size(); ++d) {
    std::optional<std::vector<DeviceDigits>> taken = Take(*digits, (*tiles)[d]);
    if (!taken) return {};
    if (d + last < tiles->size())
      sharding.dims.push_back(std::move(*taken));
    else if (d == manual)
      sharding.manual = std::move(*taken);
  }
  return sharding;
}

const MeshDef* MeshOfOlderShardings(const Module& module) {
  const int64_t devices = DevicesOf(module);
  std::set<int64_t> ends{1, devices};
  bool any = false;
  ForEachOlder(module, [&](std::string_view text) {
    any = true;
    const std::optional<OlderSharding> sharding = ParseOlderSharding(text, devices);
    if (!sharding)
      module.Fail(module.PlaceOf(text), fmt::format("the sharding {} is not supported", text));
    const auto add = [&](const std::vector<DeviceDigits>& digits) {
      for (const DeviceDigits& d : digits) ends.insert({d.stride, d.stride * d.size});
    };
    for (const auto& digits : sharding->dims) add(digits);
    add(sharding->manual);
  });
  if (!any || devices == 1) return nullptr;
  std::vector<MeshAxis> axes;
  int64_t less = 0;
  for (int64_t end : ends) {
    if (less != 0) {
      if (end % less != 0) module.Fail(0, "its shardings have no common axes");
      axes.push_back({"", end / less, AxisMode::Auto});
    }
    less = end;
  }
  std::reverse(axes.begin(), axes.end());
  for (size_t a = 0; a < axes.size(); ++a) axes[a].name = fmt::format("_axis_{}", a);
  return MeshDef::Intern(std::move(axes), {}, sharding::MeshKind::kConcrete);
}

sharding::AxisList AxesOfDigits(const MeshDef& mesh, const std::vector<DeviceDigits>& digits) {
  sharding::AxisList axes;
  for (const DeviceDigits& d : digits)
    for (int a = 0; a < mesh.rank(); ++a)
      if (mesh.stride(a) >= d.stride && mesh.stride(a) < d.stride * d.size)
        axes.push_back(sharding::WholeAxis(mesh, a));
  return axes;
}

sharding::TensorSharding ShardingOfOlder(const MeshDef& mesh, const OlderSharding& older,
                                         size_t rank, const std::vector<int64_t>& open) {
  sharding::TensorSharding s;
  s.mesh = mesh.WithoutModes();
  s.dims.resize(rank);
  for (size_t d = 0; d < rank && d < older.dims.size(); ++d)
    s.dims[d].axes = AxesOfDigits(mesh, older.dims[d]);
  for (int64_t d : open)
    if (d >= 0 && d < static_cast<int64_t>(rank)) s.dims[base::Size(d)].open = true;
  return s;
}

}  // namespace tessera::stablehlo
