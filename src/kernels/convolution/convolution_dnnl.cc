// Convolutions by oneDNN. A call is cut into units of batch indices, features or groups, each a
// convolution of its own. Arrays whose layout oneDNN is slow with are copied before or after.
#include "kernels/convolution/convolution_dnnl.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "base/divide.h"
#include "base/shape.h"
#include "kernels/convolution/dnnl_problem.h"
#include "kernels/gemm/dnnl_engine.h"
#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

using DnnlLayout = dnnl::memory::desc;

// An array as we have it and as oneDNN takes it, and the copy between them if they differ.
struct DnnlArray {
  DnnlLayout ours, theirs;
  std::optional<dnnl::reorder> copy;
  DnnlLayout scratch;  // of the copy
};

// The dims along which a convolution is cut.
enum class CutDim : uint8_t { kBatch, kFeatures, kGroups };

// oneDNN's function for the units of one size.
struct UnitFunction {
  DnnlProblem problem;
  ConvolutionDesc desc;
  DnnlArray lhs, rhs, out;
  DnnlLayout flipped;  // of rhs, if it is reversed
  DnnlLayout scratch;
  dnnl::primitive primitive;
};

struct DnnlConfig {
  CutDim cut = CutDim::kBatch;
  int64_t size = 1, unit = 1, units = 1;             // of the dim
  int64_t lhs_step = 0, rhs_step = 0, out_step = 0;  // bytes from one index of it to the next
  UnitFunction full, last;
  // offsets in scratch, in bytes
  int64_t lhs = 0, rhs = 0, flipped = 0, out = 0, function = 0;
};

// Returns the layout without gaps whose dims are in the same order.
DnnlLayout WithoutGaps(const DnnlLayout& layout) {
  const dnnl::memory::dims sizes = layout.dims();
  const auto* strides = layout.data.format_desc.blocking.strides;
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(strides[a], sizes[a]) > std::tuple(strides[b], sizes[b]);
  });
  dnnl::memory::dims dense(sizes.size());
  int64_t next = 1;
  for (size_t k = order.size(); k-- > 0; next *= sizes[order[k]]) dense[order[k]] = next;
  return {sizes, layout.data_type(), dense};
}

DnnlLayout Any(const DnnlLayout& layout) {
  return {layout.dims(), layout.data_type(), dnnl::memory::format_tag::any};
}

// oneDNN is fast with images whose features are the inner dim. Other layouts it chooses itself.
DnnlLayout ImageLayout(const DnnlLayout& ours) {
  constexpr int kFeatures = 1;
  const DnnlLayout dense = WithoutGaps(ours);
  return dense.data.format_desc.blocking.strides[kFeatures] == 1 ? dense : Any(ours);
}

template <class Desc>
bool IsFast(const Desc& desc) {
  return std::string_view(desc.impl_info_str()).find("ref") == std::string_view::npos;
}

struct Attributes : dnnl::primitive_attr {
  Attributes() { set_scratchpad_mode(dnnl::scratchpad_mode::user); }
};

// Returns the hint that oneDNN wants: the forward function of the same sizes, in any layout.
dnnl::convolution_forward::primitive_desc Hint(const DnnlProblem& p, const DnnlLayout& src,
                                               const DnnlLayout& weights, const DnnlLayout& dst) {
  const auto any = [&](const DnnlLayout& layout) {
    return DnnlLayout(layout.dims(), p.lhs.data_type(), dnnl::memory::format_tag::any);
  };
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, any(src),
           any(weights), any(dst), p.strides, p.dilations, p.left, p.right},
          DnnlEngine()};
}

template <class Desc>
bool SetPrimitive(UnitFunction& f, const Desc& desc, const DnnlLayout& lhs, const DnnlLayout& rhs,
                  const DnnlLayout& out, dnnl::primitive primitive) {
  f.lhs.theirs = lhs, f.rhs.theirs = rhs, f.out.theirs = out;
  f.scratch = desc.scratchpad_desc();
  f.primitive = std::move(primitive);
  return IsFast(desc);
}

