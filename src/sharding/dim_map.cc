// Builds the maps of elementwise ops and reshapes from shapes; completes, edits and prints maps.
#include "sharding/dim_map.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstdlib>
#include <numeric>

namespace tessera::sharding {

DimMap Pointwise(const Shapes& operands, const Shape& result, int num_results) {
  DimMap map;
  DimFactors dims(result.size());
  for (size_t d = 0; d < result.size(); ++d) dims[d].push_back(map.AddFactor({.size = result[d]}));
  for (const Shape* operand : operands) {
    DimFactors own(operand->size());
    for (size_t d = 0; d < operand->size(); ++d)
      if ((*operand)[d] == result[d]) own[d] = dims[d];
    map.operands.push_back(std::move(own));
  }
  map.results.assign(num_results, dims);
  return map;
}

double PointsOf(const DimMap& map) {
  double points = map.density;
  for (const Factor& f : map.factors) points *= static_cast<double>(f.size);
  return points;
}

void SetPoints(DimMap& map, double points) {
  map.density = 1;
  const double product = PointsOf(map);
  if (product > 0) map.density = points / product;
}

namespace {

// One side of the walk over a reshape: the current dim, and the products of the dims and of the
// factors that the walk has passed.
struct Side {
  const Shape& shape;
  DimFactors& dims;
  size_t at, end;
  int64_t dim_product = 1, factor_product = 1;

