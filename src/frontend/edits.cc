// Tries edits of a refused call by tracing and lowering the whole call with each, and offers those
// that work.
#include "frontend/edits.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "compile/lower.h"
#include "compile/propagate.h"
#include "compile/report.h"
#include "frontend/modes.h"
#include "frontend/placement.h"
#include "spmd/lower.h"
#include "trace/function.h"

namespace tessera::frontend {
namespace {

// Whether a call is only tried: then what it refuses is an answer, and nobody reads its edits.
thread_local bool trying = false;
struct Trying {
  Trying() { trying = true; }
  ~Trying() { trying = false; }
};

struct Trial {
  CommReport sent;
  std::vector<base::Shape> shapes;  // of the results
};

class Edits {
 public:
  Edits(const std::vector<Array>& operands, Call call, const OnArrays& f)
      : operands_(operands), call_(call), f_(f) {}

  void AddTo(ErrorDetail& detail) const {
    if (detail.operands.empty())
      for (size_t k = 0; k < operands_.size(); ++k)
        detail.operands.push_back({DefaultName(k), TypeOf(operands_[k])->text(),
                                   base::Where(operands_[k].impl()->loc())});
    if (detail.fixes.empty()) AddReshards(detail);
    AddAutoAxes(detail);
    std::stable_sort(detail.fixes.begin(), detail.fixes.end(),
                     [](const Fix& a, const Fix& b) { return a.bytes < b.bytes; });
  }

 private:
  std::string DefaultName(size_t k) const {
    return operands_.size() == 1 ? "operand" : fmt::format("operand {}", k);
  }

  static detail::Body BodyOf(const OnArrays& g) {
    return [&g](const std::vector<Array>& arrays) {
      std::vector<Array> results = g(arrays);
      return detail::FunctionResult{results, detail::AnyTree::Of(results)};
    };
  }

