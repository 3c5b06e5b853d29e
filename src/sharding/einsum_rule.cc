// Reads rules in the notation of einsum and einops.
#include "sharding/einsum_rule.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/reader.h"
#include "base/reductions.h"
#include "sharding/rule_text.h"
#include "sharding/text.h"

namespace tessera::sharding {
namespace {

using DimNames = std::vector<std::string>;  // of one dim's factors; empty: a dim of size 1

struct Tensor {
  std::vector<DimNames> dims;
  // begins with `...`: any number of leading dims, as many as in every other such tensor
  bool takes_more = false;
  size_t place = 0;  // end of the tensor in the text
};

class EinsumReader {
 public:
  EinsumReader(std::string_view text, Loc loc) : in_(text, "einsum rule", loc) {}

  std::vector<std::string> FactorNames() {
    ReadText();
    AddDims(1);
    std::vector<std::string> all;
    for (const auto* tensors : {&operands_, &results_})
      for (const Tensor& tensor : *tensors)
        for (const DimNames& names : tensor.dims)
          for (const std::string& name : names)
            if (!absl::c_linear_search(all, name)) all.push_back(name);
    return all;
  }

  std::vector<Shape> SampleShapes() {
    ReadText();
    AddDims(1);
    constexpr int64_t kSizes[] = {4, 6, 2};
    std::vector<Shape> shapes;
    for (const Tensor& tensor : operands_) {
      Shape& shape = shapes.emplace_back();
      for (const DimNames& names : tensor.dims) {
        int64_t product = 1;
        for (const std::string& name : names)
          product *= sizes_.emplace(name, kSizes[sizes_.size() % 3]).first->second;
        shape.push_back(product);
      }
    }
    return shapes;
  }

  std::vector<bool> TakeMore() {
    ReadText();
    std::vector<bool> take;
    for (const Tensor& tensor : operands_) take.push_back(tensor.takes_more);
    return take;
  }

  std::vector<Shape> ResultShapes(const Shapes& operands) {
    ReadText();
    AddDimsOf(operands);
    CheckShapes("operand", operands_, operands);
    size_t known;
    do {
      known = sizes_.size();
      LearnSizes(operands_, operands);
    } while (sizes_.size() > known);
    CheckSizes(operands_, operands);
    std::vector<Shape> shapes;
    for (const Tensor& tensor : results_) {
      Shape& shape = shapes.emplace_back();
      for (const DimNames& names : tensor.dims) {
        int64_t product = 1;
        for (const std::string& name : names) {
          auto size = sizes_.find(name);
          if (size == sizes_.end())
            FailAt(tensor.place,
                   fmt::format("no operand has factor {}, so its size is unknown", name));
          product *= size->second;
        }
        shape.push_back(product);
      }
    }
    return shapes;
  }

  DimMap Read(const Shapes& operands, const Shapes& results) {
    ReadText();
    AddDimsOf(operands);
    CheckShapes("operand", operands_, operands);
    CheckShapes("result", results_, results);
    // A dim of several factors gives the last missing size, which other dims may be waiting for.
    size_t known;
    do {
      known = sizes_.size();
      LearnSizes(operands_, operands);
      LearnSizes(results_, results);
    } while (sizes_.size() > known);
    CheckSizes(operands_, operands);
    CheckSizes(results_, results);
    return Build();
  }

 private:
  void ReadText() {
    if (!in_.Peek("->")) ReadTensors(operands_);
    in_.Expect("->");
    ReadTensors(results_);
    while (!in_.AtEnd()) ReadKind();
    in_.ExpectEnd();
    const auto more = [](const Tensor& t) { return t.takes_more; };
    for (const Tensor& result : results_)
      if (result.takes_more != absl::c_any_of(operands_, more))
        FailAt(result.place, "either an operand and all results begin with `...`, or none does");
  }

  // Replaces `...` by `count` dims with a factor each.
  void AddDims(size_t count) {
    for (auto* tensors : {&operands_, &results_})
      for (Tensor& tensor : *tensors)
        for (size_t d = count; tensor.takes_more && d-- > 0;)
          tensor.dims.insert(tensor.dims.begin(), {fmt::format("...{}", d)});
  }
  void AddDimsOf(const Shapes& operands) {
    for (size_t t = 0; t < std::min(operands.size(), operands_.size()); ++t)
      if (operands_[t].takes_more && operands[t]->size() >= operands_[t].dims.size())
        return AddDims(operands[t]->size() - operands_[t].dims.size());
  }

