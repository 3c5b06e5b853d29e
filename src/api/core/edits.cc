// Tries edits of a refused call by tracing and lowering the whole call with each, and offers those
// that work.
#include "api/core/edits.h"

#include <absl/algorithm/container.h>
#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/core/call_modes.h"
#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/inspect/report.h"
#include "compile/run/lower.h"
#include "ir/fixes.h"
#include "sharding/edit_code.h"
#include "trace/function.h"
#include "trace/key_reuse.h"

namespace tessera::api {
namespace {

using sharding::TensorSharding;

// Whether a public function runs inside another one or as a trial. No user reads its edits then.
thread_local bool inside = false;
struct Inside {
  bool old = std::exchange(inside, true);
  ~Inside() { inside = old; }
};

struct Outcome {
  CommReport sent;
  std::vector<const ir::Type*> types;  // the types of the results
};

// The operands of a call one by one, and their names in messages.
struct NamedArguments {
  Operands operands;
  std::vector<std::string> names;
  std::vector<std::string> whole;  // names in which arrays in braces count as one
};

NamedArguments NamedOperands(const Arguments& arguments) {
  NamedArguments named;
  const auto single = absl::c_count_if(arguments, [](const Argument& a) { return a.operand(); });
  for (const Argument& a : arguments) {
    if (a.operand()) {
      std::string name = a.name();
      if (name.empty()) name = single == 1 ? "operand" : named.operands.empty() ? "lhs" : "rhs";
      named.operands.push_back(*a.operand());
      named.names.push_back(name);
      named.whole.push_back(name);
    } else if (a.listed()) {
      for (size_t i = 0; i < a.listed()->size(); ++i) {
        named.operands.emplace_back((*a.listed())[i], Loc::Unknown());
        named.names.push_back(fmt::format("{}[{}]", a.name(), i));
      }
      named.whole.emplace_back(a.name());
    }
  }
  return named;
}

// Returns the code of the call, with names for its arrays.
std::string CallCode(Call call, const Arguments& arguments, const NamedArguments& named) {
  std::vector<std::string> parts;
  size_t next = 0;
  for (const Argument& a : arguments) {
    if (a.operand() || a.listed()) {
      const std::string& name = named.whole[next++];
      if (a.is_field()) continue;
      const bool number = a.operand() && a.operand()->scalar();
      parts.push_back(number ? Code(*a.operand()->scalar()) : name);
    } else if (std::string code = a.code(); !code.empty()) {
      parts.push_back(std::move(code));
    }
  }
  return fmt::format("{}({})", call.name, fmt::join(parts, ", "));
}

std::string CostText(const CommReport& sent) {
  if (sent.bytes() == 0) return "sends nothing";
  std::vector<std::string> moves;
  for (const CommEvent& e : sent.events()) {
    std::string move = fmt::format("{} over {}", comm_name(e.kind), fmt::join(e.axes, ","));
    if (absl::c_count(moves, move) == 0) moves.push_back(std::move(move));
  }
  return fmt::format("sends {} B per device: {}", sent.bytes(), fmt::join(moves, ", "));
}

class Edits {
 public:
  Edits(Call call, const Arguments& arguments, OnOperands f, const Rewritten& how)
      : call_(call), arguments_(arguments), f_(f), how_(how), named_(NamedOperands(arguments)) {
    for (const Argument& a : arguments)
      if (a.out_sharding()) out_ = a.out_sharding();
    for (size_t k = 0; k < named_.operands.size(); ++k)
      if (!named_.operands[k].scalar()) arrays_.push_back(k);
  }

  // Whether every operand was given a value, and so has a type.
  bool are_given() const {
    return absl::c_all_of(arrays_, [&](size_t k) { return ArrayAt(k).is_given(); });
  }

  std::vector<ErrorOperand> Shown() const {
    std::vector<ErrorOperand> shown;
    for (size_t k : arrays_)
      if (shown.size() < kMostShown)
        shown.push_back(
            {named_.names[k], TypeOf(ArrayAt(k))->text(), base::Where(ArrayAt(k).impl()->loc())});
    return shown;
  }

  // Whether an error shows exactly the operands of this call.
  bool Shows(const ErrorDetail& refused) const {
    const std::vector<ErrorOperand> shown = Shown();
    return absl::c_equal(refused.operands, shown, [](const ErrorOperand& a, const ErrorOperand& b) {
      return a.name == b.name && a.type == b.type;
    });
  }

