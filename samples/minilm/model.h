// The encoder of MiniLM, and its layouts over a mesh of axes "data" and "model".
#pragma once
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace minilm {

using namespace tessera;

constexpr int64_t kVocabulary = 30522, kPlaces = 512, kWidth = 384, kHeads = 12, kHidden = 1536,
                  kLayers = 6;

// The names of fields are those of the weights in the published file.
struct Dense {
  Array weight, bias;  // [outputs, inputs], [outputs]
};
TESSERA_FIELDS(Dense, weight, bias);
struct Gains {
  Array weight, bias;  // [width]
};
TESSERA_FIELDS(Gains, weight, bias);
struct Table {
  Array weight;  // [rows, width]
};
TESSERA_FIELDS(Table, weight);
struct Embeddings {
  Table word_embeddings, position_embeddings, token_type_embeddings;
  Gains LayerNorm;
};
TESSERA_FIELDS(Embeddings, word_embeddings, position_embeddings, token_type_embeddings, LayerNorm);
struct Projections {
  Dense query, key, value;
};
TESSERA_FIELDS(Projections, query, key, value);
struct Output {
  Dense dense;
  Gains LayerNorm;
};
TESSERA_FIELDS(Output, dense, LayerNorm);
struct Attention {
  Projections self;
  Output output;
};
TESSERA_FIELDS(Attention, self, output);
struct Hidden {
  Dense dense;
};
TESSERA_FIELDS(Hidden, dense);
struct Layer {
  Attention attention;
  Hidden intermediate;
  Output output;
};
TESSERA_FIELDS(Layer, attention, intermediate, output);
struct Encoder {
  std::vector<Layer> layer;
};
TESSERA_FIELDS(Encoder, layer);
struct Weights {
  Embeddings embeddings;
  Encoder encoder;
};
TESSERA_FIELDS(Weights, embeddings, encoder);

// The axes that shard heads and hidden units. Each is a part of "model" if all of it does not
// divide them: 12 heads on 8 devices are four groups of three heads, each on two devices.
struct Layout {
  std::vector<AxisRef> heads, hidden;
  bool is_auto = false;

  // Returns the layout for the current mesh.
  static Layout fitted(bool is_auto) {
    const int64_t size = current_mesh().axis_size("model");
    const auto part = [&](int64_t units) -> std::vector<AxisRef> {
      const int64_t parts = std::gcd(units, size);
      if (parts == 1) return {};
      return {parts == size ? AxisRef("model") : SubAxis("model", 1, parts)};
    };
    return {part(kHeads), part(kHidden), is_auto};
  }
  // Returns the text of a dim in a type: "384@model:(1)4".
  static std::string dim(int64_t size, const std::vector<AxisRef>& axes) {
    if (axes.empty()) return fmt::format("{}", size);
    const AxisRef& a = axes[0];
    const std::string part = a.size ? fmt::format(":({}){}", a.pre, a.size) : "";
    return fmt::format("{}@{}{}", size, a.name, part);
  }
  // Returns x with its first dim over "data".
  Array over_data(Array x, Loc loc = Loc::Current()) const {
    return is_auto ? with_sharding_constraint(x, P("data"), loc) : reshard(x, P("data"), loc);
  }
  // Auto axes: constrains the last dim but `after` to these axes.
  Array constrain(Array x, const std::vector<AxisRef>& axes, int after, Loc loc) const {
    if (!is_auto) return x;
    std::vector<DimSharding> dims(static_cast<size_t>(x.rank()), Open());
    dims[dims.size() - 1 - static_cast<size_t>(after)] = axes;
    return with_sharding_constraint(x, PartitionSpec(dims), loc);
  }
};

struct Model {
  Layout layout;

  // Returns abstract arrays with the types of the weights.
  Weights types() const {
    const std::vector<AxisRef> none, heads = layout.is_auto ? none : layout.heads,
                                     hidden = layout.is_auto ? none : layout.hidden;
    const auto table = [&](int64_t rows) {
      return Table{abstract_array(fmt::format("f32[{},{}]", rows, kWidth))};
    };
    const auto dense = [](const std::string& outputs, const std::string& inputs) {
      return Dense{abstract_array(fmt::format("f32[{},{}]", outputs, inputs)),
                   abstract_array(fmt::format("f32[{}]", outputs))};
    };
    const std::string width = Layout::dim(kWidth, none), by_head = Layout::dim(kWidth, heads),
                      units = Layout::dim(kHidden, hidden);
    const auto gains = [&] {
      const std::string type = fmt::format("f32[{}]", kWidth);
      return Gains{abstract_array(type), abstract_array(type)};
    };
    const Layer layer{{{dense(by_head, width), dense(by_head, width), dense(by_head, width)},
                       {dense(width, by_head), gains()}},
                      {dense(units, width)},
                      {dense(width, units), gains()}};
    return {{table(kVocabulary), table(kPlaces), table(2), gains()},
            {std::vector<Layer>(kLayers, layer)}};
  }

  // Returns random weights of these types.
  Weights random(Array key) const {
    const Weights like = types();
    const std::vector<std::string> names = tree_names(like);
    size_t leaf = 0;
    return tree_map(
        [&](Array w) {
          const std::string& name = names[leaf++];
          if (name.ends_with("LayerNorm.weight")) return ones(w.shape());
          const Array own = tessera::random::fold_in(key, static_cast<int64_t>(leaf));
          return 0.05 *
                 tessera::random::normal(own, w.shape(), {.out_sharding = type_of(w).spec()});
        },
        like);
  }

  Array apply(const Dense& d, Array x, PartitionSpec out = P("data"),
              Loc loc = Loc::Current()) const {
    if (layout.is_auto) return einsum("bti,oi->bto", {x, d.weight}, {}, loc) + d.bias;
    return einsum("bti,oi->bto", {x, d.weight}, {.out_sharding = out}, loc) + d.bias;
  }
  static Array normalise(const Gains& g, Array x) {
    return layer_norm(x, g.weight, g.bias, -1, {.epsilon = 1e-12});
  }

  // Takes and returns [sequence, place, width]. Places beyond the length of a sequence are not
  // seen.
  Array attention(const Attention& w, Array x, Array lengths) const {
    const auto heads = [&](const Dense& d, Loc loc = Loc::Current()) {
      const Array all = apply(d, x, P("data", None, layout.heads), loc);
      return layout.constrain(all.reshape({x.shape(0), x.shape(1), kHeads, kWidth / kHeads}),
                              layout.heads, 1, loc);
    };
    const Array mixed = dot_product_attention(heads(w.self.query), heads(w.self.key),
                                              heads(w.self.value), {.key_value_lengths = lengths});
    return normalise(w.output.LayerNorm, x + apply(w.output.dense, mixed.reshape(x.shape())));
  }
  Array mlp(const Layer& w, Array x) const {
    const Array up =
        layout.constrain(apply(w.intermediate.dense, x, P("data", None, layout.hidden)),
                         layout.hidden, 0, Loc::Current());
    return normalise(w.output.LayerNorm,
                     x + apply(w.output.dense, gelu(up, {.approximate = false})));
  }

  // Returns unit vectors [sequence, width] for tokens [sequence, place] and lengths [sequence].
  Array encode(const Weights& w, Array tokens, Array lengths) const {
    const Embeddings& e = w.embeddings;
    const int64_t places = tokens.shape(1);
    Array x = embedding(e.word_embeddings.weight, tokens) +
              e.position_embeddings.weight[Slice(0, places)] + e.token_type_embeddings.weight[0];
    x = normalise(e.LayerNorm, x);
    for (const Layer& layer : w.encoder.layer)
      x = mlp(layer, attention(layer.attention, x, lengths));
    const Array count = expand_dims(lengths, 1);
    const Array real = expand_dims(arange(places) < count, 2);
    const Array pooled = sum(where(real, x, 0.0), 1) / count;
    return pooled / norm(pooled, -1, {.keepdims = true});
  }
};

}  // namespace minilm
