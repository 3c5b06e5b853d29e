// Ops that join arrays, cut pieces out of them, or repeat their elements.
#include <algorithm>

#include "ops.h"

namespace tessera::conformance {
namespace {

// Without an axis both are flat.
Array Append(const Call& c) {
  Operand values = c.size() > 1 ? c.in(1) : Operand(ParseScalar(c.attr("values")), c.loc());
  if (!c.has("axis")) return append(c.in(0), values, c.loc());
  return append(c.in(0), values, c.dim("axis", 0), c.loc());
}

std::vector<Array> Each(Array (*f)(Operand, Loc), const Call& c) {
  std::vector<Array> arrays = c.arrays();
  for (Array& x : arrays) x = f(x, c.loc());
  return arrays;
}

void AddJoins(OpTable& table) {
  auto join = [](auto f, const char* key) {
    return [=](const Call& c) { return std::vector{f(c.arrays(), c.dim(key, 0), c.loc())}; };
  };
  table["concatenate"] = join(concatenate, "dimension");
  table["np.concatenate"] = join(concatenate, "axis");
  table["np.concat"] = join(concatenate, "axis");
  table["stack"] = join(stack, "axis");
  table["np.stack"] = join(stack, "axis");
  table["np.vstack"] = [](const Call& c) {
    return std::vector{concatenate(Each(atleast_2d, c), 0, c.loc())};
  };
  table["np.hstack"] = [](const Call& c) {
    std::vector<Array> arrays = Each(atleast_1d, c);
    int dim = arrays.at(0).rank(c.loc()) == 1 ? 0 : 1;
    return std::vector{concatenate(std::move(arrays), dim, c.loc())};
  };
  table["np.append"] = [](const Call& c) { return std::vector{Append(c)}; };
  table["np.atleast_1d"] = [](const Call& c) { return Each(atleast_1d, c); };
  table["np.atleast_2d"] = [](const Call& c) { return Each(atleast_2d, c); };
  table["unstack"] = [](const Call& c) { return unstack(c.in(0), c.dim("axis", 0), c.loc()); };
  table["np.unstack"] = table["unstack"];
}

// NumPy's sections: a count, or the indices at which to cut. `uneven` lets the first ones be
// longer.
std::vector<Array> Sections(const Call& c, bool uneven) {
  bool counted = !c.attr("indices_or_sections").is_array();
  int dim = c.dim("axis", 0);
  int64_t size = c.array(0).shape(dim, c.loc());
  if (counted) {
    int64_t parts = c.integer("indices_or_sections");
    if (!uneven) return split(c.in(0), parts, dim, c.loc());
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(size / parts + (i < size % parts));
    return split(c.in(0), sizes, dim, c.loc());
  }
  std::vector<int64_t> sizes, cuts = c.integers("indices_or_sections");
  int64_t begin = 0;
  for (int64_t cut : cuts) {
    int64_t end = std::clamp(cut < 0 ? cut + size : cut, begin, size);
    sizes.push_back(end - begin);
    begin = end;
  }
  sizes.push_back(size - begin);
  return split(c.in(0), sizes, dim, c.loc());
}

int64_t FromEnd(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

Array SliceInDim(const Call& c, int dim, int64_t start, int64_t limit, int64_t stride) {
  std::vector<int64_t> limits = c.array(0).shape(c.loc());
  std::vector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  size_t d = static_cast<size_t>(FromEnd(dim, static_cast<int64_t>(limits.size())));
  starts.at(d) = start;
  limits.at(d) = limit;
  strides.at(d) = stride;
  return slice(c.in(0), starts, limits, strides, c.loc());
}

void AddSlices(OpTable& table) {
  table["slice"] = [](const Call& c) {
    std::vector<int64_t> strides;
    if (c.has("strides")) strides = c.integers("strides");
    return std::vector{
        slice(c.in(0), c.integers("start_indices"), c.integers("limit_indices"), strides, c.loc())};
  };
  table["slice_in_dim"] = [](const Call& c) {
    int dim = c.dim("axis", 0);
    int64_t stride = c.integer("stride", 1);
    int64_t start = c.integer("start_index", 0);
    bool to_end = !c.has("limit_index");
    int64_t size = c.array(0).shape(dim, c.loc());
    int64_t limit = to_end ? size : FromEnd(c.integer("limit_index"), size);
    return std::vector{SliceInDim(c, dim, FromEnd(start, size), limit, stride)};
  };
  table["index_in_dim"] = [](const Call& c) {
    int dim = c.dim("axis", 0);
    bool keep = c.flag("keepdims", true);
    int64_t index = FromEnd(c.integer("index"), c.array(0).shape(dim, c.loc()));
    Array piece = SliceInDim(c, dim, index, index + 1, 1);
    return std::vector{keep ? piece : squeeze(piece, Dims(dim), c.loc())};
  };
}

// Returns starts that are zero but along `dim`, where the start is the i-th operand.
std::vector<Array> StartsInDim(const Call& c, int dim, size_t i) {
  auto rank = static_cast<size_t>(c.rank(0));
  std::vector<Array> starts(rank, Array(0, c.loc()));
  starts.at(static_cast<size_t>(FromEnd(dim, static_cast<int64_t>(rank)))) = c.array(i);
  return starts;
}

Array DynamicSliceInDim(const Call& c, int dim, int64_t size) {
  c.CheckDim(dim);
  std::vector<int64_t> sizes = c.array(0).shape(c.loc());
  sizes.at(static_cast<size_t>(FromEnd(dim, c.rank(0)))) = size;
  return dynamic_slice(c.in(0), StartsInDim(c, dim, 1), Shape(sizes), c.loc());
}

Array UpdateInDim(const Call& c, bool one) {
  int dim = c.dim("axis", 0);
  c.CheckDim(dim);
  Array update = c.array(1);
  if (one && update.rank(c.loc()) != c.rank(0)) update = expand_dims(update, Dims(dim), c.loc());
  return dynamic_update_slice(c.in(0), update, StartsInDim(c, dim, 2), c.loc());
}

void AddDynamicSlices(OpTable& table) {
  table["dynamic_slice"] = [](const Call& c) {
    return std::vector{
        dynamic_slice(c.in(0), c.arrays(1), Shape(c.integers("slice_sizes")), c.loc())};
  };
  table["dynamic_slice_in_dim"] = [](const Call& c) {
    return std::vector{DynamicSliceInDim(c, c.dim("axis", 0), c.integer("slice_size"))};
  };
  table["dynamic_index_in_dim"] = [](const Call& c) {
    int dim = c.dim("axis", 0);
    bool keep = c.flag("keepdims", true);
    Array piece = DynamicSliceInDim(c, dim, 1);
    return std::vector{keep ? piece : squeeze(piece, Dims(dim), c.loc())};
  };
  table["dynamic_update_slice"] = [](const Call& c) {
    return std::vector{dynamic_update_slice(c.in(0), c.in(1), c.arrays(2), c.loc())};
  };
  table["dynamic_update_slice_in_dim"] = [](const Call& c) {
    return std::vector{UpdateInDim(c, false)};
  };
  table["dynamic_update_index_in_dim"] = [](const Call& c) {
    return std::vector{UpdateInDim(c, true)};
  };
}

// NumPy's pad widths: one number, one pair for all dims, or a pair per dim.
std::vector<Padding> PadWidths(const Call& c) {
  const Json& width = c.attr("pad_width");
  auto pair = [](const Json& w) {
    if (w.is_number()) return Padding{w.get<int64_t>(), w.get<int64_t>(), 0};
    return Padding{w.at(0).get<int64_t>(), w.at(1).get<int64_t>(), 0};
  };
  bool one = width.is_number() || width.at(0).is_number();
  if (one) return std::vector<Padding>(static_cast<size_t>(c.rank(0)), pair(width));
  std::vector<Padding> padding;
  for (const Json& w : width) padding.push_back(pair(w));
  return padding;
}

void AddPads(OpTable& table) {
  table["pad"] = [](const Call& c) {
    std::vector<Padding> padding;
    for (const Json& p : c.attr("padding_config")) {
      padding.push_back({p.at(0).get<int64_t>(), p.at(1).get<int64_t>(), p.at(2).get<int64_t>()});
    }
    return std::vector{pad(c.in(0), padding, c.strict(1), c.loc())};
  };
  table["np.pad"] = [](const Call& c) {
    if (c.text("mode", "constant") != "constant") throw Unsupported("np.pad's other modes");
    return std::vector{pad(c.in(0), PadWidths(c), 0, c.loc())};
  };
}

Array Roll(const Call& c) {
  std::vector<int64_t> shifts = c.integers("shift");
  if (!c.has("axis")) {
    Array flat = reshape(c.in(0), {-1}, {}, c.loc());
    for (int64_t shift : shifts) flat = roll(flat, shift, 0, c.loc());
    return reshape(flat, Shape(c.array(0).shape(c.loc())), {}, c.loc());
  }
  std::vector<int64_t> dims = c.integers("axis");
  Array x = c.array(0);
  for (size_t i = 0; i < std::max(dims.size(), shifts.size()); ++i) {
    x = roll(x, shifts[i % shifts.size()], static_cast<int>(dims[i % dims.size()]), c.loc());
  }
  return x;
}

void AddRepeats(OpTable& table) {
  table["tile"] = [](const Call& c) {
    return std::vector{tile(c.in(0), Shape(c.integers("reps")), c.loc())};
  };
  table["np.tile"] = [](const Call& c) {  // the shorter of shape and reps gets ones in front
    std::vector<int64_t> reps = c.integers("reps");
    Array x = c.array(0);
    while (reps.size() < static_cast<size_t>(c.rank(0))) reps.insert(reps.begin(), 1);
    while (x.rank(c.loc()) < static_cast<int>(reps.size())) x = expand_dims(x, 0, c.loc());
    return std::vector{tile(x, Shape(reps), c.loc())};
  };
  table["np.repeat"] = [](const Call& c) {
    int64_t n = c.integer("repeats");
    OutOptions options{c.spec()};
    if (c.has("axis")) return std::vector{repeat(c.in(0), n, c.dim("axis", 0), options, c.loc())};
    return std::vector{repeat(reshape(c.in(0), {-1}, {}, c.loc()), n, 0, options, c.loc())};
  };
  table["np.roll"] = [](const Call& c) { return std::vector{Roll(c)}; };
}

}  // namespace

void AddPieces(OpTable& table) {
  AddJoins(table);
  AddSlices(table);
  AddDynamicSlices(table);
  AddPads(table);
  AddRepeats(table);
  table["split"] = [](const Call& c) {
    return split(c.in(0), c.integers("sizes"), c.dim("axis", 0), c.loc());
  };
  table["np.split"] = [](const Call& c) { return Sections(c, false); };
  table["np.array_split"] = [](const Call& c) { return Sections(c, true); };
}

}  // namespace tessera::conformance