  bool more() const { return at < end; }
  void EnterDim() {
    if (more() && dim_product == factor_product) dim_product *= shape[at];
  }
  int64_t left() const { return dim_product / factor_product; }
  void Add(int32_t factor, int64_t size) {
    dims[at].push_back(factor);
    factor_product *= size;
  }
  void LeaveDim() {
    if (more() && dim_product == factor_product) ++at;
  }
  // Gives a dim of size 1 a factor of its own.
  bool PassSizeOne(DimMap& map) {
    if (!more() || shape[at] != 1) return false;
    dims[at++] = {map.AddFactor({.size = 1})};
    return true;
  }
};

// Returns the size of the next factor of the side that has covered fewer elements (`small` <
// `large`): their quotient, if that brings both sides level.
int64_t DivergedSize(int64_t left, int64_t common, int64_t small, int64_t large) {
  if (large % small == 0 && left % (large / small) == 0) return large / small;
  return left > common ? left / common : left;
}

}  // namespace

namespace {

// Walks both sides to their ends. They have the same number of elements, which is not 0.
void Walk(DimMap& map, Side& in, Side& out) {
  auto alone = [&](Side& side, int64_t size) { side.Add(map.AddFactor({.size = size}), size); };
  while (in.more() || out.more()) {
    if (in.PassSizeOne(map) || out.PassSizeOne(map)) continue;
    in.EnterDim();
    out.EnterDim();
    int64_t common = std::gcd(in.left(), out.left());
    if (in.factor_product == out.factor_product) {
      if (common > 1) {
        int32_t f = map.AddFactor({.size = common});
        in.Add(f, common);
        out.Add(f, common);
      } else {
        alone(in, in.left());
        alone(out, out.left());
      }
    } else if (in.factor_product < out.factor_product) {
      alone(in, DivergedSize(in.left(), common, in.factor_product, out.factor_product));
    } else {
      alone(out, DivergedSize(out.left(), common, out.factor_product, in.factor_product));
    }
    in.LeaveDim();
    out.LeaveDim();
  }
}

// Returns the runs of dims between dims of size 0: the end of each run, and the
// product of its sizes.
std::vector<std::pair<size_t, int64_t>> RunsBetweenZeros(const Shape& shape) {
  std::vector<std::pair<size_t, int64_t>> runs;
  int64_t product = 1;
  for (size_t d = 0; d <= shape.size(); ++d) {
    if (d < shape.size() && shape[d] != 0) {
      product *= shape[d];
      continue;
    }
    runs.emplace_back(d, product);
    product = 1;
  }
  return runs;
}

DimMap WalkBetweenZeros(const Shape& operand, const Shape& result) {
  DimMap map;
  map.operands.emplace_back(operand.size());
  map.results.emplace_back(result.size());
  map.linear = {{.operands = {0}, .kinds = kAnyKind}};
  auto in_runs = RunsBetweenZeros(operand), out_runs = RunsBetweenZeros(result);
  bool alike = in_runs.size() == out_runs.size();
  for (size_t k = 0; alike && k < in_runs.size(); ++k)
    alike = in_runs[k].second == out_runs[k].second;
  if (!alike) {
    // There are no elements, and the dims do not correspond.
    for (size_t d = 0; d < operand.size(); ++d)
      map.operands[0][d] = {map.AddFactor({.size = operand[d]})};
    for (size_t d = 0; d < result.size(); ++d)
      map.results[0][d] = {map.AddFactor({.size = result[d]})};
    return map;
  }
  size_t in_at = 0, out_at = 0;
  for (size_t k = 0; k < in_runs.size(); ++k) {
    Side in{operand, map.operands[0], in_at, in_runs[k].first},
        out{result, map.results[0], out_at, out_runs[k].first};
    Walk(map, in, out);
    in_at = in_runs[k].first + 1;
    out_at = out_runs[k].first + 1;
    if (k + 1 == in_runs.size()) break;
    int32_t zero = map.AddFactor({.size = 0});  // shared by the dims of size 0 that end the runs
    map.operands[0][in_at - 1] = map.results[0][out_at - 1] = {zero};
  }
  return map;
}

}  // namespace

DimMap ReshapeMap(const Shape& operand, const Shape& result) {
  DimMap map = WalkBetweenZeros(operand, result);
  // Types keep the axes of arrays without elements, but Shardy propagates nothing between them.
  if (absl::c_linear_search(operand, 0))
    for (Factor& f : map.factors) f.blocked = true;
  return map;
}

DimMap Completed(DimMap map) {
  for (std::vector<DimFactors>* tensors : {&map.operands, &map.results})
    for (DimFactors& dims : *tensors)
      for (FactorList& dim : dims)
        if (dim.empty()) dim = {map.AddFactor({.size = 1})};
  return map;
}

namespace {

// Inserts a factor at `at`. The factors from there on get the next numbers.
void InsertFactor(DimMap& map, int32_t at, Factor factor) {
  map.factors.insert(map.factors.begin() + at, factor);
  for (std::vector<DimFactors>* tensors : {&map.operands, &map.results})
    for (DimFactors& dims : *tensors)
      for (FactorList& dim : dims)
        for (int32_t& f : dim) f += f >= at;
  for (Access& a : map.accesses) {
    a.factor += a.factor >= at;
    a.window_factor += a.window_factor >= at;
  }
}

bool IsPlacedAtRunTime(const DimMap& map, int32_t f) {
  return absl::c_any_of(map.accesses,
                        [f](const Access& a) { return a.factor == f && a.at_run_time; });
}

// Gives a dim a factor of its own if its size differs from its only factor's and `is_piece`
// accepts that factor.
template <class F>
void SetApart(DimMap& map, std::vector<DimFactors>& tensors, const Shapes& shapes, F is_piece) {
  for (size_t i = 0; i < tensors.size(); ++i)
    for (size_t d = 0; d < tensors[i].size(); ++d) {
      const FactorList& dim = tensors[i][d];
      const int64_t size = (*shapes[i])[d];
      if (dim.size() != 1 || map.factors[dim[0]].size == size || !is_piece(dim[0])) continue;
      const int32_t piece = dim[0] + 1;
      InsertFactor(map, piece, {.size = size, .kind = FactorKind::kReplicate});
      tensors[i][d] = {piece};
    }
}

}  // namespace

DimMap WithPiecesApart(DimMap map, const Shapes& operands) {
  std::erase_if(map.accesses, [](const Access& a) { return a.at_run_time; });
  // A device reads through whole windows.
  for (const Access& a : map.accesses)
    if (a.window_factor >= 0) map.factors[a.window_factor].kind = FactorKind::kReplicate;
  SetApart(map, map.operands, operands,
           [&](int32_t f) { return map.factors[f].kind == FactorKind::kAcross; });
  return map;
}

namespace {

// An access counts windows and their elements alike: element w of window o is at o * stride + w *
// window_dilation + offset. If there are more elements than windows, as in the gradient of a
// kernel, devices share the elements, and each adds up its part of all windows.
void CountElementsOfWindows(DimMap& map) {
  for (Access& a : map.accesses) {
    if (a.window_factor < 0 || map.factors[a.factor].size >= map.factors[a.window_factor].size)
      continue;
    absl::c_replace(map.operands[a.operand], FactorList{a.factor}, FactorList{a.window_factor});
    a.window = map.factors[a.factor].size;
    std::swap(a.factor, a.window_factor);
    std::swap(a.stride, a.window_dilation);
  }
}

}  // namespace

DimMap OnShards(DimMap map, const Shapes& operands, const Shapes& results) {
  CountElementsOfWindows(map);
  SetApart(map, map.results, results, [&](int32_t f) { return IsPlacedAtRunTime(map, f); });
  SetApart(map, map.operands, operands,
           [&](int32_t f) { return map.factors[f].kind == FactorKind::kAcross; });
  const std::vector<bool> in_results = FactorsOf(map, map.results);
  for (size_t f = 0; f < map.factors.size(); ++f)
    if (IsPlacedAtRunTime(map, static_cast<int32_t>(f)))
      map.factors[f].kind = in_results[f] ? FactorKind::kPass : FactorKind::kReduce;
  return WithPiecesApart(std::move(map), operands);
}

DimMap WithWholeSums(DimMap map) {
  const std::vector<bool> in_results = FactorsOf(map, map.results);
  // A device that looks up elements which it does not have adds zeros, so the order is free.
  const auto only_looks_up = [&](size_t f) {
    return LooksUp(map, f) && !map.traits.product &&
           absl::c_none_of(map.traits.selectors, [&](int32_t selector) {
             return HasFactor(map.operands[selector], static_cast<int32_t>(f));
           });
  };
  for (size_t f = 0; f < map.factors.size(); ++f) {
    Factor& factor = map.factors[f];
    const bool adds = factor.reduction == Reduction::kSum || factor.reduction == Reduction::kProd;
    // A running maximum, whose factor says no reduction, is whole too.
    const bool runs = factor.kind == FactorKind::kScan && !factor.sorts && in_results[f];
    if (runs || (factor.kind == FactorKind::kReduce && adds && !only_looks_up(f)))
      factor.kind = FactorKind::kReplicate;
  }
  return map;
}

namespace {

// Removes the factor from all dims, and from the map.
void RemoveFactor(DimMap& map, int32_t at) {
  for (std::vector<DimFactors>* tensors : {&map.operands, &map.results})
    for (DimFactors& dims : *tensors)
      for (FactorList& dim : dims) {
        dim.erase(std::remove(dim.begin(), dim.end(), at), dim.end());
        for (int32_t& f : dim) f -= f > at;
      }
  std::erase_if(map.accesses, [at](const Access& a) { return a.factor == at; });
  for (Access& a : map.accesses) {
    a.factor -= a.factor > at;
    a.window_factor = a.window_factor == at ? -1 : a.window_factor - (a.window_factor > at);
  }
  map.factors.erase(map.factors.begin() + at);
}

}  // namespace

DimMap WithWindowsInside(DimMap map, const Shapes& operands) {
  std::vector<int32_t> dropped;
  for (const Access& a : map.accesses) {
    if (a.window_factor < 0) continue;
    DimFactors& dims = map.operands[a.operand];
    const auto dim = absl::c_find(dims, FactorList{a.factor});
    int64_t left = (*operands[a.operand])[dim - dims.begin()];
    const bool windows_first = map.factors[a.factor].size >= map.factors[a.window_factor].size;
    dim->clear();
    map.factors[a.factor].kind = FactorKind::kPermute;
    map.factors[a.window_factor].kind = FactorKind::kReduce;
    for (const bool first : {true, false}) {
      const int32_t f = first == windows_first ? a.factor : a.window_factor;
      int64_t& size = map.factors[f].size;
      size = std::min(size, left);
      if (size > 1) {
        dim->push_back(f);
        left /= size;
      } else {
        dropped.push_back(f);
      }
    }
  }
  absl::c_sort(dropped);
  for (size_t k = dropped.size(); k-- > 0;) RemoveFactor(map, dropped[k]);
  return map;
}

bool LooksUp(const DimMap& map, size_t factor) {
  const FactorKind kind = map.factors[factor].kind;
  return (kind == FactorKind::kReduce || kind == FactorKind::kReplicate) &&
         !map.traits.selectors.empty();
}

int32_t FillOf(const DimMap& map) {
  for (int32_t i : map.traits.selectors)
    for (const LinearGroup& group : map.linear)
      if (absl::c_linear_search(group.operands, i)) return i;
  return -1;
}

bool AreResultsAlike(const DimMap& map) {
  return absl::c_all_of(map.results,
                        [&](const DimFactors& dims) { return dims == map.results[0]; });
}

bool Repeats(const DimMap& map) {
  if (map.operands.size() != 1 || map.traits.custom) return false;
  const std::vector<bool> of_operand = FactorsOf(map, map.operands),
                          of_result = FactorsOf(map, map.results);
  bool repeats = false;
  for (size_t f = 0; f < map.factors.size(); ++f) {
    const bool alone = of_operand[f] != of_result[f] && map.factors[f].size != 1;
    if (alone && of_operand[f]) return false;
    repeats = repeats || alone;
  }
  return repeats;
}

bool HasFactor(const DimFactors& dims, int32_t factor) {
  return absl::c_any_of(
      dims, [factor](const FactorList& dim) { return absl::c_linear_search(dim, factor); });
}

std::vector<bool> FactorsOf(const DimMap& map, const std::vector<DimFactors>& tensors) {
  std::vector<bool> has(map.factors.size());
  for (const DimFactors& dims : tensors)
    for (const FactorList& dim : dims)
      for (int32_t f : dim) has[f] = true;
  return has;
}

std::string FactorSymbol(int32_t f) {
  return f < 18 ? std::string(1, static_cast<char>('i' + f)) : fmt::format("z_{}", f - 17);
}

namespace {

std::string TensorsText(const std::vector<DimFactors>& tensors) {
  std::string out;
  for (const DimFactors& dims : tensors) {
    out += out.empty() ? "[" : ", [";
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d) out += ", ";
      if (dims[d].empty()) out += "1";
      for (int32_t f : dims[d]) out += FactorSymbol(f);
    }
    out += "]";
  }
  return "(" + out + ")";
}

