// A convolutional network for small grey images, and its layouts over a mesh of one axis.
#pragma once
#include <tessera/tessera.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "images.h"

namespace fashion {

using namespace tessera;

constexpr const char* kDevices = "devices";  // the mesh axis
// Two rows of padding at each edge: after two poolings eight rows are left, for up to eight
// devices.
constexpr int64_t kRowPadding = 2;

// A layer computes x * weights + bias.
struct Layer {
  Array weights, bias;
};
TESSERA_FIELDS(Layer, weights, bias);
// Kernels are [rows, columns, features, new features]. The first dense layer takes images, so its
// weights are [rows, columns, features, units].
struct Params {
  Layer conv1, conv2, dense1, dense2;
};
TESSERA_FIELDS(Params, conv1, conv2, dense1, dense2);

// The dims that the devices cut: images of a batch, or rows of each image; and between steps also
// the weights.
struct Layout {
  DimSharding images = None, rows = None;
  bool cuts_weights = false;

  static Layout named(const std::string& name) {
    if (name == "dp") return {.images = kDevices};
    if (name == "fsdp") return {.images = kDevices, .cuts_weights = true};
    if (name == "spatial") return {.rows = kDevices};
    throw std::runtime_error("there is no layout \"" + name + "\": dp, fsdp or spatial");
  }
  bool cuts_rows() const { return !rows.axes().empty(); }
  // Returns how weights of this shape are stored. FSDP cuts the largest dim that the devices
  // divide.
  PartitionSpec stored(const std::vector<int64_t>& shape) const {
    std::vector<DimSharding> dims(shape.size());
    size_t best = shape.size();
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] % current_mesh().size() == 0 && (best == shape.size() || shape[d] > shape[best]))
        best = d;
    if (cuts_weights && best < shape.size()) dims[best] = kDevices;
    return PartitionSpec(dims);
  }
  // Returns the weights as a step uses them. Those that meet other images or rows on each device
  // are whole and reduced: their gradient stays a partial sum until the sum is asked for.
  Params for_use(const Params& stored) const {
    const auto whole = [](Array w) { return reshard(w, P().reduced(kDevices)); };
    if (!cuts_rows()) return tree_map(whole, stored);
    return {.conv1 = tree_map(whole, stored.conv1),
            .conv2 = tree_map(whole, stored.conv2),
            .dense1 = stored.dense1,
            .dense2 = stored.dense2};
  }
};

struct Model {
  Layout layout;
  int64_t rows = kSide + 2 * kRowPadding, columns = kSide;
  int64_t kernel = 3, features1 = 16, features2 = 32, hidden = 48;

  int64_t pooled_rows() const { return rows / 4; }

  Params init(Array key) const {
    const auto layer = [&](Array k, const std::vector<int64_t>& shape, PartitionSpec spec) {
      const auto inputs = std::accumulate(shape.begin(), shape.end() - 1, 1.0, std::multiplies());
      return Layer{random::normal(k, shape, {.out_sharding = spec}) * std::sqrt(2 / inputs),
                   zeros({shape.back()}, {.out_sharding = layout.stored({shape.back()})})};
    };
    const std::vector<int64_t> conv1 = {kernel, kernel, 1, features1},
                               conv2 = {kernel, kernel, features1, features2},
                               dense1 = {pooled_rows(), columns / 4, features2, hidden},
                               dense2 = {hidden, kClasses};
    const auto [k1, k2, k3, k4] = random::split<4>(key);
    return {.conv1 = layer(k1, conv1, layout.stored(conv1)),
            .conv2 = layer(k2, conv2, layout.stored(conv2)),
            .dense1 = layer(k3, dense1, layout.cuts_rows() ? P(kDevices) : layout.stored(dense1)),
            .dense2 = layer(k4, dense2, layout.stored(dense2))};
  }

  // Returns pixels [image, row, column] of bytes as a batch [image, row, column, 1] of numbers.
  Array batch_of(Array pixels) const {
    const Array padded = pad(pixels, {{0, 0}, {kRowPadding, kRowPadding}, {0, 0}});
    return reshard(expand_dims(padded, -1), P(layout.images, layout.rows)).astype(f32) / 255.0;
  }

  // Returns the logits [image, class] of a batch.
  Array logits(const Params& p, Array x) const {
    const auto convolved = [](const Layer& l, Array in) {
      const Array out =
          conv_general_dilated(in, l.weights, {1, 1}, "SAME", {.dims = {"NHWC", "HWIO", "NHWC"}});
      // Bias and relu keep the order of numbers, so they may follow the pooling, on a quarter of
      // the numbers.
      return relu(max_pool(out, {2, 2}, {.strides = {2, 2}}) + l.bias);
    };
    x = convolved(p.conv2, convolved(p.conv1, x));
    const Array units =
        einsum("nhwc,hwcd->nd", {x, p.dense1.weights}, {.out_sharding = P(layout.images, None)});
    return matmul(relu(units + p.dense1.bias), p.dense2.weights) + p.dense2.bias;
  }

  // Returns the mean of -log p of the labels, and the share of images that are classified
  // correctly.
  std::pair<Array, Array> loss(const Params& p, Array x, Array labels) const {
    const Array z = logits(p, x);
    labels = reshard(labels, P(layout.images));
    const Array of_label = sum(where(one_hot(labels, kClasses), z, 0.0), -1);
    return {mean(logsumexp(z, -1) - of_label), mean(argmax(z, -1) == labels)};
  }
};

}  // namespace fashion
