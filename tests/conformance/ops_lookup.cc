// Ops that look elements up by index, and update them.
#include <algorithm>

#include "ops.h"
#include "tessera/lookup.h"

namespace tessera::conformance {
namespace {

LookupMode Mode(const std::string& name) {
  if (name == "clip") return LookupMode::kClip;
  if (name == "fill" || name == "drop") return LookupMode::kFill;
  if (name == "promise_in_bounds") return LookupMode::kPromise;
  throw Unsupported("mode " + name);
}

std::optional<Scalar> FillValue(const Call& c) {
  if (!c.has("fill_value")) return std::nullopt;
  return ParseScalar(c.attr("fill_value"));
}

// The dims that dimension_numbers name.
std::vector<int64_t> Numbers(const Call& c, const char* key) {
  return c.attr("dimension_numbers").value(key, std::vector<int64_t>());
}

Array Gather(const Call& c) {
  GatherDims dims{.offset = Numbers(c, "offset_dims"),
                  .collapsed = Numbers(c, "collapsed_slice_dims"),
                  .start = Numbers(c, "start_index_map"),
                  .operand_batch = Numbers(c, "operand_batching_dims"),
                  .indices_batch = Numbers(c, "start_indices_batching_dims")};
  GatherOptions options{.fill_value = FillValue(c),
                        .indices_are_sorted = c.flag("indices_are_sorted"),
                        .unique_indices = c.flag("unique_indices")};
  if (c.has("mode")) options.mode = Mode(c.text("mode", ""));
  return gather(c.in(0), c.in(1), dims, Shape(c.integers("slice_sizes")), options, c.loc());
}

using ScatterFunction = Array (*)(Operand, Operand, Operand, ScatterDims, ScatterOptions, Loc);

Array Scatter(const Call& c, ScatterFunction f, bool negates) {
  ScatterDims dims{.window = Numbers(c, "update_window_dims"),
                   .inserted = Numbers(c, "inserted_window_dims"),
                   .start = Numbers(c, "scatter_dims_to_operand_dims"),
                   .operand_batch = Numbers(c, "operand_batching_dims"),
                   .indices_batch = Numbers(c, "scatter_indices_batching_dims")};
  ScatterOptions options{.indices_are_sorted = c.flag("indices_are_sorted"),
                         .unique_indices = c.flag("unique_indices")};
  if (c.has("mode")) options.mode = Mode(c.text("mode", ""));
  Operand updates = negates ? Operand(neg(c.in(2), c.loc()), c.loc()) : c.in(2);
  return f(c.in(0), c.in(1), updates, dims, options, c.loc());
}

// "slice:START:STOP:STEP", with empty parts left out.
Slice ParseSlice(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char ch : text.substr(6)) {
    if (ch == ':')
      parts.emplace_back();
    else
      parts.back() += ch;
  }
  parts.resize(3);
  auto bound = [](const std::string& part) {
    return part.empty() ? Slice::End(None) : Slice::End(std::stoll(part));
  };
  return {bound(parts[0]), bound(parts[1]), parts[2].empty() ? 1 : std::stoll(parts[2])};
}

// `first`: the operand that "in:0" is.
std::vector<Index> ParseIndex(const Call& c, size_t first) {
  std::vector<Index> index;
  for (const Json& entry : c.attr("index")) {
    if (entry.is_null()) {
      index.emplace_back(None, c.loc());
    } else if (entry.is_number_integer()) {
      index.emplace_back(entry.get<int64_t>(), c.loc());
    } else {
      std::string text = entry.get<std::string>();
      if (text == "...")
        index.emplace_back(Ellipsis, c.loc());
      else if (text.rfind("in:", 0) == 0)
        index.emplace_back(c.array(first + std::stoull(text.substr(3))), c.loc());
      else
        index.emplace_back(ParseSlice(text), c.loc());
    }
  }
  return index;
}

AtOptions AtOptionsOf(const Call& c) {
  AtOptions options{.fill_value = FillValue(c),
                    .indices_are_sorted = c.flag("indices_are_sorted"),
                    .unique_indices = c.flag("unique_indices"),
                    .out_sharding = c.spec()};
  if (c.has("mode")) options.mode = Mode(c.text("mode", ""));
  return options;
}

using Update = Array (At::*)(Operand, AtOptions, Loc) const;

OpFunction Updates(Update update) {
  return [update](const Call& c) {
    At at(c.array(0), ParseIndex(c, 2));
    return std::vector{(at.*update)(c.in(1), AtOptionsOf(c), c.loc())};
  };
}

// Our take fills elements out of bounds. The other modes take with indices clamped or wrapped.
Array Take(const Call& c) {
  std::string mode = c.text("mode", "fill");
  bool flat = !c.has("axis");
  int dim = c.dim("axis", 0);
  Array x = flat ? reshape(c.in(0), {-1}, {}, c.loc()) : c.array(0);
  int64_t size = x.shape(dim, c.loc());
  Operand indices = c.in(1);
  if (mode == "clip") return take(x, clip(indices, 0, size - 1, c.loc()), dim, {}, c.loc());
  if (mode == "wrap") return take(x, remainder(indices, size, {}, c.loc()), dim, {}, c.loc());
  if (mode != "fill") throw Unsupported("take's mode " + mode);
  if (c.has("fill_value")) {
    std::vector<Index> index(static_cast<size_t>(dim < 0 ? dim + x.rank() : dim), Index(All));
    index.emplace_back(c.array(1), c.loc());
    return At(x, index).get({.mode = LookupMode::kFill, .fill_value = FillValue(c)}, c.loc());
  }
  return take(x, indices, dim, {.out_sharding = c.spec()}, c.loc());
}

Array TakeAlong(const Call& c) {
  bool flat = !c.has("axis");
  Array x = flat ? reshape(c.in(0), {-1}, {}, c.loc()) : c.array(0);
  TakeAlongOptions options{.fill_value = FillValue(c)};
  if (c.has("mode")) options.mode = Mode(c.text("mode", ""));
  return take_along_dim(x, c.in(1), c.dim("axis", 0), options, c.loc());
}

}  // namespace

void AddLookups(OpTable& table) {
  table["gather"] = [](const Call& c) { return std::vector{Gather(c)}; };
  auto scatters = [](ScatterFunction f, bool negates = false) {
    return [=](const Call& c) { return std::vector{Scatter(c, f, negates)}; };
  };
  table["scatter"] = scatters(scatter);
  table["scatter_add"] = scatters(scatter_add);
  table["scatter_sub"] = scatters(scatter_add, /*negates=*/true);
  table["scatter_mul"] = scatters(scatter_mul);
  table["scatter_min"] = scatters(scatter_min);
  table["scatter_max"] = scatters(scatter_max);
  table["at.get"] = [](const Call& c) {
    return std::vector{At(c.array(0), ParseIndex(c, 1)).get(AtOptionsOf(c), c.loc())};
  };
  table["getitem"] = table["at.get"];
  table["at.set"] = Updates(&At::set);
  table["at.add"] = Updates(&At::add);
  table["at.multiply"] = Updates(&At::multiply);
  table["at.min"] = Updates(&At::min);
  table["at.max"] = Updates(&At::max);
  table["np.take"] = [](const Call& c) { return std::vector{Take(c)}; };
  table["np.take_along_axis"] = [](const Call& c) { return std::vector{TakeAlong(c)}; };
}

}  // namespace tessera::conformance