template <class Pred>
std::string SetText(const DimMap& map, const char* name, Pred pred) {
  std::string out;
  for (size_t f = 0; f < map.factors.size(); ++f)
    if (pred(map.factors[f]))
      out += (out.empty() ? "" : ", ") + FactorSymbol(static_cast<int32_t>(f));
  return out.empty() ? "" : fmt::format(" {}={{{}}}", name, out);
}

}  // namespace

std::string Text(const DimMap& map) {
  std::string sizes;
  for (size_t f = 0; f < map.factors.size(); ++f)
    sizes += fmt::format("{}{}={}", f ? ", " : "", FactorSymbol(static_cast<int32_t>(f)),
                         map.factors[f].size);
  auto kind = [](FactorKind k) { return [k](const Factor& f) { return f.kind == k; }; };
  if (!sizes.empty()) sizes = " {" + sizes + "}";
  return TensorsText(map.operands) + "->" + TensorsText(map.results) + sizes +
         SetText(map, "reduction", kind(FactorKind::kReduce)) +
         SetText(map, "need_replication",
                 [](const Factor& f) {
                   return f.kind == FactorKind::kReplicate || f.kind == FactorKind::kScan;
                 }) +
         SetText(map, "permutation", kind(FactorKind::kPermute)) +
         SetText(map, "blocked_propagation", [](const Factor& f) { return f.blocked; }) +
         (map.traits.custom ? ", custom" : "");
}

