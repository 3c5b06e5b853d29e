// A transformer over characters, and its layouts over a mesh of axes "data" and "model".
#pragma once
#include <tessera/tessera.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace train_lm {

using namespace tessera;

struct Sizes {
  int64_t characters = 0, width = 96, heads = 6, hidden = 256, layers = 4, context = 64;
};

// Returns the choice of the axes that splits a dim of this size into the most equal parts.
inline std::vector<AxisRef> dividing(const std::vector<AxisRef>& axes, int64_t size) {
  std::vector<AxisRef> best;
  int64_t most = 1;
  for (size_t chosen = 0; chosen < size_t{1} << axes.size(); ++chosen) {
    std::vector<AxisRef> some;
    int64_t parts = 1;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!(chosen >> i & 1)) continue;
      some.push_back(axes[i]);
      parts *= current_mesh().axis_size(axes[i].name);
    }
    if (parts <= most || size % parts != 0) continue;
    best = some;
    most = parts;
  }
  return best;
}

// The mesh axes that shard each kind of dim.
struct Layout {
  std::vector<AxisRef> batch;                      // sequences: data parallel
  std::vector<AxisRef> heads, hidden, characters;  // tensor parallel
  std::vector<AxisRef> store;  // the width of weights between steps: fully sharded data parallel
  AxisMode split_mode = Explicit;

  static Layout named(const std::string& name) {
    const std::vector<AxisRef> none, data{"data"}, model{"model"}, both{"data", "model"};
    const auto made = [](auto batch, auto split, auto store, AxisMode mode = Explicit) {
      return Layout{batch, split, split, split, store, mode};
    };
    if (name == "dp") return made(both, none, none);
    if (name == "fsdp") return made(both, none, both);
    if (name == "tp") return made(none, both, none);
    if (name == "dp+tp") return made(data, model, none);
    if (name == "auto") return made(data, model, none, Auto);
    throw std::runtime_error("there is no layout \"" + name + "\": dp, fsdp, tp, dp+tp or auto");
  }
  // Returns the layout for the current mesh. Sizes in types must divide, so a dim is sharded only
  // over the axes that divide it. Calls `say` with one line per dim that loses axes.
  template <class Say>
  Layout fitted(const Sizes& sizes, int64_t sequences, Say say) const {
    const auto text = [](const std::vector<AxisRef>& axes) {
      std::string out;
      for (const AxisRef& a : axes) out += (out.empty() ? "" : " and ") + a.name;
      return out;
    };
    const auto fit = [&](std::vector<AxisRef>& axes, int64_t size, const std::string& what) {
      int64_t parts = 1;
      for (const AxisRef& a : axes) parts *= current_mesh().axis_size(a.name);
      if (size % parts == 0) return;
      const std::string all = text(axes);
      axes = dividing(axes, size);
      say(std::to_string(size) + " " + what + " do not divide over " + all + ": " +
          (axes.empty() ? "all devices have all of them" : "they are sharded over " + text(axes)));
    };
    Layout out = *this;
    fit(out.batch, sequences, "sequences");
    fit(out.heads, sizes.heads, "heads");
    fit(out.hidden, sizes.hidden, "hidden units");
    fit(out.characters, sizes.characters, "characters");
    fit(out.store, sizes.width, "numbers per character");
    return out;
  }
  // The axes in types of weights. Over Auto axes propagation lays out the weights, from the
  // constraints on the activations that they are multiplied with.
  std::vector<AxisRef> typed(const std::vector<AxisRef>& axes) const {
    return split_mode == Auto ? std::vector<AxisRef>() : axes;
  }
  // Constrains a dim to be sharded over `axes`, if types leave that to propagation.
  Array constrain(Array x, size_t dim, const std::vector<AxisRef>& axes,
                  Loc loc = Loc::Current()) const {
    if (split_mode == Explicit) return x;
    std::vector<DimSharding> dims(static_cast<size_t>(x.rank()), Open());
    dims[dim] = axes;
    return with_sharding_constraint(x, PartitionSpec(dims), loc);
  }
  PartitionSpec activations() const { return P(batch, None, None); }  // [sequence, place, width]
  // Returns a weight as a step uses it: replicated if it is stored in parts, and reduced over the
  // axes of the batch, so that its gradient stays a partial sum until the sum is asked for.
  Array for_use(Array weight) const {
    const PartitionSpec spec = store.empty() ? type_of(weight).spec() : P();
    return reshard(weight, spec.reduced(batch));
  }
};

// Weights of all layers: dim 0 is the layer.
struct Layers {
  Array attention_norm, qkv, mixed, mlp_norm, up, down;
};
TESSERA_FIELDS(Layers, attention_norm, qkv, mixed, mlp_norm, up, down);
struct Params {
  Array embedding;
  Layers layers;
  Array norm, head;
};
TESSERA_FIELDS(Params, embedding, layers, norm, head);

// Gains are stored minus 1, so that weight decay pulls them to 1.
inline Array rms_norm(Array x, Array gain) {
  return x * rsqrt(mean(square(x), -1, {.keepdims = true}) + 1e-6) * (1 + gain);
}

