// W15: convolutions and their gradients, pooling, and a step of samples/fashion.
#include <vector>

#include "benchmarks/convolutions.h"
#include "benchmarks/inputs.h"
#include "benchmarks/rows.h"
#include "samples/fashion/train.h"

namespace tessera::bench {
namespace {

void Convolutions(Rows& rows) {
  for (const ConvolutionSize& c : kConvolutions) {
    if (rows.quick() && c.side > 14) continue;
    const Json cost = {{"flops", c.flops()}};
    const PartitionSpec batch = P("d");
    const Array x = reshard(Random({kImages, c.side, c.side, c.in}, 1), batch),
                w = Random({c.kernel, c.kernel, c.in, c.out}, 2),
                g = reshard(Random({kImages, c.out_side(), c.out_side(), c.out}, 3), batch);
    const auto conv = [&](Array image, Array kernel) {
      return conv_general_dilated(image, kernel, {c.stride, c.stride}, "SAME",
                                  {.dims = {"NHWC", "HWIO", "NHWC"}});
    };
    const auto data = [&](Array cotangent, Array kernel) {
      return linear_transpose([&](Array image) { return conv(image, kernel); }, x)(cotangent);
    };
    const auto weights = [&](Array cotangent, Array image) {
      return linear_transpose([&](Array kernel) { return conv(image, kernel); }, w)(cotangent);
    };
    const auto name = [&](int part) {
      return fmt::format("{}_{}", kConvolutionParts[part], c.name);
    };
    rows.Add(name(0), conv, std::tuple(x, w), cost);
    rows.Add(name(1), data, std::tuple(g, w), cost);
    rows.Add(name(2), weights, std::tuple(g, x), cost);
  }
}

// Reads all elements and writes those of the result.
void Pooling(Rows& rows) {
  const int64_t side = rows.Size(112, 8);
  const struct {
    const char* layout;
    std::vector<int64_t> shape;
    size_t first;  // of the two window dims
  } layouts[] = {{"nhwc", {16, side, side, 64}, 1}, {"nchw", {16, 64, side, side}, 2}};
  for (const auto& [layout, shape, first] : layouts) {
    const Array x = reshard(Random(shape, 4), P("d"));
    for (const int64_t size : {2, 3}) {
      std::vector<int64_t> window(4, 1), strides(4, 1);
      window[first] = window[first + 1] = size;
      strides[first] = strides[first + 1] = 2;
      const int64_t out = (side - size) / 2 + 1;
      const double bytes = 4.0 * 16 * 64 * static_cast<double>(side * side + out * out);
      const Json cost = {{"bytes", bytes}, {"ws", bytes}, {"kind", "copy"}};
      for (const Reduction kind : {Reduction::kMax, Reduction::kSum})
        rows.Add(
            fmt::format("pool_{}_{}x{}_{}", kind == Reduction::kMax ? "max" : "avg", size, size,
                        layout),
            [=, is_max = kind == Reduction::kMax](Array a) {
              const Array y = reduce_window(a, kind, window, {.strides = strides});
              return is_max ? y : y / static_cast<double>(size * size);
            },
            x, cost);
    }
  }
}

// A step that cuts the batch, on random images.
void Fashion(Rows& rows) {
  constexpr int64_t kExamples = 2560, kBatch = 128;
  if (!rows.Wants("fashion_step")) return;
  // Its mesh axis has a name of its own.
  MeshScope scope(make_mesh({{fashion::kDevices, rows.devices()}}));
  const fashion::Trainer trainer{.model = {.layout = fashion::Layout::named("dp")},
                                 .training = {.steps = 5 * kExamples / kBatch}};
  const fashion::Examples examples{
      .pixels = (256.0 * Random({kExamples, fashion::kSide, fashion::kSide}, 5)).astype(u8),
      .labels = arange(kExamples) % fashion::kClasses};
  rows.Add(
      "fashion_step",
      [=](fashion::State s, fashion::Examples all, Array order) {
        const Array chosen = order[{s.step % (kExamples / kBatch) * kBatch + arange(kBatch)}];
        return trainer.step(s, {.pixels = all.pixels[{chosen}], .labels = all.labels[{chosen}]});
      },
      std::tuple(trainer.start(random::key(0)), examples,
                 random::permutation(random::key(1), kExamples)));
}

}  // namespace

void ImageRows(Rows& rows) {
  Convolutions(rows);
  Pooling(rows);
  Fashion(rows);
}

}  // namespace tessera::bench
