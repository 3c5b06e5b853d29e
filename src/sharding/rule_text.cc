// Reads rules in Shardy's form, and checks rules against shapes.
#include "sharding/rule_text.h"

#include <fmt/format.h>

#include <charconv>

#include "base/reader.h"

namespace tessera::sharding {
namespace {

// Reads Shardy's form.
class RuleReader {
 public:
  RuleReader(std::string_view text, Loc loc) : in_(text, "sharding rule", loc) {}

  DimMap Read() {
    bool wrapped = in_.Accept("#sdy.op_sharding_rule");
    if (wrapped) in_.Expect("<");
    ReadTensors(map_.operands);
    in_.Expect("->");
    ReadTensors(map_.results);
    ReadSizes();
    CheckFactors();
    ReadKinds("reduction", FactorKind::kReduce);
    ReadKinds("need_replication", FactorKind::kReplicate);
    ReadKinds("permutation", FactorKind::kPermute);
    ReadSet("blocked_propagation", [&](int32_t f) { factor(f).blocked = true; });
    if (in_.Accept(",")) {
      in_.Expect("custom");
      map_.traits.custom = true;
    }
    if (wrapped) in_.Expect(">");
    in_.ExpectEnd();
    return std::move(map_);
  }

 private:
  Factor& factor(int32_t f) { return map_.factors[f]; }

  // Fails at an earlier position.
  [[noreturn]] void FailAt(size_t at, std::string reason) {
    in_.set_position(at);
    in_.Fail(std::move(reason));
  }

  // Takes the first symbol off `word`, which ends at the current position.
  int32_t TakeSymbol(std::string_view& word) {
    size_t at = in_.position() - word.size();
    char letter = word[0];
    if (letter < 'i' || letter > 'z')
      FailAt(at, fmt::format("expected a symbol from 'i' to 'z' but found '{}'", word));
    word.remove_prefix(1);
    if (letter != 'z' || !word.starts_with('_')) return letter - 'i';
    word.remove_prefix(1);
    int32_t n = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (error == std::errc::result_out_of_range || n > kMostFactors)
      FailAt(at, fmt::format("expected a symbol index of at most {} but found '{}'", kMostFactors,
                             word));
    if (error != std::errc() || word[0] == '-')
      FailAt(at, fmt::format("expected an integer after 'z_' but found '{}'", word));
    if (word[0] == '0')
      FailAt(at,
             fmt::format("expected a positive integer without leading zeros but found '{}'", word));
    word.remove_prefix(end - word.data());
    return 17 + n;
  }

  int32_t ReadSymbol() {
    std::string symbol = in_.Word();
    std::string_view word = symbol;
    int32_t f = TakeSymbol(word);
    if (!word.empty())
      FailAt(in_.position() - symbol.size(),
             fmt::format("expected a single factor symbol but found '{}'", symbol));
    return f;
  }

  FactorList ReadDim() {
    if (in_.Accept("1")) return {};
    std::string symbols = in_.AcceptWord();
    if (symbols.empty()) in_.Fail("dim mapping must have at least one factor");
    FactorList dim;
    for (std::string_view word = symbols; !word.empty();) dim.push_back(TakeSymbol(word));
    return dim;
  }

  void ReadTensors(std::vector<DimFactors>& tensors) {
    in_.List("(", ")", [&] {
      DimFactors dims;
      in_.List("[", "]", [&] { dims.push_back(ReadDim()); });
      places_.push_back(in_.position());
      tensors.push_back(std::move(dims));
    });
    if (&tensors == &map_.operands && tensors.empty())
      in_.Fail("a rule needs at least one operand and one result");
  }

  void ReadSizes() {
    if (!in_.Peek("{")) return;
    in_.List("{", "}", [&] {
      size_t at = in_.position();
      int32_t f = ReadSymbol();
      if (f != static_cast<int32_t>(map_.factors.size()))
        FailAt(at, "expected the factors in their order: {i=#, j=#, ...}");
      in_.Expect("=");
      int64_t size = in_.Integer();
      if (size < 0) in_.Fail("expected a size of 0 or more");
      map_.AddFactor({.size = size});
    });
  }

  // Makes the checks of Shardy's verifier on the mappings.
  void CheckFactors() {
    auto count = static_cast<int32_t>(map_.factors.size());
    std::vector<bool> used(map_.factors.size());
    size_t tensor = 0;
    auto check = [&](const DimFactors& dims) {
      size_t place = places_[tensor++];
      std::vector<bool> here(map_.factors.size());
      for (const FactorList& dim : dims)
        for (int32_t f : dim) {
          if (f >= count)
            FailAt(place, fmt::format("expected a factor index below {} but found {}", count, f));
          if (here[f]) FailAt(place, "cannot reuse factors for the same tensor value");
          if (dim.size() > 1 && factor(f).size == 1)
            FailAt(place,
                   "dim mapping can't have a factor of size 1 if there are multiple factors");
          here[f] = used[f] = true;
        }
    };
    for (const DimFactors& dims : map_.operands) check(dims);
    for (const DimFactors& dims : map_.results) check(dims);
    if (map_.results.empty()) in_.Fail("a rule needs at least one operand and one result");
    for (int32_t f = 0; f < count; ++f)
      if (!used[f])
        in_.Fail(fmt::format("has factor {}={} that isn't used in operand and result mappings",
                             FactorSymbol(f), factor(f).size));
  }

