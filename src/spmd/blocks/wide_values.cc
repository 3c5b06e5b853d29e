// Labels dims from instruction to instruction, through the factors of their maps.
#include "spmd/blocks/wide_values.h"

#include "spmd/blocks/factors.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::DimFactors;
using sharding::DimMap;
using Labels = WideValues::Labels;

// The operands of a product that have a dim of it.
enum class ProductSide : uint8_t { kBoth, kLeft, kRight };

// Sets `known` if it is not. Returns false if both are known and differ.
bool MergeLabel(int& known, int label) {
  if (known == kNoDim) known = label;
  return label == kNoDim || known == label;
}

class WideLabels {
 public:
  explicit WideLabels(ProductFacts& facts) : facts_(facts) {}

  std::optional<WideValues> Run(InstructionId product) {
    found_.product = facts_.ResultOf(product);
    const Labels labels = LabelProduct(product);
    if (!IsWide(found_.product, labels)) return {};
    found_.labels[found_.product] = labels;
    work_.push_back(found_.product);
    while (!work_.empty()) {
      const ValueId wide = work_.back();
      work_.pop_back();
      if (!LabelAround(wide)) return {};
    }
    return std::move(found_);
  }

 private:
  Labels LabelProduct(InstructionId product) {
    const DimMap& map = facts_.MapOf(product);
    Labels labels;
    for (int d = 0; d < facts_.type(found_.product)->rank(); ++d) {
      const int32_t f = FactorOf(map.results[0], d);
      const bool left = f >= 0 && DimOf(map.operands[0], f) != kNoDim,
                 right = f >= 0 && DimOf(map.operands[1], f) != kNoDim;
      labels.push_back(d);
      sides_.push_back(left == right ? ProductSide::kBoth
                       : left        ? ProductSide::kLeft
                                     : ProductSide::kRight);
    }
    return labels;
  }

  bool IsWide(ValueId v, const Labels& labels) const {
    bool left = false, right = false;
    for (size_t d = 0; d < labels.size(); ++d) {
      if (labels[d] == kNoDim || facts_.type(v)->shape()[d] <= 1) continue;
      left |= base::At(sides_, labels[d]) == ProductSide::kLeft;
      right |= base::At(sides_, labels[d]) == ProductSide::kRight;
    }
    return left && right;
  }

  // Labels the values of the instructions that define and read a wide value. Returns false if the
  // value must be whole.
  bool LabelAround(ValueId wide) {
    const InstructionId definition = facts_.DefinitionOf(wide);
    if (definition != kNoInstruction && MayRunInBlocks(facts_.at(definition)) &&
        !LabelValuesOf(definition))
      return false;
    if (!facts_.DependsOnProduct(wide)) return true;
    return !facts_.IsReturned(wide) &&
           absl::c_all_of(facts_.UsersOf(wide), [&](InstructionId user) {
             return MayRunInBlocks(facts_.at(user)) && LabelValuesOf(user);
           });
  }

  // Labels factors by the values that are known to be wide, and values by these factors. Returns
  // false if two values give a factor different labels.
  bool LabelValuesOf(InstructionId i) {
    const Instruction& instruction = facts_.at(i);
    const DimMap& map = facts_.MapOf(i);
    std::vector<int> label_of(map.factors.size(), kNoDim);
    bool agrees = LabelFactors(instruction.results[0], map.results[0], label_of);
    for (size_t k = 0; k < instruction.operands.size(); ++k)
      agrees &= LabelFactors(instruction.operands[k], map.operands[k], label_of);
    LabelValue(instruction.results[0], map.results[0], label_of);
    for (size_t k = 0; k < instruction.operands.size(); ++k)
      LabelValue(instruction.operands[k], map.operands[k], label_of);
    return agrees;
  }

  bool LabelFactors(ValueId v, const DimFactors& dims, std::vector<int>& label_of) const {
    const auto labels = found_.labels.find(v);
    if (labels == found_.labels.end()) return true;
    bool agrees = true;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d].size() == 1)
        agrees &= MergeLabel(base::At(label_of, dims[d][0]), labels->second[d]);
    return agrees;
  }

  void LabelValue(ValueId v, const DimFactors& dims, const std::vector<int>& label_of) {
    const auto known = found_.labels.find(v);
    Labels labels = known == found_.labels.end() ? Labels(dims.size(), kNoDim) : known->second;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d].size() == 1) MergeLabel(labels[d], base::At(label_of, dims[d][0]));
    if (!IsWide(v, labels) || (known != found_.labels.end() && known->second == labels)) return;
    found_.labels.insert_or_assign(v, std::move(labels));
    work_.push_back(v);
  }

  ProductFacts& facts_;
  WideValues found_;
  std::vector<ProductSide> sides_;  // of each dim of the product
  std::vector<ValueId> work_;       // wide values whose labels are new
};

}  // namespace

int WideValues::DimOf(ValueId v, int label) const {
  const auto of_value = labels.find(v);
  if (of_value == labels.end()) return kNoDim;
  const auto at = absl::c_find(of_value->second, label);
  return at == of_value->second.end() ? kNoDim : static_cast<int>(at - of_value->second.begin());
}

std::optional<WideValues> FindWideValues(ProductFacts& facts, InstructionId product) {
  return WideLabels(facts).Run(product);
}

}  // namespace tessera::spmd