  // Whether a list such as `reduction={h}` comes next.
  bool IsAtList() {
    size_t at = in_.position();
    std::string word = in_.AcceptWord();
    bool kind = absl::c_linear_search(kLists, word) && in_.Peek("=");
    in_.set_position(at);
    return kind;
  }

  void ReadKind() {
    std::string list = in_.Word();
    in_.Expect("=");
    Reduction reduction = Reduction::kSum;
    if (list == kLists[0] && !in_.Peek("{")) {
      std::string word = in_.Word();
      const auto found =
          absl::c_find_if(base::kReductions, [&](Reduction r) { return word == ReductionName(r); });
      if (found == base::kReductions.end()) in_.Fail("there is no reduction '" + word + "'");
      reduction = *found;
    }
    in_.List("{", "}", [&] { kinds_.push_back({ReadName(), list, reduction, in_.position()}); });
  }

  void ApplyKinds(const std::vector<bool>& of_results) {
    for (const Kind& k : kinds_) {
      auto number = numbers_.find(k.factor);
      if (number == numbers_.end()) FailAt(k.place, "no array has factor " + k.factor);
      Factor& f = map_.factors[number->second];
      bool in_results = of_results[number->second];
      if (k.list == kLists[0]) {
        if (in_results) FailAt(k.place, "a result has factor " + k.factor + ": it is not reduced");
        f.reduction = k.reduction;
      } else if (k.list == kLists[3]) {
        f.blocked = true;
      } else {
        f.kind = k.list == kLists[1] ? FactorKind::kReplicate : FactorKind::kPermute;
      }
    }
  }

  [[noreturn]] void FailAt(size_t at, std::string reason) {
    in_.set_position(at);
    in_.Fail(std::move(reason));
  }

  std::string ReadName() {
    std::string name = in_.Word();
    if (!std::isalpha(static_cast<unsigned char>(name[0])))
      FailAt(in_.position() - name.size(),
             fmt::format("expected a factor's name, '_' or '1' but found '{}'", name));
    return name;
  }

  DimNames ReadDim() {
    DimNames names;
    if (in_.Accept("_") || in_.Accept("1")) return names;
    if (!in_.Accept("(")) return {ReadName()};
    while (!in_.Accept(")"))
      if (!in_.Accept("1")) names.push_back(ReadName());
    return names;
  }

  void ReadTensors(std::vector<Tensor>& tensors) {
    do {
      Tensor tensor;
      DimNames all;
      tensor.takes_more = in_.Accept("...");
      while (!in_.AtEnd() && !in_.Peek(",") && !in_.Peek("->") && !IsAtList()) {
        tensor.dims.push_back(ReadDim());
        for (const std::string& name : tensor.dims.back()) {
          if (absl::c_linear_search(all, name))
            in_.Fail(fmt::format("factor {} appears twice in one array", name));
          all.push_back(name);
        }
      }
      tensor.place = in_.position();
      tensors.push_back(std::move(tensor));
    } while (in_.Accept(","));
  }

  void CheckShapes(const char* what, const std::vector<Tensor>& tensors, const Shapes& shapes) {
    if (tensors.size() != shapes.size())
      in_.Fail(fmt::format("the rule has {} {}s, but the op has {}", tensors.size(), what,
                           shapes.size()));
    for (size_t t = 0; t < tensors.size(); ++t)
      if (tensors[t].dims.size() != shapes[t]->size())
        FailAt(tensors[t].place, fmt::format("{} {} has {} dims, but the rule has {}", what, t,
                                             shapes[t]->size(), tensors[t].dims.size()));
  }

