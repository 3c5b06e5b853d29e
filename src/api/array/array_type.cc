// ArrayType: the public view of a type.
#include <ostream>

#include "base/at.h"
#include "ir/type.h"
#include "sharding/local.h"
#include "tessera/sharding.h"
#include "trace/scopes.h"

namespace tessera {

ArrayType ArrayType::Parse(std::string_view text, Loc loc) {
  return ArrayType(ir::ParseType(text, trace::CurrentMesh(), loc));
}
const std::vector<int64_t>& ArrayType::shape() const { return type_->shape(); }
DType ArrayType::dtype() const { return type_->dtype(); }
PartitionSpec ArrayType::spec() const { return sharding::ToSpec(type_->sharding()); }
Mesh ArrayType::mesh() const { return Mesh(type_->mesh()); }
std::vector<std::string> ArrayType::varying() const {
  std::vector<std::string> names;
  for (const sharding::AxisPart& part : type_->sharding().varying) {
    const std::string& name = base::At(type_->mesh()->axes(), part.axis).name;
    if (names.empty() || names.back() != name) names.push_back(name);  // parts of one axis: once
  }
  return names;
}
bool ArrayType::weak() const { return type_->weak(); }
ArrayType ArrayType::cotangent() const {
  sharding::TensorSharding s = type_->sharding();
  std::swap(s.unreduced, s.reduced);
  s.kind = Reduction::kSum;
  return ArrayType(type_->WithSharding(std::move(s)));
}
ArrayType ArrayType::local() const {
  return ArrayType(
      ir::Type::Get(sharding::LocalShape(type_->shape(), type_->sharding()), type_->dtype()));
}
std::string ArrayType::text() const { return type_->text(); }
std::ostream& operator<<(std::ostream& os, const ArrayType& type) { return os << type.text(); }

}  // namespace tessera
