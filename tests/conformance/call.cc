// Reads the operands and attributes of a call from its JSON.
#include "call.h"

#include <map>
#include <utility>

#include "base/dtype.h"

namespace tessera::conformance {

DType ParseDType(const std::string& name) {
  for (int code = DType::kBool; code <= DType::kKey; ++code) {
    DType dtype(static_cast<DType::Code>(code));
    if (name == dtype.name()) return dtype;
  }
  throw Unsupported("dtype " + name);
}

PartitionSpec ParseSpec(const Json& json) {
  auto entry = [](const Json& e) {
    std::vector<AxisRef> axes;
    if (e.is_string()) axes.push_back({e.get<std::string>()});
    if (e.is_array()) {
      for (const Json& name : e) axes.push_back({name.get<std::string>()});
    }
    return DimSharding(std::move(axes));
  };
  if (json.is_string()) return Sharding::Parse(json.get<std::string>(), current_mesh()).spec();
  if (!json.is_object() || !json.contains("spec")) throw Unsupported("sharding " + json.dump());
  std::vector<DimSharding> dims;
  for (const Json& e : json["spec"]) dims.push_back(entry(e));
  PartitionSpec spec(std::move(dims));
  auto names = [&](const char* key) { return json[key].get<std::vector<std::string>>(); };
  if (json.contains("unreduced")) spec = spec.unreduced(AxisNames(names("unreduced")));
  if (json.contains("reduced")) spec = spec.reduced(AxisNames(names("reduced")));
  return spec;
}

Scalar ParseScalar(const Json& json) {
  if (json.is_boolean()) return Scalar(json.get<bool>());
  if (json.is_number_float()) return Scalar(json.get<double>());
  if (json.is_number()) return Scalar(json.get<int64_t>());
  throw Unsupported("literal " + json.dump());
}

const Operand& Call::in(size_t i) const {
  if (i >= in_.size()) throw Unsupported("fewer operands than the op has");
  return in_[i];
}

Operand Call::strict(size_t i) const {
  const Operand& operand = in(i);
  if (!operand.scalar()) return operand;
  Array literal(*operand.scalar(), loc_);
  for (const Operand& other : in_) {
    if (other.scalar() || other.array().dtype(loc_) == literal.dtype(loc_)) continue;
    return Operand(
        full(Shape(std::vector<int64_t>{}), operand, {.dtype = literal.dtype(loc_)}, loc_), loc_);
  }
  return operand;
}

bool Call::is_strict() const {
  const std::string& op = instruction_.op;
  if (op == "getitem") return false;
  return op.find('.') == std::string::npos || op == "nn.sigmoid" || op == "nn.silu" ||
         op == "nn.swish";
}

Array Call::array(size_t i) const {
  const Operand& operand = in(i);
  return operand.scalar() ? Array(*operand.scalar(), loc_) : operand.array();
}

std::vector<Array> Call::arrays(size_t first) const {
  std::vector<Array> arrays;
  for (size_t i = first; i < size(); ++i) arrays.push_back(array(i));
  return arrays;
}

bool Call::has(const std::string& key) const {
  read_.insert(key);
  return instruction_.attrs.contains(key) && !instruction_.attrs[key].is_null();
}

bool Call::names(const std::string& key) const {
  read_.insert(key);
  return instruction_.attrs.contains(key);
}

const Json& Call::attr(const std::string& key) const {
  if (!has(key)) throw Unsupported(instruction_.op + " without " + key);
  return instruction_.attrs[key];
}

int64_t Call::integer(const std::string& key) const {
  const Json& value = attr(key);
  if (!value.is_number_integer()) throw Unsupported(key + " " + value.dump());
  return value.get<int64_t>();
}

int64_t Call::integer(const std::string& key, int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

int Call::dim(const std::string& key, int otherwise) const {
  return static_cast<int>(integer(key, otherwise));
}

bool Call::flag(const std::string& key, bool otherwise) const {
  return has(key) ? attr(key).get<bool>() : otherwise;
}

std::string Call::text(const std::string& key, const std::string& otherwise) const {
  return has(key) ? attr(key).get<std::string>() : otherwise;
}

std::vector<int64_t> Call::integers(const std::string& key) const {
  const Json& value = attr(key);
  if (value.is_number_integer()) return {value.get<int64_t>()};
  if (!value.is_array()) throw Unsupported(key + " " + value.dump());
  return value.get<std::vector<int64_t>>();
}

Dims Call::dims(const std::string& key) const { return has(key) ? Dims(integers(key)) : Dims(All); }

DType Call::dtype(const std::string& key) const {
  return has(key) ? ParseDType(attr(key).get<std::string>()) : DType{};
}

std::optional<PartitionSpec> Call::spec(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  return ParseSpec(attr(key));
}

void Call::CheckAllRead() const {
  for (const auto& [key, value] : instruction_.attrs.items()) {
    if (!read_.count(key) && !value.is_null()) throw Unsupported(instruction_.op + " with " + key);
  }
}

}  // namespace tessera::conformance
