// The backward pass computes values of a line again. Barriers keep the copies apart.
#include "compile/savings/lines_again.h"

#include <absl/container/flat_hash_map.h>

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/uses.h"
#include "ops/tangents.h"

namespace tessera::compile {
namespace {

// Whether an op is cheap to compute again: it computes each element from few others.
bool IsCheap(const ir::Instruction& i) {
  return std::visit(
      []<class T>(const T&) {
        return std::is_same_v<T, ir::AsElementwise> || std::is_same_v<T, ir::AsBroadcast> ||
               std::is_same_v<T, ir::AsConstant> || std::is_same_v<T, ir::AsIota> ||
               std::is_same_v<T, ir::AsView>;
      },
      *i.op->lowering);
}

class LineAgain {
 public:
  LineAgain(const ir::Program& source, const std::string& line)
      : source_(source),
        line_(line),
        makers_(source.values.size(), nullptr),
        read_backward_(source.values.size(), false),
        out_(source),
        builder_(out_, Loc::Unknown()) {}

  std::optional<ir::Program> Run() {
    for (const ir::Instruction& i : source_.instructions) {
      for (ir::ValueId v : i.results) makers_[v] = &i;
      if (i.loc.is_backward())
        for (ir::ValueId v : i.operands) read_backward_[v] = true;
    }
    out_.instructions.clear();
    for (ir::Instruction i : source_.instructions) {
      for (ir::RegionPtr& region : i.regions) {
        std::optional<ir::Program> changed = LineAgain(*region, line_).Run();
        if (!changed) continue;
        region = ir::Shared(*std::move(changed));
        changes_ = true;
      }
      if (i.loc.is_backward())
        for (ir::ValueId& v : i.operands)
          if (IsOfLine(v)) v = Again(v);
      out_.instructions.push_back(std::move(i));
    }
    if (!changes_) return {};
    ir::RemoveDead(out_);
    return std::move(out_);
  }

 private:
  bool IsOfLine(ir::ValueId v) const {
    const ir::Instruction* maker = makers_[v];
    return maker && !maker->loc.is_backward() && base::Where(maker->loc) == line_ &&
           ir::EffectOf(*maker) == ir::Effect::kNone;
  }
  bool IsRead(ir::ValueId v) const {
    const ir::Instruction* maker = makers_[v];
    return !maker ||
           !(IsOfLine(v) || (IsCheap(*maker) && !maker->loc.is_backward() && !read_backward_[v]));
  }

  // Returns a copy of the value, which the program so far may not have.
  ir::ValueId Again(ir::ValueId v) {
    if (const auto known = copies_.find(v); known != copies_.end()) return known->second;
    if (IsRead(v)) {
      builder_.set_loc(source_.values[v].loc.Backward());
      return copies_[v] = ops::Barrier(builder_, v);
    }
    ir::Instruction copy = *makers_[v];
    for (ir::ValueId& operand : copy.operands) operand = Again(operand);
    copy.loc = copy.loc.Backward();
    for (ir::ValueId& result : copy.results) {
      const ir::ValueId old = result;
      result = out_.AddValue(source_.type(old), copy.loc, source_.place(old));
      copies_[old] = result;
    }
    out_.instructions.push_back(std::move(copy));
    changes_ = true;
    return copies_[v];
  }

  const ir::Program& source_;
  const std::string& line_;
  base::IdVector<ir::ValueId, const ir::Instruction*> makers_;
  ir::ValueSet read_backward_;
  ir::Program out_;
  ir::Builder builder_;
  absl::flat_hash_map<ir::ValueId, ir::ValueId> copies_;
  bool changes_ = false;
};

}  // namespace

std::shared_ptr<const ir::Program> WithLineAgain(const ir::Program& program,
                                                 const std::string& line) {
  std::optional<ir::Program> changed = LineAgain(program, line).Run();
  return changed ? ir::Shared(*std::move(changed)) : nullptr;
}

}  // namespace tessera::compile