  // Returns the edits that work, the cheapest first. `refused` was thrown by an op inside the call:
  // the fixes that it offers are tried first.
  std::vector<Fix> Tried(const ErrorDetail& refused) {
    for (const Fix& fix : refused.fixes) TryFixOf(refused, fix);
    // The op inside may know no out_sharding where the call takes one.
    const bool has_out = absl::c_any_of(fixes_, [](const Fix& fix) { return fix.operand < 0; });
    const bool has_none = fixes_.empty();
    if (!has_out) TryOutShardings();
    for (size_t i = 0; i < arrays_.size() && has_none; ++i) TryOperand(i);
    if (how_.others)
      for (const OtherCall& other : how_.others())
        if (std::optional<Outcome> trial = Try(other.f))
          Offer({.operand = -1, .spec = SpecOf(*trial)}, other.code, *trial);
    Sort();
    if (fixes_.size() > kMost) fixes_.resize(kMost);
    AddAutoAxes();
    Sort();
    return std::move(fixes_);
  }

 private:
  static constexpr size_t kMost = 4, kMostShown = 6, kMostTries = 64;

  const Array& ArrayAt(size_t k) const { return named_.operands[k].array(); }
  static PartitionSpec SpecOf(const Outcome& trial) {
    return trial.types.empty() ? P() : sharding::ToSpec(trial.types[0]->sharding());
  }
  void Sort() {
    absl::c_stable_sort(fixes_, [](const Fix& a, const Fix& b) { return a.bytes < b.bytes; });
  }

  detail::Body BodyOf(OnOperands g) const {
    return [this, g](const std::vector<Array>& arrays) {
      Operands operands = named_.operands;
      for (size_t i = 0; i < arrays_.size(); ++i)
        operands[arrays_[i]] = Operand(arrays[i], operands[arrays_[i]].loc());
      std::vector<Array> results = g(operands);
      return detail::FunctionResult{results, detail::AnyTree::Of(results)};
    };
  }