bool MakePrimitive(UnitFunction& f) {
  const DnnlProblem& p = f.problem;
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const Attributes attributes;
  if (p.form == DnnlForm::kForward) {
    const dnnl::convolution_forward::primitive_desc desc(
        {dnnl::prop_kind::forward_inference, kDirect, ImageLayout(p.lhs), Any(p.rhs),
         ImageLayout(p.out), p.strides, p.dilations, p.left, p.right},
        attributes, DnnlEngine());
    return SetPrimitive(f, desc, desc.src_desc(), desc.weights_desc(), desc.dst_desc(),
                        dnnl::convolution_forward(desc));
  }
  if (p.form == DnnlForm::kData) {
    const dnnl::convolution_backward_data::primitive_desc desc(
        {kDirect, ImageLayout(p.out), Any(p.rhs), ImageLayout(p.lhs), p.strides, p.dilations,
         p.left, p.right},
        attributes, DnnlEngine(), Hint(p, p.out, p.rhs, p.lhs));
    return SetPrimitive(f, desc, desc.diff_dst_desc(), desc.weights_desc(), desc.diff_src_desc(),
                        dnnl::convolution_backward_data(desc));
  }
  const dnnl::convolution_backward_weights::primitive_desc desc(
      {kDirect, ImageLayout(p.lhs), Any(p.out), ImageLayout(p.rhs), p.strides, p.dilations, p.left,
       p.right},
      attributes, DnnlEngine(), Hint(p, p.lhs, p.out, p.rhs));
  return SetPrimitive(f, desc, desc.src_desc(), desc.diff_dst_desc(), desc.diff_weights_desc(),
                      dnnl::convolution_backward_weights(desc));
}

void SetCopy(DnnlArray& array, const DnnlLayout& from, const DnnlLayout& to) {
  if (from == to) return;
  const dnnl::engine& engine = DnnlEngine();
  const dnnl::reorder::primitive_desc desc(engine, from, engine, to, Attributes());
  array.copy = dnnl::reorder(desc);
  array.scratch = desc.scratchpad_desc();
}

std::optional<UnitFunction> MakeUnit(const ConvolutionDesc& desc, DnnlForm form) {
  const std::optional<DnnlProblem> problem = StateForDnnl(desc, form);
  if (!problem) return std::nullopt;
  UnitFunction f;
  f.problem = *problem, f.desc = desc;
  f.lhs.ours = problem->lhs, f.rhs.ours = problem->rhs, f.out.ours = problem->out;
  if (problem->flips) f.flipped = f.rhs.ours = WithoutGaps(problem->rhs);
  if (!MakePrimitive(f)) return std::nullopt;
  SetCopy(f.lhs, f.lhs.ours, f.lhs.theirs);
  SetCopy(f.rhs, f.rhs.ours, f.rhs.theirs);
  SetCopy(f.out, f.out.theirs, f.out.ours);
  return f;
}

// Copies rhs to `out`, which has the layout without gaps, with all spatial dims reversed.
class Flip {
 public:
  Flip(const UnitFunction& f, const std::byte* in, std::byte* out)
      : sizes_(f.flipped.dims()),
        in_strides_(f.problem.rhs.data.format_desc.blocking.strides),
        out_strides_(f.flipped.data.format_desc.blocking.strides),
        spatial_(sizes_.size() - std::max<size_t>(f.desc.dims.size(), 1)),
        item_(static_cast<int64_t>(dnnl::memory::data_type_size(f.flipped.data_type()))) {
    order_.resize(sizes_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return out_strides_[a] > out_strides_[b]; });
    Dim(0, in, out);
  }

 private:
  void Dim(size_t k, const std::byte* in, std::byte* out) {
    const size_t d = order_[k];
    const int64_t n = sizes_[d];
    int64_t step = in_strides_[d] * item_;
    if (d >= spatial_) in += (n - 1) * step, step = -step;
    const bool last = k + 1 == order_.size();
    if (last && step == item_) {
      std::memcpy(out, in, base::Size(n * item_));
      return;
    }
    for (int64_t i = 0; i < n; ++i, in += step, out += out_strides_[d] * item_) {
      if (last)
        std::memcpy(out, in, base::Size(item_));
      else
        Dim(k + 1, in, out);
    }
  }

  const dnnl::memory::dims sizes_;
  const dnnl_dim_t *in_strides_, *out_strides_;
  const size_t spatial_;  // the first spatial dim
  const int64_t item_;
  std::vector<size_t> order_;
};

class DnnlRun {
 public:
  DnnlRun(const DnnlConfig& c, const plan::KernelArgs& call) : c_(c), call_(call) {}

