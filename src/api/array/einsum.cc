// einsum: the subscripts, the order of the products, and the steps.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>

#include "api/array/products.h"
#include "api/core/edits.h"
#include "ops/params.h"
#include "sharding/explicit_rule.h"
#include "trace/apply.h"

namespace tessera {

using namespace api;

namespace {

using Letters = std::string;

// Parsed subscripts: one letter per dim for each operand and for the result.
struct Subscripts {
  std::vector<Letters> operands;
  Letters result;
  std::map<char, int64_t> sizes;
};

// Reads "ij,jk->ik" for operands of these shapes.
class Parser {
 public:
  Parser(std::string_view text, const std::vector<base::Shape>& shapes, Call call)
      : shapes_(shapes), call_(call) {
    std::string spec;
    for (char c : text)
      if (c != ' ') spec += c;
    const size_t arrow = spec.find("->");
    ReadOperands(spec.substr(0, arrow), text);
    out_.result =
        arrow == std::string::npos ? Implied() : WithoutEllipsis(spec.substr(arrow + 2), -1);
    CheckResult();
  }
  Subscripts Take() { return std::move(out_); }

 private:
  [[noreturn]] void Fail(const std::string& reason) { FailShape(call_, 17, reason); }

  void ReadOperands(const std::string& spec, std::string_view text) {
    std::vector<Letters> inputs(1);
    for (char c : spec) {
      if (c == ',')
        inputs.emplace_back();
      else
        inputs.back() += c;
    }
    if (inputs.size() != shapes_.size())
      Fail(fmt::format("\"{}\" is for {} operands, not {}", text, inputs.size(), shapes_.size()));
    for (size_t i = 0; i < shapes_.size(); ++i) {
      out_.operands.push_back(WithoutEllipsis(inputs[i], static_cast<int64_t>(shapes_[i].size())));
      CheckSizes(out_.operands[i], shapes_[i]);
    }
  }

  void CheckResult() {
    for (char c : out_.result) {
      if (!out_.sizes.count(c)) Fail(fmt::format("the result has '{}', which no operand has", c));
      if (absl::c_count(out_.result, c) > 1) Fail(fmt::format("the result has '{}' twice", c));
    }
  }

  // Replaces "..." by letters for batch dims. These are characters 1 to 26, which no subscript has.
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

  void CheckSizes(const Letters& letters, const base::Shape& shape) {
    for (size_t d = 0; d < letters.size(); ++d) {
      const int64_t n = shape[d];
      int64_t& size = out_.sizes.try_emplace(letters[d], n).first->second;
      if (size == 1) size = n;
      if (n != size && n != 1)
        Fail(fmt::format("dims named '{}' have different sizes, {} and {}", letters[d], size, n));
    }
  }

  // Returns the result of subscripts without "->": batch dims, then the letters that appear once,
  // sorted.
  Letters Implied() {
    Letters all, out;
    for (const Letters& letters : out_.operands) all += letters;
    absl::c_sort(all);
    for (int64_t k = ellipsis_; k > 0; --k) out += static_cast<char>(k);
    for (char c : all)
      if (c > 26 && absl::c_count(all, c) == 1) out += c;
    return out;
  }

  const std::vector<base::Shape>& shapes_;
  Call call_;
  Subscripts out_;
  int64_t ellipsis_ = 0;  // number of dims of "..."
};

struct Term {
  Array x;
  Letters letters;  // one per dim
};

class Einsum {
 public:
  Einsum(std::string_view subscripts, std::vector<Array> operands, DotOptions options, Call call)
      : options_(std::move(options)), call_(call) {
    std::vector<base::Shape> shapes;
    shapes.reserve(operands.size());
    for (const Array& x : operands)
      shapes.push_back(trace::Use(x, call.name, call.loc)->type()->shape());
    Subscripts parsed = Parser(subscripts, shapes, call).Take();
    for (size_t i = 0; i < operands.size(); ++i)
      terms_.push_back({operands[i], parsed.operands[i]});
    result_ = std::move(parsed.result);
    sizes_ = std::move(parsed.sizes);
    DType t = options_.dtype;
    if (t.is_default()) t = PromotedDType(OperandsAt(operands, call.loc), call);
    for (Term& term : terms_) term.x = Convert(term.x, t, call);
  }