namespace {

// Returns "0: (2i + 1) / 3": the index of operand 0 that is read. "?" is an offset known only at
// run time, "3w<2" is 0 and 3.
std::string AccessText(const Access& a) {
  std::string index = a.stride == 1 ? "" : a.stride == -1 ? "-" : fmt::format("{}", a.stride);
  index += FactorSymbol(a.factor);
  if (a.window > 0)
    index += fmt::format(
        " + {}w<{}", a.window_dilation == 1 ? "" : fmt::format("{}", a.window_dilation), a.window);
  if (a.at_run_time)
    index += " + ?";
  else if (a.offset != 0)
    index += fmt::format(" {} {}", a.offset < 0 ? '-' : '+', std::abs(a.offset));
  if (a.dilation != 1) index = fmt::format("({}) / {}", index, a.dilation);
  return fmt::format("{}: {}", a.operand, index);
}

}  // namespace

std::string FullText(const DimMap& map) {
  const auto kind = [](FactorKind k) { return [k](const Factor& f) { return f.kind == k; }; };
  std::string text = Text(map) + SetText(map, "across", kind(FactorKind::kAcross)) +
                     SetText(map, "scan", kind(FactorKind::kScan)) +
                     SetText(map, "sort", [](const Factor& f) { return f.sorts; });
  const auto set = [](const auto& operands) {
    return fmt::format("{{{}}}", fmt::join(operands, ", "));
  };
  if (!map.accesses.empty()) {
    std::vector<std::string> accesses;
    for (const Access& a : map.accesses) accesses.push_back(AccessText(a));
    text += " accesses=" + set(accesses);
  }
  if (!map.traits.selectors.empty()) text += " selectors=" + set(map.traits.selectors);
  return text + (map.traits.product ? " product" : "");
}

}  // namespace tessera::sharding