  void Unit(int64_t unit) {
    const int64_t first = unit * c_.unit;
    const UnitFunction& f = first + c_.unit <= c_.size ? c_.full : c_.last;
    const int64_t skipped = f.problem.lhs_offset * f.desc.lhs_dtype.size();
    const std::byte* lhs = In(lhs_, f.lhs, call_.in[0] + first * c_.lhs_step + skipped, c_.lhs);
    const std::byte* rhs = call_.in[1] + first * c_.rhs_step;
    if (f.problem.flips && rhs != flipped_) {
      Flip(f, rhs, call_.scratch + c_.flipped);
      flipped_ = rhs, rhs_.from = nullptr;
    }
    rhs = In(rhs_, f.rhs, f.problem.flips ? call_.scratch + c_.flipped : rhs, c_.rhs);
    std::byte* out = call_.out[0] + first * c_.out_step;
    std::byte* result = f.out.copy ? call_.scratch + c_.out : out;
    Execute(f, lhs, rhs, result);
    if (f.out.copy) Copy(f.out, f.out.theirs, result, f.out.ours, out);
  }

 private:
  // The array that a place in scratch is a copy of.
  struct CopiedArray {
    const std::byte* from = nullptr;
    DnnlLayout layout;
  };

  static dnnl::memory MemoryOf(const DnnlLayout& layout, const std::byte* p) {
    return {layout, DnnlEngine(), const_cast<std::byte*>(p)};
  }
  dnnl::memory ScratchOf(const DnnlLayout& layout) const {
    return MemoryOf(layout, call_.scratch + c_.function);
  }
  dnnl::stream& Stream() {
    thread_local dnnl::stream stream(DnnlEngine());
    return stream;
  }
  void Copy(const DnnlArray& array, const DnnlLayout& from, const std::byte* in,
            const DnnlLayout& to, std::byte* out) {
    dnnl::memory a = MemoryOf(from, in), b = MemoryOf(to, out);
    array.copy->execute(
        Stream(),
        {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}, {DNNL_ARG_SCRATCHPAD, ScratchOf(array.scratch)}});
  }
  const std::byte* In(CopiedArray& held, const DnnlArray& array, const std::byte* in, int64_t at) {
    if (!array.copy) return in;
    std::byte* out = call_.scratch + at;
    if (held.from != in || held.layout != array.theirs) {
      Copy(array, array.ours, in, array.theirs, out);
      held = {in, array.theirs};
    }
    return out;
  }
  void Execute(const UnitFunction& f, const std::byte* lhs, const std::byte* rhs, std::byte* out) {
    const bool data = f.problem.form == DnnlForm::kData;
    const bool weights = f.problem.form == DnnlForm::kWeights;
    const int lhs_arg = data ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC;
    const int rhs_arg = weights ? DNNL_ARG_DIFF_DST : DNNL_ARG_WEIGHTS;
    const int out_arg = weights ? DNNL_ARG_DIFF_WEIGHTS : data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST;
    f.primitive.execute(Stream(), {{lhs_arg, MemoryOf(f.lhs.theirs, lhs)},
                                   {rhs_arg, MemoryOf(f.rhs.theirs, rhs)},
                                   {out_arg, MemoryOf(f.out.theirs, out)},
                                   {DNNL_ARG_SCRATCHPAD, ScratchOf(f.scratch)}});
  }

  const DnnlConfig& c_;
  const plan::KernelArgs& call_;
  CopiedArray lhs_, rhs_;
  const std::byte* flipped_ = nullptr;
};

void RunDnnlConvolution(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const DnnlConfig*>(call.config);
  const OneThread one;
  const Range units = Share(c.units, 1, call.part, call.parts);
  DnnlRun run(c, call);
  for (int64_t u = units.begin; u < units.end; ++u) run.Unit(u);
}

int64_t& SizeOf(ConvolutionDesc& desc, CutDim dim) {
  if (dim == CutDim::kBatch) return desc.batch;
  return dim == CutDim::kFeatures ? desc.out_features : desc.groups;
}

struct Amounts {
  double lhs = 1, rhs = 1, out = 1, flops = 2;
};

Amounts AmountsOf(const ConvolutionDesc& d) {
  Amounts a;
  for (const ConvolutionDim& dim : d.dims) {
    a.lhs *= static_cast<double>(dim.lhs_size);
    a.rhs *= static_cast<double>(dim.window.size);
    a.out *= static_cast<double>(dim.out_size);
  }
  const auto batch = static_cast<double>(d.batch * d.groups);
  const auto features = static_cast<double>(d.in_features * d.out_features);
  a.flops = 2 * batch * features * a.out * a.rhs;
  a.lhs *= batch * static_cast<double>(d.in_features);
  a.rhs *= static_cast<double>(d.groups) * features;
  a.out *= batch * static_cast<double>(d.out_features);
  return a;
}