  Array Compute() {
    // With several products, the last one takes the dims of the out_sharding. A reshard then adds
    // its unreduced and reduced axes.
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
  // Returns the operand without unreduced and reduced axes. Dims that share a letter are unsharded.
  Array WithWholeDiagonals(const Term& term) {
    Array x = Plain(term.x, call_);
    sharding::TensorSharding s = TypeOf(x)->sharding();
    for (size_t d = 0; d < s.dims.size(); ++d)
      if (absl::c_count(term.letters, term.letters[d]) > 1) s.dims[d].axes.clear();
    return s == TypeOf(x)->sharding() ? x : Moved(x, std::move(s), call_);
  }

  Array RunSteps() {
    for (Term& term : terms_) TakeDiagonals(term);
    // Contract first sums letters that are in one operand only and not in the result.
    for (auto [i, j] : Order()) Contract(i, j, terms_.size() == 2);
    return Finish(terms_[0]);
  }

  using Steps = std::vector<std::pair<size_t, size_t>>;
  struct Best {
    double cost = std::numeric_limits<double>::infinity();
    Steps steps;
  };

  // Returns the products with the fewest operations. Tries all orders for up to six operands; more
  // operands are multiplied from the left. Each product is appended to the terms. The first of
  // several equally good orders wins, as in opt_einsum.
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

  // Replaces two dims with the same letter by their diagonal, as a masked sum.
  void TakeDiagonals(Term& term) {
    for (size_t d = 0; d < term.letters.size(); ++d) {
      size_t e = term.letters.find(term.letters[d], d + 1);
      if (e == std::string::npos) continue;
      const sharding::TensorSharding& own = TypeOf(term.x)->sharding();
      if (!own.dims[d].axes.empty() || !own.dims[e].axes.empty())
        FailSharding(
            call_, sharding::Conflict::kWhole,
            fmt::format("the diagonal runs over dims {} and {}, one of which is sharded: {}", d, e,
                        TypeOf(term.x)->text()));
      const base::Shape shape = ShapeOf(term.x);
      auto index = [&](size_t dim) {
        ir::ShapeAndDType counting{shape, i32};
        trace::Application a{.op = ops::kIota,
                             .params = ir::MakeParams(ops::IotaParams{{static_cast<int64_t>(dim)}}),
                             .operands = {},
                             .wanted = &counting,
                             .loc = call_.loc,
                             .shown_as = call_.name};
        sharding::TensorSharding s = TypeOf(term.x)->sharding();
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

  // Sums over the dims. The sum of bools is true if any of them is.
  Array Sum(const Array& x, const std::vector<int64_t>& dims, OutOptions options) {
    if (TypeOf(x)->dtype().is_bool())
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

  // Drops dims of size 1 whose letter has a larger size in the other operand.
  void DropOnes(Term& term, const Term& other) {
    base::Shape shape;
    Letters kept;
    for (size_t d = 0; d < term.letters.size(); ++d) {
      char c = term.letters[d];
      size_t at = other.letters.find(c);
      if (ShapeOf(term.x)[d] == 1 && at != std::string::npos && ShapeOf(other.x)[at] != 1) continue;
      shape.push_back(ShapeOf(term.x)[d]);
      kept += c;
    }
    term.x = Reshape(term.x, shape, call_);
    term.letters = kept;
  }

  // Returns the sharding of an intermediate product, for which the user gave none. Each letter
  // takes the axes of the first operand that shards it, unless an earlier letter has one of them.
  PartitionSpec Joined(const Term& a, const Term& b, const Letters& letters) const {
    std::vector<DimSharding> dims;
    std::vector<std::string> used;
    for (char c : letters) {
      DimSharding dim;
      for (const Term* t : {&a, &b}) {
        size_t d = t->letters.find(c);
        if (d == std::string::npos || !dim.axes().empty()) continue;
        DimSharding own = sharding::ToSpec(TypeOf(t->x)->sharding()).dims()[d];
        bool free = absl::c_none_of(
            own.axes(), [&](const AxisRef& r) { return absl::c_count(used, r.name) > 0; });
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
};

}  // namespace

Array einsum(std::string_view subscripts, std::vector<Array> operands, DotOptions options,
             Loc loc) {
  Call call{"einsum", loc};
  if (operands.empty()) FailShape(call, 17, "there are no operands");
  return AsOne(call, {subscripts, operands, options}, [&](std::vector<Array> xs) {
    return Einsum(subscripts, std::move(xs), options, call).Compute();
  });
}

}  // namespace tessera