  template <class F>
  void ReadSet(const char* name, F take) {
    if (!in_.Accept(name)) return;
    in_.Expect("=");
    int32_t last = -1;
    in_.List("{", "}", [&] {
      size_t at = in_.position();
      int32_t f = ReadSymbol();
      if (f >= static_cast<int32_t>(map_.factors.size()))
        FailAt(at, fmt::format("index must be less than {}, got: {}", map_.factors.size(), f));
      if (f == last) FailAt(at, "indices of special factors must be unique");
      if (f < last) FailAt(at, "indices of special factors must be sorted");
      last = f;
      take(f);
    });
  }

  void ReadKinds(const char* name, FactorKind kind) {
    std::vector<bool> of_results = FactorsOf(map_, map_.results);
    ReadSet(name, [&](int32_t f) {
      if (factor(f).kind != FactorKind::kPass)
        in_.Fail(
            "a factor can only be in one of the reduction, need replication, or permutation "
            "factor sets");
      if (kind == FactorKind::kReduce && of_results[f])
        in_.Fail("reduction factor cannot be in result mappings");
      factor(f).kind = kind;
    });
  }

  static constexpr int32_t kMostFactors = 1 << 30;
  base::Reader in_;
  DimMap map_;
  std::vector<size_t> places_;  // where each tensor ends
};

}  // namespace

DimMap ParseRule(std::string_view text, Loc loc) { return RuleReader(text, loc).Read(); }

namespace {

// Returns the factors that do not determine the size of a dim: replicate factors, all factors of a
// dim with a permute factor, and factors of size 1 that only one dim has.
std::vector<bool> WithoutSize(const DimMap& map) {
  std::vector<bool> without(map.factors.size());
  std::vector<int> dims_with(map.factors.size());
  auto look = [&](const std::vector<DimFactors>& tensors) {
    for (const DimFactors& dims : tensors)
      for (const FactorList& dim : dims) {
        bool permutes = false;
        for (int32_t f : dim) {
          FactorKind kind = map.factors[f].kind;
          permutes = permutes || kind == FactorKind::kPermute;
          without[f] = without[f] || kind == FactorKind::kReplicate;
          ++dims_with[f];
        }
        for (int32_t f : dim)
          if (permutes) without[f] = true;
      }
  };
  look(map.operands);
  look(map.results);
  for (size_t f = 0; f < without.size(); ++f)
    without[f] = without[f] || (dims_with[f] == 1 && map.factors[f].size == 1);
  return without;
}

std::optional<Problem> VerifyTensors(const DimMap& map, const std::vector<bool>& without_size,
                                     const char* what, const std::vector<DimFactors>& tensors,
                                     const Shapes& shapes) {
  if (tensors.size() != shapes.size())
    return Problem{"tensor-count", fmt::format("number of {}s and mappings must match: {} != {}",
                                               what, shapes.size(), tensors.size())};
  for (size_t t = 0; t < tensors.size(); ++t) {
    const Shape& shape = *shapes[t];
    if (tensors[t].size() != shape.size())
      return Problem{"mapping-rank", fmt::format("{} {} - mapping rank must match: {} != {}", what,
                                                 t, shape.size(), tensors[t].size())};
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t product = 1;
      bool given = false, reduced = false;
      for (int32_t f : tensors[t][d]) {
        given = given || without_size[f];
        reduced = reduced || map.factors[f].kind == FactorKind::kReduce;
        if (__builtin_mul_overflow(product, map.factors[f].size, &product)) product = -1;
      }
      bool fits = product == shape[d] || (reduced && product >= 0 && product < shape[d]);
      if (!fits && !given && !tensors[t][d].empty())
        return Problem{"factor-sizes",
                       fmt::format("{} {} - the factors of dim {} of size {} multiply to {}", what,
                                   t, d, shape[d], product)};
    }
  }
  return {};
}

}  // namespace

std::optional<Problem> VerifyRule(const DimMap& map, const Shapes& operands,
                                  const Shapes& results) {
  std::vector<bool> without_size = WithoutSize(map);
  auto problem = VerifyTensors(map, without_size, "operand", map.operands, operands);
  return problem ? problem : VerifyTensors(map, without_size, "result", map.results, results);
}

}  // namespace tessera::sharding