  // What such a call would send; nothing if it is refused.
  std::optional<Trial> Try(const OnArrays& g) const {
    std::vector<trace::Parameter> parameters;
    for (const Array& x : operands_) parameters.push_back({TypeOf(x), call_.loc});
    try {
      const auto traced = ir::Shared(
          trace::TraceFunction(parameters, BodyOf(g), "jit", call_.loc, /*outer=*/nullptr).program);
      Trial trial;
      for (ir::ValueId v : traced->outputs) trial.shapes.push_back(traced->type(v)->shape());
      trial.sent = compile::Report(spmd::Lower(*compile::Placed(traced)));
      return trial;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void AddReshards(ErrorDetail& detail) const {
    for (size_t k = 0; k < operands_.size(); ++k) {
      const sharding::TensorSharding& own = TypeOf(operands_[k])->sharding();
      sharding::TensorSharding whole = own;
      for (size_t d = 0; d < own.dims.size(); ++d) {
        if (own.dims[d].axes.empty()) continue;
        sharding::TensorSharding one = own;
        one.dims[d].axes.clear();
        whole.dims[d].axes.clear();
        AddReshard(k, one, detail);
      }
      if (whole != own) AddReshard(k, whole, detail);
    }
  }

  void AddReshard(size_t k, const sharding::TensorSharding& to, ErrorDetail& detail) const {
    PartitionSpec spec = sharding::ToSpec(to);
    for (const Fix& f : detail.fixes)
      if (f.operand == static_cast<int>(k) && f.spec == spec) return;
    std::optional<Trial> trial = Try([&](std::vector<Array> xs) {
      xs[k] = ReshardTo(xs[k], spec, {"reshard", call_.loc});
      return f_(xs);
    });
    if (!trial) return;
    detail.fixes.push_back({.operand = static_cast<int>(k),
                            .spec = spec,
                            .bytes = trial->sent.bytes(),
                            .text = fmt::format("reshard({}, {})   {}", detail.operands[k].name,
                                                spec.text(), CostText(trial->sent))});
  }

  void AddAutoAxes(ErrorDetail& detail) const {
    std::optional<Trial> known = TryAuto(P());
    if (!known || known->shapes.empty()) return;
    Fix best{.operand = -1, .spec = P(), .auto_axes = true};
    auto offer = [&](const PartitionSpec& spec, const Trial& trial) {
      if (!best.text.empty() && trial.sent.bytes() >= best.bytes) return;
      best.spec = spec;
      best.bytes = trial.sent.bytes();
      best.text = AutoText(spec) + "   " + CostText(trial.sent);
    };
    for (const PartitionSpec& spec : OutSpecs(known->shapes))
      if (std::optional<Trial> trial = TryAuto(spec)) offer(spec, *trial);
    offer(P(), *known);
    bool least = std::all_of(detail.fixes.begin(), detail.fixes.end(),
                             [&](const Fix& f) { return best.bytes < f.bytes; });
    if (least) detail.fixes.push_back(std::move(best));
  }

  std::optional<Trial> TryAuto(const PartitionSpec& out) const {
    return Try([&](std::vector<Array> xs) {
      return CallAutoAxes({xs, BodyOf(f_), call_.loc}, {.out_sharding = out}).arrays;
    });
  }

  // Specs of the results that keep dims of the first operand in their order, as far as they divide.
  std::vector<PartitionSpec> OutSpecs(const std::vector<base::Shape>& shapes) const {
    const sharding::TensorSharding& own = TypeOf(operands_[0])->sharding();
    const size_t rank = shapes[0].size(), from = own.dims.size();
    for (const base::Shape& shape : shapes)
      if (shape.size() != rank) return {};
    std::vector<bool> kept(from, false);  // from the last dims on
    std::fill(kept.end() - static_cast<long>(std::min(rank, from)), kept.end(), true);
    std::vector<PartitionSpec> specs;
    do {
      sharding::TensorSharding out = sharding::Replicated(own.mesh, static_cast<int>(rank));
      size_t to = rank > from ? rank - from : 0;  // new dims lead
      for (size_t d = 0; d < from; ++d)
        if (rank >= from || kept[d]) out.dims[to++].axes = own.dims[d].axes;
      for (const base::Shape& shape : shapes)
        for (size_t d = 0; d < rank; ++d)
          while (!out.dims[d].axes.empty() && shape[d] % sharding::SizeOf(out.dims[d].axes) != 0)
            out.dims[d].axes.pop_back();
      specs.push_back(sharding::ToSpec(out));
    } while (rank < from && std::next_permutation(kept.begin(), kept.end()));
    return specs;
  }

  std::string AutoText(const PartitionSpec& out) const {
    auto arrays = std::count_if(operands_.begin(), operands_.end(),
                                [](const Array& x) { return TypeOf(x)->rank() > 0; });
    const char* x = arrays > 1 ? "xs" : "x";
    std::string inner = std::string(call_.name) == "index"
                            ? fmt::format("{}[...]", x)
                            : fmt::format("{}({}, ...)", call_.name, x);
    return fmt::format("auto_axes([](auto {}) {{ return {}; }}, {{.out_sharding = {}}})({})", x,
                       inner, out.text(), arrays > 1 ? "operands" : "operand");
  }

  static std::string CostText(const CommReport& sent) {
    if (sent.bytes() == 0) return "sends nothing";
    std::string moves;
    for (const CommEvent& e : sent.events()) {
      std::string axes;
      for (const std::string& a : e.axes) axes += (axes.empty() ? "" : ",") + a;
      moves += fmt::format("{}{} over {}", moves.empty() ? "" : ", ", comm_name(e.kind), axes);
    }
    return fmt::format("sends {} B per device: {}", sent.bytes(), moves);
  }

  const std::vector<Array>& operands_;
  Call call_;
  const OnArrays& f_;
};

}  // namespace

std::vector<Array> WithEdits(const std::vector<Array>& operands, Call call, const OnArrays& f) {
  try {
    return f(operands);
  } catch (const ShardingError& e) {
    if (trying) throw;
    ErrorDetail detail = e.detail();
    {
      Trying scope;
      Edits(operands, call, f).AddTo(detail);
    }
    base::ThrowSharding(std::move(detail));
  }
}

}  // namespace tessera::frontend