// Zeroes a share of x. The choice depends on the key and the element only, not on the sharding.
inline Array dropout(Array key, double rate, Array x) {
  if (rate == 0) return x;
  const Array keep =
      random::bernoulli(key, 1 - rate, x.shape(), {.out_sharding = type_of(x).spec()});
  return where(keep, x / (1 - rate), 0.0);
}

// Rotates each pair of numbers of x [sequence, place, head, size] by an angle that grows with the
// place, so that the product of two vectors depends on the distance between their places.
inline Array rotary(Array x) {
  const int64_t places = x.shape(1), half = x.shape(3) / 2;
  const Array speed = exp(arange(half) * (-std::log(1e4) / static_cast<double>(half)));
  const Array angle = arange(places).reshape({places, 1, 1}) * speed;
  const std::vector<Array> pair = split(x, 2, -1);
  return concatenate(
      {pair[0] * cos(angle) - pair[1] * sin(angle), pair[0] * sin(angle) + pair[1] * cos(angle)},
      -1);
}

struct Model {
  Sizes sizes;
  Layout layout;

  Params init(Array key) const {
    const auto& [characters, width, heads, hidden, layers, context] = sizes;
    const std::vector<AxisRef> by_head = layout.typed(layout.heads),
                               by_unit = layout.typed(layout.hidden), store = layout.store;
    const int64_t size = width / heads;
    int64_t count = 0;
    // Normal numbers, scaled so that a sum of `inputs` of them is about 1.
    const auto weight = [&](Shape shape, PartitionSpec spec, int64_t inputs) {
      const Array numbers = random::normal(random::fold_in(key, count++), shape);
      return reshard(numbers / std::sqrt(static_cast<double>(inputs)), spec);
    };
    const auto gain = [&](Shape shape, PartitionSpec spec) { return reshard(zeros(shape), spec); };
    return {
        .embedding = weight({characters, width}, P(None, store), width),
        .layers = {.attention_norm = gain({layers, width}, P(None, store)),
                   .qkv = weight({layers, width, 3, heads, size},
                                 P(None, store, None, by_head, None), width),
                   .mixed = weight({layers, heads, size, width}, P(None, by_head, None, store),
                                   width * 2 * layers),
                   .mlp_norm = gain({layers, width}, P(None, store)),
                   .up = weight({layers, width, 2, hidden}, P(None, store, None, by_unit), width),
                   .down = weight({layers, hidden, width}, P(None, by_unit, store),
                                  hidden * 2 * layers)},
        .norm = gain({width}, P(store)),
        .head = weight({width, characters}, P(store, layout.typed(layout.characters)), width)};
  }

  // Both take and return [sequence, place, width].
  Array attention(const Layers& w, Array x) const {
    const Array qkv = layout.constrain(einsum("bsd,dthk->tbshk", {x, w.qkv}), 3, layout.heads);
    const Array q = rotary(qkv[0]), k = rotary(qkv[1]), v = qkv[2];
    const Array scores = einsum("bshk,bthk->bhst", {q, k}) / std::sqrt(1.0 * q.shape(-1));
    const Array past = tril(ones({x.shape(1), x.shape(1)}, bool_));
    const Array mixed = einsum("bhst,bthk->bshk", {softmax(where(past, scores, -1e30), -1), v});
    return einsum("bshk,hkd->bsd", {mixed, w.mixed}, {.out_sharding = layout.activations()});
  }
  Array mlp(const Layers& w, Array x) const {
    const Array up = layout.constrain(einsum("bsd,dtf->tbsf", {x, w.up}), 3, layout.hidden);
    return einsum("bsf,fd->bsd", {silu(up[0]) * up[1], w.down},
                  {.out_sharding = layout.activations()});
  }

  // Returns logits [sequence, place, character] of the next character for each place of `text`
  // [sequence, place]. The gradient stores only the inputs of the layers. Characters are looked up
  // by a product: it is cheap for so few of them, and its gradient is a partial sum.
  Array logits(const Params& p, Array text, Array key, double drop) const {
    const auto layer = [&](Array x, std::pair<Layers, Array> at) {
      const auto& [w, layer_key] = at;
      const auto [first, second] = random::split<2>(layer_key);
      x = x + dropout(first, drop, attention(w, rms_norm(x, w.attention_norm)));
      x = x + dropout(second, drop, mlp(w, rms_norm(x, w.mlp_norm)));
      return std::pair(x, None);
    };
    const Array x = einsum("bsc,cd->bsd", {one_hot(text, sizes.characters), p.embedding});
    const Array keys = random::split(key, sizes.layers);
    const Array last = scan(checkpoint(layer), x, std::pair(p.layers, keys)).first;
    return layout.constrain(einsum("bsd,dv->bsv", {rms_norm(last, p.norm), p.head}), 2,
                            layout.characters);
  }

  // Returns the mean of -log p over all characters of `text` but the first of each sequence.
  Array loss(const Params& p, Array text, Array key, double drop) const {
    const Array z = logits(p, text[{All, Slice(0, -1)}], key, drop);
    const Array next = expand_dims(text[{All, Slice(1, None)}], -1) == arange(sizes.characters);
    return mean(logsumexp(z, -1) - sum(where(next, z, 0.0), -1));
  }
};

}  // namespace train_lm
