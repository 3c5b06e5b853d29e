// Products: NumPy's functions and einsum over dot_general.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>

#include "api/operands.h"
#include "base/defaults.h"
#include "ops/params.h"
#include "sharding/explicit_rule.h"

namespace tessera {
namespace {

using api::Call;

const ir::Shape& ShapeOf(const Array& x) { return api::TypeOf(x)->shape(); }
int64_t Rank(const Array& x) { return api::TypeOf(x)->rank(); }

// Products of bools are taken in i32, and come back as bool where nothing else is asked for.
Array Dot(Array a, Array b, const DotDims& dims, const DotOptions& options, Call call) {
  DType da = api::TypeOf(a)->dtype(), db = api::TypeOf(b)->dtype();
  DType t = options.dtype.is_default() && da != db ? promote_types(da, db) : options.dtype;
  if (t.is_default() && da.is_bool()) t = bool_;
  if (DType product = promote_types(da, db);
      product.is_integer() && !t.is_default() && (t.is_bool() || t.size() < product.size()))
    api::FailDType(call, 19,
                   fmt::format("products of {} cannot be summed in {}, which is narrower",
                               product.name(), t.name()),
                   {"convert the sum instead"});
  if (da.is_bool()) a = api::Convert(a, db.is_bool() ? i32 : db, call);
  if (db.is_bool()) b = api::Convert(b, da.is_bool() ? i32 : da, call);
  ir::ShapeAndDType wanted{{}, t};
  // Sums are at least as wide as the products; a narrower result is converted.
  bool narrower = !t.is_default() &&
                  (t.is_bool() || (api::TypeOf(a)->dtype().is_floating() && !t.is_floating()));
  if (narrower && options.out_sharding && !options.out_sharding->unreduced_axes().empty())
    api::FailSharding(call, sharding::Conflict::kUnreduced,
                      fmt::format("the sum becomes {}, and converting its parts does not give the "
                                  "parts of the result: it cannot stay unreduced",
                                  t.name()),
                      {"leave .unreduced(...) out, or ask for a dtype that holds the sum"});
  int rank = static_cast<int>(Rank(a) + Rank(b)) - 2 * static_cast<int>(dims.lhs_contract.size()) -
             static_cast<int>(dims.lhs_batch.size());
  ops::DotParams p{{dims.lhs_contract, dims.rhs_contract}, {dims.lhs_batch, dims.rhs_batch}};
  Array y = api::Run(ops::kDotGeneral, ir::MakeParams(std::move(p)), {a, b}, call,
                     {.wanted = t.is_default() || narrower ? nullptr : &wanted,
                      .out_sharding = options.out_sharding,
                      .rank = std::max(rank, 0)});
  return narrower ? api::Convert(y, t, call) : y;
}

std::vector<Array> TwoOperands(const Operand& a, const Operand& b, Call call) {
  DType t = api::PromotedDType({a, b}, call);
  auto convert = [&](const Operand& x) {
    return x.scalar() ? api::ScalarOf(*x.scalar(), t, false, call)
                      : api::Convert(api::ToArray(x, call), t, call);
  };
  return {convert(a), convert(b)};
}

// The entries of a spec in the order in which dot_general gives the dims.
std::optional<PartitionSpec> Permuted(const std::optional<PartitionSpec>& spec,
                                      const std::vector<int64_t>& order) {
  if (!spec) return spec;
  std::vector<DimSharding> dims(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    if (static_cast<size_t>(order[d]) < spec->dims().size())
      dims[d] = spec->dims()[static_cast<size_t>(order[d])];
  for (size_t d = order.size(); d < spec->dims().size(); ++d) dims.push_back(spec->dims()[d]);
  PartitionSpec out(std::move(dims));
  if (!spec->unreduced_axes().empty())
    out = out.unreduced(spec->unreduced_axes(), spec->reduction());
  if (!spec->reduced_axes().empty()) out = out.reduced(spec->reduced_axes());
  return out;
}

std::vector<int64_t> Inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t d = 0; d < perm.size(); ++d)
    inverse[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
  return inverse;
}

bool IsIota(const std::vector<int64_t>& v) {
  for (size_t i = 0; i < v.size(); ++i)
    if (v[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// The batch dims of a matmul, aligned at the right; one that is 1 on one side is dropped there.
struct BatchDims {
  int64_t count = 0;
  std::vector<std::pair<int64_t, int64_t>> shared;  // dims of x and y
  std::vector<int64_t> from_both, from_x, from_y;   // dims of the result
  std::vector<int64_t> drop_x, drop_y;
};

BatchDims AlignBatch(const Array& x, const Array& y, int64_t bx, int64_t by, Call call) {
  BatchDims out;
  out.count = std::max(bx, by);
  for (int64_t d = 0; d < out.count; ++d) {
    int64_t dx = d - (out.count - bx), dy = d - (out.count - by);
    int64_t nx = dx >= 0 ? ShapeOf(x)[static_cast<size_t>(dx)] : 0,
            ny = dy >= 0 ? ShapeOf(y)[static_cast<size_t>(dy)] : 0;
    if (dx >= 0 && dy >= 0 && nx == ny) {
      out.shared.emplace_back(dx, dy);
      out.from_both.push_back(d);
    } else if (dx >= 0 && (dy < 0 || ny == 1)) {
      out.from_x.push_back(d);
      if (dy >= 0) out.drop_y.push_back(dy);
    } else if (dy >= 0 && (dx < 0 || nx == 1)) {
      out.from_y.push_back(d);
      if (dx >= 0) out.drop_x.push_back(dx);
    } else {
      api::FailShape(call, 16,
                     fmt::format("batch dims of {} and {} do not match", api::TypeOf(x)->text(),
                                 api::TypeOf(y)->text()));
    }
  }
  return out;
}

// Reshapes dims of size 1 away, and renumbers those that `contract` and `batch` name.
void DropDims(Array& m, const std::vector<int64_t>& gone, std::vector<int64_t>& contract,
              std::vector<int64_t>& batch, Call call) {
  if (gone.empty()) return;
  ir::Shape shape;
  for (int64_t d = 0; d < Rank(m); ++d)
    if (!std::count(gone.begin(), gone.end(), d))
      shape.push_back(ShapeOf(m)[static_cast<size_t>(d)]);
  auto shift = [&](int64_t& d) {
    d -= std::count_if(gone.begin(), gone.end(), [&](int64_t g) { return g < d; });
  };
  for (int64_t& d : contract) shift(d);
  for (int64_t& d : batch) shift(d);
  m = api::Reshape(m, shape, call);
}

}  // namespace

Array dot_general(Operand a, Operand b, DotDims dims, DotOptions options, Loc loc) {
  Call call{"dot_general", loc};
  Array x = api::ToArray(a, call), y = api::ToArray(b, call);
  auto normal = [&](std::vector<int64_t>& list, const Array& of) {
    for (int64_t& d : list) d = api::NormalDim(d, Rank(of), call);
  };
  normal(dims.lhs_contract, x);
  normal(dims.lhs_batch, x);
  normal(dims.rhs_contract, y);
  normal(dims.rhs_batch, y);
  return Dot(x, y, dims, options, call);
}

Array matmul(Operand a, Operand b, DotOptions options, Loc loc) {
  Call call{"matmul", loc};
  std::vector<Array> xs = TwoOperands(a, b, call);
  Array &x = xs[0], &y = xs[1];
  if (Rank(x) == 0 || Rank(y) == 0)
    api::FailShape(call, 17, "a scalar is not a matrix: write a * b");
  bool vector_x = Rank(x) == 1, vector_y = Rank(y) == 1;
  int64_t kx = Rank(x) - 1, ky = vector_y ? 0 : Rank(y) - 2;
  if (ShapeOf(x)[static_cast<size_t>(kx)] != ShapeOf(y)[static_cast<size_t>(ky)])
    api::FailShape(
        call, 18,
        fmt::format("{} and {} cannot be multiplied: the inner sizes {} and {} differ",
                    api::TypeOf(x)->text(), api::TypeOf(y)->text(),
                    ShapeOf(x)[static_cast<size_t>(kx)], ShapeOf(y)[static_cast<size_t>(ky)]));
  DotDims dims{{kx}, {ky}, {}, {}};
  BatchDims batch = AlignBatch(x, y, vector_x ? 0 : Rank(x) - 2, vector_y ? 0 : Rank(y) - 2, call);
  for (auto [dx, dy] : batch.shared) {
    dims.lhs_batch.push_back(dx);
    dims.rhs_batch.push_back(dy);
  }
  DropDims(x, batch.drop_x, dims.lhs_contract, dims.lhs_batch, call);
  DropDims(y, batch.drop_y, dims.rhs_contract, dims.rhs_batch, call);
  // dot_general gives [both..., x only..., m, y only..., n]; matmul wants [batch..., m, n].
  std::vector<int64_t> order = batch.from_both;
  order.insert(order.end(), batch.from_x.begin(), batch.from_x.end());
  if (!vector_x) order.push_back(batch.count);
  order.insert(order.end(), batch.from_y.begin(), batch.from_y.end());
  if (!vector_y) order.push_back(batch.count + (vector_x ? 0 : 1));
  options.out_sharding = Permuted(options.out_sharding, order);
  Array z = Dot(x, y, dims, options, call);
  return IsIota(order) ? z : transpose(z, Inverse(order), loc);
}

Array dot(Operand a, Operand b, DotOptions options, Loc loc) {
  Call call{"dot", loc};
  std::vector<Array> xs = TwoOperands(a, b, call);
  if (Rank(xs[0]) == 0 || Rank(xs[1]) == 0) return Dot(xs[0], xs[1], {}, options, call);
  int64_t ky = std::max<int64_t>(Rank(xs[1]) - 2, 0);
  return Dot(xs[0], xs[1], {.lhs_contract = {Rank(xs[0]) - 1}, .rhs_contract = {ky}}, options,
             call);
}

Array tensordot(Operand a, Operand b, DotDims dims, DotOptions options, Loc loc) {
  Call call{"tensordot", loc};
  std::vector<Array> xs = TwoOperands(a, b, call);
  return dot_general(xs[0], xs[1], std::move(dims), std::move(options), loc);
}

Array tensordot(Operand a, Operand b, int dims, DotOptions options, Loc loc) {
  Call call{"tensordot", loc};
  std::vector<Array> xs = TwoOperands(a, b, call);
  if (dims < 0 || dims > Rank(xs[0]) || dims > Rank(xs[1]))
    api::FailShape(call, 12, fmt::format("{} dims cannot be contracted", dims));
  DotDims d;
  for (int64_t k = 0; k < dims; ++k) {
    d.lhs_contract.push_back(Rank(xs[0]) - dims + k);
    d.rhs_contract.push_back(k);
  }
  return Dot(xs[0], xs[1], d, options, call);
}

// ---- einsum ----

namespace {

using Letters = std::string;

struct Term {
  Array x;
  Letters letters;  // one per dim
};

class Einsum {
 public:
  Einsum(std::string_view subscripts, std::vector<Array> operands, DotOptions options, Call call)
      : options_(std::move(options)), call_(call) {
    Parse(subscripts, operands);
    DType t = options_.dtype;
    if (t.is_default()) t = api::PromotedDType(api::OperandsAt(operands, call.loc), call);
    for (Term& term : terms_) term.x = api::Convert(term.x, t, call);
  }

  Array Run() {
    // As of a whole program: the last step gives the dims, a reshard what is unreduced.
    if (terms_.size() > 2 && options_.out_sharding) {
      for (Term& term : terms_) term.x = WithWholeDiagonals(term);
      PartitionSpec whole = *options_.out_sharding;
      options_.out_sharding = PartitionSpec(whole.dims());
      Array y = RunSteps();
      return whole == PartitionSpec(whole.dims()) ? y : reshard(y, whole, call_.loc);
    }
    return RunSteps();
  }

 private:
  // The operand without what is unreduced or reduced, and dims that share a letter unsharded.
  Array WithWholeDiagonals(const Term& term) {
    Array x = api::Plain(term.x, call_);
    sharding::TensorSharding s = api::TypeOf(x)->sharding();
    for (size_t d = 0; d < s.dims.size(); ++d)
      if (std::count(term.letters.begin(), term.letters.end(), term.letters[d]) > 1)
        s.dims[d].axes.clear();
    return s == api::TypeOf(x)->sharding() ? x : api::Moved(x, std::move(s), call_);
  }

  Array RunSteps() {
    for (Term& term : terms_) TakeDiagonals(term);
    // Letters that are of one operand alone and not of the result are summed at once.
    for (auto [i, j] : Order()) Contract(i, j, terms_.size() == 2);
    return Finish(terms_[0]);
  }

  using Steps = std::vector<std::pair<size_t, size_t>>;
  struct Best {
    double cost = std::numeric_limits<double>::infinity();
    Steps steps;
  };

  // The products that take the fewest operations, all orders tried; of many operands from the left.
  // A product goes to the end. Of equals the first wins, as in opt_einsum.
  Steps Order() const {
    std::vector<Letters> letters;
    for (const Term& term : terms_) letters.push_back(term.letters);
    Best best;
    if (letters.size() > 6) {
      best.steps.assign(letters.size() - 1, {0, 1});
      return best.steps;
    }
    Steps steps;
    Search(letters, 0, steps, best);
    return best.steps;
  }

  void Search(const std::vector<Letters>& terms, double cost, Steps& steps, Best& best) const {
    if (terms.size() < 2) {
      best = {cost, steps};
      return;
    }
    for (size_t i = 0; i < terms.size(); ++i)
      for (size_t j = i + 1; j < terms.size(); ++j) {
        std::vector<Letters> next;
        for (size_t k = 0; k < terms.size(); ++k)
          if (k != i && k != j) next.push_back(terms[k]);
        Letters kept;
        double size = 1;
        bool sums = false;
        for (char c : Union(terms[i], terms[j])) {
          bool used = result_.find(c) != std::string::npos;
          for (const Letters& other : next) used = used || other.find(c) != std::string::npos;
          if (used) kept += c;
          sums = sums || !used;
          size *= static_cast<double>(std::max<int64_t>(sizes_.at(c), 1));
        }
        double total = cost + size * (sums ? 2 : 1);
        if (total >= best.cost) continue;
        next.push_back(kept);
        steps.emplace_back(i, j);
        Search(next, total, steps, best);
        steps.pop_back();
      }
  }

  static Letters Union(const Letters& a, const Letters& b) {
    Letters all = a;
    for (char c : b)
      if (a.find(c) == std::string::npos) all += c;
    return all;
  }

  [[noreturn]] void Fail(const std::string& reason) { api::FailShape(call_, 17, reason); }

  void Parse(std::string_view text, const std::vector<Array>& operands) {
    std::string spec;
    for (char c : text)
      if (c != ' ') spec += c;
    size_t arrow = spec.find("->");
    std::vector<Letters> inputs(1);
    for (char c : spec.substr(0, arrow)) {
      if (c == ',')
        inputs.emplace_back();
      else
        inputs.back() += c;
    }
    if (inputs.size() != operands.size())
      Fail(fmt::format("\"{}\" names {} operands, but {} are given", text, inputs.size(),
                       operands.size()));
    for (size_t i = 0; i < operands.size(); ++i) {
      trace::Use(operands[i], call_.name, call_.loc);
      terms_.push_back({operands[i], WithoutEllipsis(inputs[i], Rank(operands[i]))});
      CheckSizes(terms_.back());
    }
    if (arrow != std::string::npos)
      result_ = WithoutEllipsis(spec.substr(arrow + 2), -1);
    else
      result_ = Implied();
    for (char c : result_) {
      if (!sizes_.count(c)) Fail(fmt::format("the result has '{}', which no operand has", c));
      if (std::count(result_.begin(), result_.end(), c) > 1)
        Fail(fmt::format("the result has '{}' twice", c));
    }
  }

  // "..." stands for leading batch dims; they get letters that cannot be written.
  Letters WithoutEllipsis(const Letters& letters, int64_t rank) {
    size_t dots = letters.find("...");
    Letters out = letters;
    if (dots != std::string::npos) {
      int64_t n = rank < 0 ? ellipsis_ : rank - static_cast<int64_t>(letters.size()) + 3;
      if (n < 0) Fail(fmt::format("\"{}\" has more letters than the operand has dims", letters));
      if (rank >= 0) ellipsis_ = std::max(ellipsis_, n);
      Letters batch;
      for (int64_t k = 0; k < n; ++k) batch += static_cast<char>(1 + (n - 1 - k));
      out.replace(dots, 3, batch);
    }
    for (char c : out)
      if (!std::isalpha(static_cast<unsigned char>(c)) && c > 26)
        Fail(fmt::format("'{}' is not a letter", c));
    if (rank >= 0 && static_cast<int64_t>(out.size()) != rank)
      Fail(fmt::format("\"{}\" has {} letters for an operand of rank {}", letters, out.size(),
                       rank));
    return out;
  }

  void CheckSizes(const Term& term) {
    for (size_t d = 0; d < term.letters.size(); ++d) {
      int64_t n = ShapeOf(term.x)[d];
      int64_t& size = sizes_.try_emplace(term.letters[d], n).first->second;
      if (size == 1) size = n;
      if (n != size && n != 1)
        Fail(fmt::format("dims named '{}' have different sizes, {} and {}", term.letters[d], size,
                         n));
    }
  }

  // Without "->": batch dims, then the letters that appear once, in order.
  Letters Implied() {
    Letters all, out;
    for (const Term& t : terms_) all += t.letters;
    std::sort(all.begin(), all.end());
    for (int64_t k = ellipsis_; k > 0; --k) out += static_cast<char>(k);
    for (char c : all)
      if (c > 26 && std::count(all.begin(), all.end(), c) == 1) out += c;
    return out;
  }

  // A letter twice in one operand: the diagonal, as a masked sum.
  void TakeDiagonals(Term& term) {
    for (size_t d = 0; d < term.letters.size(); ++d) {
      size_t e = term.letters.find(term.letters[d], d + 1);
      if (e == std::string::npos) continue;
      const sharding::TensorSharding& own = api::TypeOf(term.x)->sharding();
      if (!own.dims[d].axes.empty() || !own.dims[e].axes.empty())
        api::FailSharding(
            call_, sharding::Conflict::kWhole,
            fmt::format("the diagonal of dims {} and {} is taken, of which one is sharded: {}", d,
                        e, api::TypeOf(term.x)->text()),
            {"reshard it first"});
      const ir::Shape shape = ShapeOf(term.x);
      auto index = [&](size_t dim) {
        ir::ShapeAndDType counting{shape, i32};
        trace::Application a{.op = ops::kIota,
                             .params = ir::MakeParams(ops::IotaParams{{static_cast<int64_t>(dim)}}),
                             .operands = {},
                             .wanted = &counting,
                             .loc = call_.loc,
                             .shown_as = call_.name};
        sharding::TensorSharding s = api::TypeOf(term.x)->sharding();
        s.unreduced.clear();
        s.reduced.clear();
        if (s.mesh) a.out_sharding = &s;
        return trace::Apply(a)[0];
      };
      Array zero = zeros_like(term.x, {}, call_.loc);
      Array on = where(eq(index(d), index(e), {}, call_.loc), term.x, zero, {}, call_.loc);
      term.x = Sum(on, {static_cast<int64_t>(e)}, {});
      term.letters.erase(e, 1);
      --d;
    }
  }

  bool InOthers(char c, size_t skip_a, size_t skip_b) const {
    if (result_.find(c) != std::string::npos) return true;
    for (size_t i = 0; i < terms_.size(); ++i)
      if (i != skip_a && i != skip_b && terms_[i].letters.find(c) != std::string::npos) return true;
    return false;
  }

  // The sum of bools is whether any of them is true.
  Array Sum(const Array& x, const std::vector<int64_t>& dims, OutOptions options) {
    if (api::TypeOf(x)->dtype().is_bool())
      return any(x, dims, {.out_sharding = options.out_sharding}, call_.loc);
    return reduce_sum(x, dims, std::move(options), call_.loc);
  }

  void SumAway(Term& term, const Letters& letters) {
    if (letters.empty()) return;
    std::vector<int64_t> dims;
    Letters kept;
    for (size_t d = 0; d < term.letters.size(); ++d) {
      if (letters.find(term.letters[d]) == std::string::npos)
        kept += term.letters[d];
      else
        dims.push_back(static_cast<int64_t>(d));
    }
    term.x = Sum(term.x, dims, {});
    term.letters = kept;
  }

  // Drops dims of size 1 that the other operand has larger.
  void DropOnes(Term& term, const Term& other) {
    ir::Shape shape;
    Letters kept;
    for (size_t d = 0; d < term.letters.size(); ++d) {
      char c = term.letters[d];
      size_t at = other.letters.find(c);
      if (ShapeOf(term.x)[d] == 1 && at != std::string::npos && ShapeOf(other.x)[at] != 1) continue;
      shape.push_back(ShapeOf(term.x)[d]);
      kept += c;
    }
    term.x = api::Reshape(term.x, shape, call_);
    term.letters = kept;
  }

  // The sharding of an intermediate product where the user only said that of the result: each
  // letter as the first operand that shards it has it, each axis once. Nothing is ambiguous then.
  PartitionSpec Joined(const Term& a, const Term& b, const Letters& letters) const {
    std::vector<DimSharding> dims;
    std::vector<std::string> used;
    for (char c : letters) {
      DimSharding dim;
      for (const Term* t : {&a, &b}) {
        size_t d = t->letters.find(c);
        if (d == std::string::npos || !dim.axes().empty()) continue;
        DimSharding own = sharding::ToSpec(api::TypeOf(t->x)->sharding()).dims()[d];
        bool free = std::none_of(own.axes().begin(), own.axes().end(), [&](const AxisRef& r) {
          return std::count(used.begin(), used.end(), r.name) > 0;
        });
        if (free) dim = own;
      }
      for (const AxisRef& r : dim.axes()) used.push_back(r.name);
      dims.push_back(std::move(dim));
    }
    return PartitionSpec(std::move(dims));
  }

  // Multiplies two terms. The last product takes the out_sharding.
  void Contract(size_t i, size_t j, bool last) {
    Term a = terms_[i], b = terms_[j];
    DropOnes(a, b);
    DropOnes(b, a);
    for (Term* t : {&a, &b}) {
      const Term& other = t == &a ? b : a;
      Letters alone;
      for (char c : t->letters)
        if (other.letters.find(c) == std::string::npos && !InOthers(c, i, j)) alone += c;
      SumAway(*t, alone);
    }
    DotDims dims;
    Letters batch, free_a, free_b;
    for (size_t d = 0; d < a.letters.size(); ++d) {
      size_t e = b.letters.find(a.letters[d]);
      if (e == std::string::npos) {
        free_a += a.letters[d];
      } else if (InOthers(a.letters[d], i, j)) {
        batch += a.letters[d];
        dims.lhs_batch.push_back(static_cast<int64_t>(d));
        dims.rhs_batch.push_back(static_cast<int64_t>(e));
      } else {
        dims.lhs_contract.push_back(static_cast<int64_t>(d));
        dims.rhs_contract.push_back(static_cast<int64_t>(e));
      }
    }
    for (char c : b.letters)
      if (a.letters.find(c) == std::string::npos) free_b += c;
    Term product{{}, batch + free_a + free_b};
    DotOptions options;
    if (!last && options_.out_sharding) options.out_sharding = Joined(a, b, product.letters);
    if (last && options_.out_sharding) {
      std::vector<int64_t> order;
      for (char c : product.letters) order.push_back(static_cast<int64_t>(result_.find(c)));
      options.out_sharding = Permuted(options_.out_sharding, order);
      options_.out_sharding.reset();
    }
    product.x = Dot(a.x, b.x, dims, options, call_);
    terms_.erase(terms_.begin() + static_cast<long>(j));
    terms_.erase(terms_.begin() + static_cast<long>(i));
    terms_.push_back(std::move(product));
  }

  Array Finish(Term term) {
    Letters gone;
    for (char c : term.letters)
      if (result_.find(c) == std::string::npos) gone += c;
    std::vector<int64_t> perm;
    if (!gone.empty()) {
      std::vector<int64_t> dims;
      Letters kept;
      for (size_t d = 0; d < term.letters.size(); ++d) {
        if (gone.find(term.letters[d]) == std::string::npos)
          kept += term.letters[d];
        else
          dims.push_back(static_cast<int64_t>(d));
      }
      std::vector<int64_t> order;
      for (char c : kept) order.push_back(static_cast<int64_t>(result_.find(c)));
      term.x = Sum(term.x, dims, {.out_sharding = Permuted(options_.out_sharding, order)});
      options_.out_sharding.reset();
      term.letters = kept;
    }
    for (char c : result_) perm.push_back(static_cast<int64_t>(term.letters.find(c)));
    Array y = IsIota(perm) ? term.x : transpose(term.x, perm, call_.loc);
    return options_.out_sharding ? reshard(y, *options_.out_sharding, call_.loc) : y;
  }

  DotOptions options_;
  Call call_;
  std::vector<Term> terms_;
  Letters result_;
  std::map<char, int64_t> sizes_;
  int64_t ellipsis_ = 0;
};

}  // namespace

Array einsum(std::string_view subscripts, std::vector<Array> operands, DotOptions options,
             Loc loc) {
  Call call{"einsum", loc};
  if (operands.empty()) api::FailShape(call, 17, "there are no operands");
  return Einsum(subscripts, std::move(operands), std::move(options), call).Run();
}

}  // namespace tessera