  // Returns the communication and the result types of such a call, or nullopt if it is refused.
  std::optional<Outcome> TryBody(const detail::Body& body) const {
    std::vector<trace::Parameter> parameters;
    for (size_t k : arrays_) parameters.push_back({TypeOf(ArrayAt(k)), call_.loc});
    const ir::WithoutFixesScope without;
    const trace::UsesNoKeysScope costs_alone;
    try {
      const auto traced = ir::Shared(
          trace::TraceFunction(parameters, body, "jit", call_.loc, /*outer=*/nullptr).program);
      Outcome trial;
      for (ir::ValueId v : traced->outputs) trial.types.push_back(traced->type(v));
      trial.sent = compile::Report(compile::DeviceProgramOf(traced));
      return trial;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  std::optional<Outcome> Try(OnOperands g) const { return TryBody(BodyOf(g)); }

  void Offer(Fix fix, const std::string& code, const Outcome& trial) {
    if (!sharding::CanWrite(fix.spec)) return;
    fix.bytes = trial.sent.bytes();
    fix.text = code + "   " + CostText(trial.sent);
    fixes_.push_back(std::move(fix));
  }
  bool Has(int operand, const PartitionSpec& spec) const {
    return absl::c_any_of(fixes_, [&](const Fix& f) {
      return f.operand == operand && f.spec == spec && !f.auto_axes;
    });
  }

  // Tries a fix of the op inside as an edit of the call. Where both send the same number of bytes,
  // the text of the fix is kept, because it names the moves.
  void TryFixOf(const ErrorDetail& refused, const Fix& fix) {
    const size_t before = fixes_.size();
    if (fix.operand < 0) {
      if (out_ && !fix.auto_axes) TryOut(fix.spec);
    } else if (base::Size(fix.operand) < refused.operands.size()) {
      for (size_t i = 0; i < arrays_.size(); ++i)
        if (TypeOf(ArrayAt(arrays_[i]))->text() == base::At(refused.operands, fix.operand).type)
          TryReshard(i, fix.spec);
    }
    if (fixes_.size() != before + 1 || !Shows(refused)) return;
    Fix& made = fixes_.back();
    if (made.operand == fix.operand && made.spec == fix.spec && made.bytes == fix.bytes)
      made.text = fix.text;
  }

  // ---- operands ----

  void TryOperand(size_t i) {
    const ir::Type* type = TypeOf(ArrayAt(arrays_[i]));
    const TensorSharding& own = type->sharding();
    TensorSharding whole = own, plain = own;
    for (size_t d = 0; d < own.dims.size(); ++d) {
      if (own.dims[d].axes.empty()) continue;
      whole.dims[d].axes.clear();
      for (TensorSharding one = own; !one.dims[d].axes.empty();) {
        Shorten(one.dims[d].axes);
        if (TryReshard(i, one)) break;
      }
    }
    plain.unreduced.clear();
    plain.reduced.clear();
    plain.kind = Reduction::kSum;
    TryReshard(i, whole);
    TryReshard(i, plain);
    for (size_t other : arrays_) {
      const ir::Type* like = TypeOf(ArrayAt(other));
      if (like->shape() == type->shape() && like->mesh()) TryReshard(i, like->sharding());
    }
  }

  // Divides the last axis by its smallest prime factor, and drops it when nothing is left.
  static void Shorten(sharding::AxisList& axes) {
    sharding::AxisPart& last = axes.back();
    int64_t prime = 2;
    while (last.size % prime != 0) ++prime;
    last.size /= prime;
    if (last.size == 1) axes.pop_back();
  }

  // Returns whether the edit works. Only the first kMostTries different edits are tried.
  bool TryReshard(size_t i, const TensorSharding& to) {
    return to != TypeOf(ArrayAt(arrays_[i]))->sharding() && TryReshard(i, sharding::ToSpec(to));
  }
  bool TryReshard(size_t i, const PartitionSpec& spec) {
    const size_t k = arrays_[i];
    if (Has(static_cast<int>(i), spec)) return true;
    const auto tried = [&](const auto& one) { return one.first == i && one.second == spec; };
    if (tried_.size() >= kMostTries || absl::c_any_of(tried_, tried)) return false;
    tried_.emplace_back(i, spec);
    std::optional<Outcome> trial = Try([&](Operands xs) {
      xs[k] = Operand(ReshardTo(xs[k].array(), spec, {"reshard", call_.loc}), xs[k].loc());
      return f_(xs);
    });
    if (trial)
      Offer({.operand = static_cast<int>(i), .spec = spec},
            sharding::ReshardCode(named_.names[k], spec), *trial);
    return trial.has_value();
  }

  // ---- the result ----

  void TryOutShardings() {
    if (!out_) return;
    if (std::optional<Outcome> known = TryAuto(P()))
      for (const PartitionSpec& spec : OutSpecs(known->types)) TryOut(spec);
    TryOut(P());
  }

  void TryOut(const PartitionSpec& spec) {
    const std::optional<PartitionSpec> own = std::exchange(*out_, spec);
    std::optional<Outcome> trial = Try(f_);
    *out_ = own;
    if (!trial || trial->types.empty()) return;
    const PartitionSpec made = SpecOf(*trial);
    if (!Has(-1, made))
      Offer({.operand = -1, .spec = made}, sharding::OutShardingCode(made), *trial);
  }

  // Without the code of the call there is none to write in another way.
  void AddAutoAxes() {
    if (sharding::EditsAreOfJax()) return;
    std::optional<Outcome> known = TryAuto(P());
    if (!known || known->types.empty()) return;
    std::optional<Outcome> best;
    PartitionSpec best_spec;
    const auto consider = [&](const PartitionSpec& spec, std::optional<Outcome> trial) {
      if (!trial || (best && trial->sent.bytes() >= best->sent.bytes())) return;
      best = std::move(trial);
      best_spec = spec;
    };
    for (const PartitionSpec& spec : OutSpecs(known->types)) consider(spec, TryAuto(spec));
    consider(P(), known);
    const bool least =
        absl::c_all_of(fixes_, [&](const Fix& f) { return best->sent.bytes() < f.bytes; });
    if (least)
      Offer({.operand = -1, .spec = best_spec, .auto_axes = true}, AutoCode(best_spec), *best);
  }

  std::optional<Outcome> TryAuto(const PartitionSpec& out) const {
    if (arrays_.empty()) return std::nullopt;
    const detail::Body body = BodyOf(f_);
    return TryBody([&](const std::vector<Array>& given) {
      std::vector<Array> xs = given;
      return CallAutoAxes({xs, body, call_.loc}, {.out_sharding = out});
    });
  }

  std::string AutoCode(const PartitionSpec& out) const {
    std::vector<std::string> given, taken;
    size_t next = 0;
    bool captures = false;  // a value without code
    for (const Argument& a : arguments_) {
      if (!a.operand() && !a.listed()) {
        captures = captures || *a.name() != 0;
        continue;
      }
      const std::string& name = named_.whole[next++];
      if (a.operand() && a.operand()->scalar()) continue;
      taken.push_back("auto " + name);
      given.push_back(name);
    }
    const std::string code = how_.code ? how_.code() : CallCode(call_, arguments_, named_);
    return fmt::format("auto_axes([{}]({}) {{ return {}; }}, {{.out_sharding = {}}})({})",
                       captures ? "&" : "", fmt::join(taken, ", "), code, out.text(),
                       fmt::join(given, ", "));
  }

  // Returns specs for the results. Each takes the axes of some dims of the first array, in order,
  // as far as they divide the results' dims.
  std::vector<PartitionSpec> OutSpecs(const std::vector<const ir::Type*>& types) const {
    if (arrays_.empty() || types.empty()) return {};
    const TensorSharding& own = TypeOf(ArrayAt(arrays_[0]))->sharding();
    const auto rank = base::Size(types[0]->rank());
    const size_t from = own.dims.size();
    for (const ir::Type* type : types)
      if (base::Size(type->rank()) != rank) return {};
    std::vector<bool> kept(from, false);  // at first the last dims
    std::fill(kept.end() - static_cast<long>(std::min(rank, from)), kept.end(), true);
    std::vector<PartitionSpec> specs;
    do {
      TensorSharding out = sharding::Replicated(own.mesh, static_cast<int>(rank));
      size_t to = rank > from ? rank - from : 0;  // new dims lead
      for (size_t d = 0; d < from; ++d)
        if (rank >= from || kept[d]) out.dims[to++].axes = own.dims[d].axes;
      for (const ir::Type* type : types)
        for (size_t d = 0; d < rank; ++d)
          out.dims[d].axes = sharding::PrefixThatDivides(out.dims[d].axes, type->shape()[d]);
      specs.push_back(sharding::ToSpec(out));
    } while (rank < from && absl::c_next_permutation(kept));
    return specs;
  }

  Call call_;
  const Arguments& arguments_;
  OnOperands f_;
  const Rewritten& how_;
  NamedArguments named_;
  std::vector<size_t> arrays_;  // the operands that are not numbers
  std::optional<PartitionSpec>* out_ = nullptr;
  std::vector<Fix> fixes_;
  std::vector<std::pair<size_t, PartitionSpec>> tried_;  // reshards, by array
};

// Whether other shardings could mend a refusal: not one about the mesh or about an invalid spec.
bool CanBeMended(const ErrorDetail& refused) {
  for (const char* check : {".C1", ".C2", ".C10"})
    if (refused.label.ends_with(check)) return false;
  return true;
}

}  // namespace

std::vector<Array> RunAsOne(Call call, const Arguments& arguments, OnOperands f,
                            const Rewritten& how) {
  Operands operands;
  for (const Argument& a : arguments) {
    if (a.operand()) operands.push_back(*a.operand());
    if (a.listed())
      for (const Array& x : *a.listed()) operands.emplace_back(x, call.loc);
  }
  if (inside) return f(operands);
  const Inside scope;
  const auto named = [&](const Error& e) {
    ErrorDetail detail = e.detail();
    // The error of a scope, such as a CommPolicy, is not about this call. Scopes are classes.
    if (detail.op.empty() || !absl::ascii_isupper(static_cast<unsigned char>(detail.op[0])))
      detail.op = call.name;
    return detail;
  };
  const auto shown = [&](ErrorDetail detail) {
    Edits edits(call, arguments, f, how);
    if (!detail.operands.empty() && edits.are_given()) detail.operands = edits.Shown();
    return detail;
  };
  try {
    return f(operands);
  } catch (const ShardingError& e) {
    ErrorDetail detail = named(e);
    Edits edits(call, arguments, f, how);
    if (!edits.are_given() || !CanBeMended(detail)) base::ThrowSharding(shown(std::move(detail)));
    std::vector<Fix> tried = edits.Tried(detail);
    if (arguments.empty())
      std::erase_if(detail.fixes, [](const Fix& fix) { return fix.operand >= 0; });
    else if (!tried.empty() || !edits.Shows(detail))
      detail.fixes = std::move(tried);
    detail.operands = edits.Shown();
    base::ThrowSharding(std::move(detail));
  } catch (const ShapeError& e) {
    base::ThrowShape(shown(named(e)));
  } catch (const DTypeError& e) {
    base::ThrowDType(shown(named(e)));
  } catch (const TraceError& e) {
    base::ThrowTrace(named(e));
  }
}

void ThrowWithCalls(const ShardingError& refused, Around around) {
  ErrorDetail detail = refused.detail();
  for (Fix& fix : detail.fixes) {
    if (!fix.text.starts_with(".out_sharding = ")) continue;
    const auto [before, behind] = around(detail);
    const size_t end = fix.text.find("   ");
    fix.text = before + fix.text.substr(0, end) + behind + fix.text.substr(end);
  }
  base::ThrowSharding(std::move(detail));
}

}  // namespace tessera::api