// Each worker copies rhs whole, unless the features are cut; and lhs whole, if they are.
void ChooseCut(DnnlConfig& c, ConvolutionDesc desc, DnnlForm form) {
  constexpr double kLeastFlops = 4e6;  // a unit should take more time than its call
  constexpr int64_t kMostUnits = 16, kMostFeatureUnits = 8, kFeatures = 32, kGroups = 16;
  const Amounts amounts = AmountsOf(desc);
  const bool weights = form == DnnlForm::kWeights;
  int64_t grain = 1, most = kMostUnits;
  if (desc.groups > 1 && (weights || desc.batch == 1)) {
    c.cut = CutDim::kGroups, grain = kGroups;
  } else if (desc.groups == 1 &&
             (weights || desc.batch < 2 || amounts.rhs > amounts.lhs + amounts.out)) {
    c.cut = CutDim::kFeatures, grain = kFeatures, most = kMostFeatureUnits;
  }
  c.size = SizeOf(desc, c.cut);
  most = std::clamp<int64_t>(static_cast<int64_t>(amounts.flops / kLeastFlops), 1, most);
  c.unit = std::min(c.size, base::CeilDiv(base::CeilDiv(c.size, most), grain) * grain);
  c.units = base::CeilDiv(c.size, c.unit);
}

int64_t MapScratch(DnnlConfig& c) {
  int64_t bytes = 0;
  const auto take = [&](size_t a, size_t b) {
    const int64_t at = bytes;
    bytes += (static_cast<int64_t>(std::max(a, b)) + 63) / 64 * 64;
    return at;
  };
  const auto copied = [](const DnnlArray& array) {
    return array.copy ? array.theirs.get_size() : 0;
  };
  const UnitFunction &f = c.full, &l = c.last;
  c.lhs = take(copied(f.lhs), copied(l.lhs));
  c.rhs = take(copied(f.rhs), copied(l.rhs));
  c.out = take(copied(f.out), copied(l.out));
  c.flipped =
      take(f.problem.flips ? f.flipped.get_size() : 0, l.problem.flips ? l.flipped.get_size() : 0);
  size_t function = 0;
  for (const UnitFunction* u : {&f, &l})
    for (const DnnlLayout* scratch :
         {&u->scratch, &u->lhs.scratch, &u->rhs.scratch, &u->out.scratch})
      function = std::max(function, scratch->get_size());
  c.function = take(function, 0);
  return bytes;
}

std::shared_ptr<DnnlConfig> MakeConfig(const ConvolutionDesc& desc) {
  const DnnlForm form = DnnlFormOf(desc);
  auto c = std::make_shared<DnnlConfig>();
  ChooseCut(*c, desc, form);
  const auto unit = [&](int64_t size) {
    ConvolutionDesc part = desc;
    SizeOf(part, c->cut) = size;
    return MakeUnit(part, form);
  };
  const auto full = unit(c->unit);
  if (!full) return nullptr;
  c->full = *full;
  if (const int64_t rest = c->size % c->unit; rest != 0) {
    const auto last = unit(rest);
    if (!last) return nullptr;
    c->last = *last;
  }
  const int64_t in = desc.lhs_dtype.size(), out = desc.out_dtype.size();
  if (c->cut == CutDim::kBatch) {
    c->lhs_step = desc.lhs.batch * in, c->out_step = desc.out.batch * out;
  } else if (c->cut == CutDim::kFeatures) {
    c->rhs_step = desc.rhs.out * in, c->out_step = desc.out.feature * out;
  } else {
    c->lhs_step = desc.lhs.group * in, c->rhs_step = desc.rhs.group * in;
    c->out_step = desc.out.group * out;
  }
  return c;
}

}  // namespace

std::optional<DnnlConvolution> ConvolutionByDnnl(const ConvolutionDesc& desc) {
  if (AmountsOf(desc).flops == 0) return std::nullopt;
  const OneThread one;
  try {
    auto c = MakeConfig(desc);
    if (c == nullptr) return std::nullopt;
    DnnlConvolution out;
    out.cut = {c->size, c->unit, c->units, c->out_step / desc.out_dtype.size()};
    out.kernel.fn = &RunDnnlConvolution;
    out.kernel.scratch_bytes = MapScratch(*c);
    out.kernel.max_parts = static_cast<int32_t>(c->units);
    out.kernel.config = std::move(c);
    return out;
  } catch (const dnnl::error&) {
    return std::nullopt;  // it has no such function
  }
}

}  // namespace tessera::kernels
