// Elements at places between those of an array.
#include <fmt/format.h>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "base/at.h"
#include "tessera/lookup.h"
#include "tessera/statistics.h"

namespace tessera {

using namespace api;

static std::string Code(EdgeMode v) {
  static constexpr const char* kNames[] = {"kConstant", "kNearest", "kWrap", "kMirror", "kReflect"};
  return std::string("EdgeMode::") + kNames[static_cast<size_t>(v)];
}
static std::string Code(const MapCoordinatesOptions& v) {
  return OptionFields()
      .Add("order", v.order, 1)
      .Add("mode", v.mode, EdgeMode::kConstant)
      .Add("fill_value", v.fill_value)
      .Add(v.out_sharding)
      .code();
}

namespace {

// An element along one dim that a result reads: its number, and its share.
struct Neighbour {
  Located index, share;
};

std::vector<Neighbour> NeighboursOf(const Located& at, int order) {
  const auto number = [&](const Located& x) {
    return at.With(convert_element_type(x, i32, at.loc()));
  };
  if (order == 0)
    return {{number(at.With(round(at, {.away_from_zero = true}, at.loc()))),
             at.With(ones_like(at, {}, at.loc()))}};
  const Located low = Floor(at), share = at - low, first = number(low);
  return {{first, 1 - share}, {first + 1, share}};
}

Located Modulo(const Located& a, int64_t n) {
  return a.With(remainder(a, Operand(n, a.loc()), {}, a.loc()));
}
// Returns |x| of the wave that goes from 0 to n - 1 and back.
Located Mirrored(const Located& index, int64_t n) {
  return Abs(Modulo(index + (n - 1), 2 * (n - 1)) - (n - 1));
}
// Returns the number of the element that stands at an index.
Located Inside(const Located& index, int64_t n, EdgeMode mode) {
  const Loc loc = index.loc();
  switch (mode) {
    case EdgeMode::kWrap:
      return Modulo(index, n);
    case EdgeMode::kMirror:
      return Mirrored(index, n);
    case EdgeMode::kReflect:
      return index.With(
          floor_divide(Mirrored(2 * index + 1, 2 * n + 1) - 1, Operand(2, loc), {}, loc));
    case EdgeMode::kConstant:
    case EdgeMode::kNearest:
      break;
  }
  return index.With(clip(index, Operand(0, loc), Operand(n - 1, loc), loc));
}

class Map {
 public:
  Map(const Array& x, const MapCoordinatesOptions& options, Call call)
      : x_(x), options_(options), call_(call) {}

  Array At(const std::vector<Located>& coordinates) const {
    std::vector<std::vector<Neighbour>> nodes;
    for (const Located& at : coordinates) nodes.push_back(NeighboursOf(at, options_.order));
    size_t corners = 1;
    for (const auto& of_dim : nodes) corners *= of_dim.size();
    Array sum;
    for (size_t corner = 0; corner < corners; ++corner) {
      std::vector<Neighbour> picked;
      size_t rest = corner;
      for (const auto& of_dim : nodes) {
        picked.push_back(of_dim[rest % of_dim.size()]);
        rest /= of_dim.size();
      }
      const Array part = PartOf(picked);
      sum = corner == 0 ? part : add(sum, part, {}, call_.loc);
    }
    const DType t = TypeOf(x_)->dtype();
    if (!t.is_inexact()) sum = round(sum, {.away_from_zero = true}, call_.loc);
    return Convert(sum, t, call_);
  }

 private:
  // Returns the element at the nodes' indices, times their shares.
  Array PartOf(const std::vector<Neighbour>& nodes) const {
    const Loc loc = call_.loc;
    std::vector<Array> indices;
    Located share = nodes[0].share;
    Array is_inside;
    GatherDims dims;
    for (size_t d = 0; d < nodes.size(); ++d) {
      const int64_t n = ShapeOf(x_)[d];
      const Located& index = nodes[d].index;
      if (d > 0) share = share * nodes[d].share;
      indices.push_back(Inside(index, n, options_.mode));
      const Array here = (index >= 0) & (index < n);
      is_inside = d == 0 ? here : logical_and(is_inside, here, {}, loc);
      dims.collapsed.push_back(static_cast<int64_t>(d));
      dims.start.push_back(static_cast<int64_t>(d));
    }
    const Array taken = gather(x_, stack(indices, -1, loc), dims, base::Shape(nodes.size(), 1),
                               {.out_sharding = options_.out_sharding}, loc);
    if (options_.mode != EdgeMode::kConstant) return mul(share, taken, {}, loc);
    const Array fill =
        StrongScalar(options_.fill_value.value_or(Scalar(0)), TypeOf(x_)->dtype(), call_);
    return mul(share, where(is_inside, taken, fill, {}, loc), {}, loc);
  }

  const Array& x_;
  const MapCoordinatesOptions& options_;
  const Call call_;
};

}  // namespace

Array map_coordinates(Operand x, std::vector<Array> coordinates, MapCoordinatesOptions options,
                      Loc loc) {
  const Call call{"map_coordinates", loc};
  if (options.order != 0 && options.order != 1)
    FailShape(call, 17, fmt::format("the order is 0 or 1, not {}", options.order));
  return AsOne(
      call, {{"operand", x}, {"coordinates", coordinates}, options}, [&](const Operands& xs) {
        const Array a = ToArray(xs[0], call);
        if (Rank(a) == 0 || base::Size(Rank(a)) + 1 != xs.size())
          FailShape(call, 18,
                    fmt::format("an array of rank {} needs as many arrays of coordinates, not {}",
                                Rank(a), xs.size() - 1));
        std::vector<Array> places;
        for (size_t i = 1; i < xs.size(); ++i) places.push_back(ToFloat(xs[i], call));
        std::vector<Located> at;
        for (const Array& p : broadcast_arrays(places, loc)) at.emplace_back(p, loc);
        return Map(a, options, call).At(at);
      });
}

}  // namespace tessera
