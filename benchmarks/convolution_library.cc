// W15's convolutions by oneDNN, in the layouts that it chooses and with its own threads: the limit
// for layouts that users choose, and for our own cut of the work.
#include <dnnl.hpp>

#include "benchmarks/convolutions.h"
#include "benchmarks/measure.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

class Convolution {
 public:
  explicit Convolution(const ConvolutionSize& c) : c_(c) {
    // "SAME": an odd position of padding goes to the end.
    const int64_t all = std::max<int64_t>((c.out_side() - 1) * c.stride + c.kernel - c.side, 0);
    left_ = {all / 2, all / 2}, right_ = {all - all / 2, all - all / 2};
  }

  // Returns samples of one of kConvolutionParts.
  std::vector<double> Measure(bool quick, size_t part) {
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, kDirect, src_, weights_, dst_, strides_, left_, right_},
        engine_);
    if (part == 0)
      return Time(quick, dnnl::convolution_forward(forward),
                  {{DNNL_ARG_SRC, forward.src_desc()},
                   {DNNL_ARG_WEIGHTS, forward.weights_desc()},
                   {DNNL_ARG_DST, forward.dst_desc()}});
    if (part == 1) {
      const dnnl::convolution_backward_data::primitive_desc data(
          {kDirect, src_, weights_, dst_, strides_, left_, right_}, engine_, forward);
      return Time(quick, dnnl::convolution_backward_data(data),
                  {{DNNL_ARG_DIFF_SRC, data.diff_src_desc()},
                   {DNNL_ARG_WEIGHTS, data.weights_desc()},
                   {DNNL_ARG_DIFF_DST, data.diff_dst_desc()}});
    }
    const dnnl::convolution_backward_weights::primitive_desc weights(
        {kDirect, src_, weights_, dst_, strides_, left_, right_}, engine_, forward);
    return Time(quick, dnnl::convolution_backward_weights(weights),
                {{DNNL_ARG_SRC, weights.src_desc()},
                 {DNNL_ARG_DIFF_WEIGHTS, weights.diff_weights_desc()},
                 {DNNL_ARG_DIFF_DST, weights.diff_dst_desc()}});
  }

 private:
  static constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  using Sizes = dnnl::memory::dims;
  static dnnl::memory::desc Any(const Sizes& sizes) {
    return {sizes, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
  }

  std::vector<double> Time(bool quick, const dnnl::primitive& primitive,
                           const std::vector<std::pair<int, dnnl::memory::desc>>& arrays) {
    std::unordered_map<int, dnnl::memory> arguments;
    for (const auto& [name, desc] : arrays) {
      const dnnl::memory& memory = arguments[name] = dnnl::memory(desc, engine_);
      auto* const numbers = static_cast<float*>(memory.get_data_handle());
      std::fill_n(numbers, desc.get_size() / sizeof(float), 0.5f);
    }
    dnnl::stream stream(engine_);
    return Sample(quick, [&] {
      primitive.execute(stream, arguments);
      stream.wait();
    });
  }

  const ConvolutionSize c_;
  const dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  const dnnl::memory::desc src_ = Any({kImages, c_.in, c_.side, c_.side}),
                           weights_ = Any({c_.out, c_.in, c_.kernel, c_.kernel}),
                           dst_ = Any({kImages, c_.out, c_.out_side(), c_.out_side()});
  const Sizes strides_ = {c_.stride, c_.stride};
  Sizes left_, right_;
};

}  // namespace

void ConvolutionLibrary(Recorder& recorder, const std::string& part) {
  for (const ConvolutionSize& c : kConvolutions) {
    if (recorder.quick() && c.side > 14) continue;
    for (size_t k = 0; k < kConvolutionParts.size(); ++k) {
      const std::string name = std::string(kConvolutionParts[k]) + "_" + c.name;
      if (name.find(part) == std::string::npos) continue;
      recorder.Emit("W15." + name, "onednn", {{"devices", 1}}, "us",
                    Convolution(c).Measure(recorder.quick(), k));
    }
  }
}

}  // namespace tessera::bench