  void LearnSizes(const std::vector<Tensor>& tensors, const Shapes& shapes) {
    for (size_t t = 0; t < tensors.size(); ++t)
      for (size_t d = 0; d < shapes[t]->size(); ++d) {
        int64_t left = (*shapes[t])[d];
        const std::string* missing = nullptr;
        bool one_missing = true;
        for (const std::string& name : tensors[t].dims[d]) {
          auto size = sizes_.find(name);
          if (size == sizes_.end()) {
            one_missing = !missing;
            missing = &name;
          } else {
            left = size->second > 0 && left % size->second == 0 ? left / size->second : -1;
          }
        }
        if (missing && one_missing && left >= 0) sizes_.emplace(*missing, left);
      }
  }

  void CheckSizes(const std::vector<Tensor>& tensors, const Shapes& shapes) {
    for (size_t t = 0; t < tensors.size(); ++t)
      for (size_t d = 0; d < shapes[t]->size(); ++d) {
        int64_t product = 1;
        std::string shown;
        for (const std::string& name : tensors[t].dims[d]) {
          auto size = sizes_.find(name);
          if (size == sizes_.end())
            FailAt(tensors[t].place,
                   fmt::format("the shapes do not determine the size of factor {}", name));
          if (__builtin_mul_overflow(product, size->second, &product)) product = -1;
          shown += fmt::format("{}{}={}", shown.empty() ? "" : ", ", name, size->second);
        }
        if (product != (*shapes[t])[d])
          FailAt(tensors[t].place, fmt::format("dim {} has size {}, but {}", d, (*shapes[t])[d],
                                               shown.empty() ? "a dim without factors has size 1"
                                                             : "its factors are " + shown));
      }
  }

  // Numbers factors in the order of their first appearance. A dim of several factors leaves out
  // those of size 1: nothing can be laid out along them.
  std::vector<DimFactors> NumberFactors(const std::vector<Tensor>& tensors, FactorKind kind) {
    std::vector<DimFactors> out;
    for (const Tensor& tensor : tensors) {
      DimFactors dims;
      for (const DimNames& names : tensor.dims) {
        FactorList dim;
        for (const std::string& name : names) {
          if (names.size() > 1 && sizes_[name] == 1) continue;
          auto [at, fresh] = numbers_.try_emplace(name, 0);
          if (fresh) at->second = map_.AddFactor({.size = sizes_[name], .kind = kind});
          dim.push_back(at->second);
        }
        dims.push_back(std::move(dim));
      }
      out.push_back(std::move(dims));
    }
    return out;
  }

  DimMap Build() {
    map_.operands = NumberFactors(operands_, FactorKind::kReduce);
    map_.results = NumberFactors(results_, FactorKind::kPass);
    std::vector<bool> of_results = FactorsOf(map_, map_.results);
    for (size_t f = 0; f < map_.factors.size(); ++f)
      if (of_results[f]) map_.factors[f].kind = FactorKind::kPass;
    ApplyKinds(of_results);
    map_.traits.custom = true;
    return std::move(map_);
  }

  // One entry of a list after the arrays, such as h of `reduction={h}`.
  struct Kind {
    std::string factor, list;
    Reduction reduction;
    size_t place;
  };
  static constexpr const char* kLists[] = {"reduction", "need_replication", "permutation",
                                           "blocked_propagation"};

  base::Reader in_;
  std::vector<Tensor> operands_, results_;
  std::vector<Kind> kinds_;
  absl::flat_hash_map<std::string, int64_t> sizes_;
  absl::flat_hash_map<std::string, int32_t> numbers_;
  DimMap map_;
};

}  // namespace

DimMap ParseEinsumRule(std::string_view text, const Shapes& operands, const Shapes& results,
                       Loc loc) {
  return EinsumReader(text, loc).Read(operands, results);
}

std::vector<Shape> EinsumResultShapes(std::string_view text, const Shapes& operands, Loc loc) {
  return EinsumReader(text, loc).ResultShapes(operands);
}

std::vector<Shape> EinsumSampleShapes(std::string_view text, Loc loc) {
  return EinsumReader(text, loc).SampleShapes();
}

std::vector<bool> EinsumTakesMore(std::string_view text, Loc loc) {
  return EinsumReader(text, loc).TakeMore();
}

std::vector<std::string> EinsumFactorNames(std::string_view text, Loc loc) {
  return EinsumReader(text, loc).FactorNames();
}

}  // namespace tessera::sharding
