// One instruction's call as an op of the table sees it: operands and attributes.
#pragma once
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "case.h"
#include "tessera/ops.h"

namespace tessera::conformance {

// The instruction asks for something that the library has no counterpart of.
class Unsupported : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns the dtype of a short name. Throws Unsupported for those the library lacks.
DType ParseDType(const std::string& name);
PartitionSpec ParseSpec(const Json& json);
Scalar ParseScalar(const Json& json);

class Call {
 public:
  Call(const Instruction& instruction, std::vector<Operand> in, Loc loc)
      : loc_(loc), instruction_(instruction), in_(std::move(in)) {}

  size_t size() const { return in_.size(); }
  const Operand& in(size_t i) const;
  // An operand as jax.lax takes it: a literal of another dtype than the other operands is an
  // array of the default dtype, not a weak number.
  Operand strict(size_t i) const;
  Operand operand(size_t i) const { return is_strict() ? strict(i) : in(i); }
  // Operands from the i-th on; numbers become weak arrays.
  Array array(size_t i) const;
  std::vector<Array> arrays(size_t first = 0) const;
  int rank(size_t i) const { return array(i).rank(loc_); }
  // Throws the library's error for a dim that the first operand does not have.
  void CheckDim(int64_t dim) const { array(0).shape(static_cast<int>(dim), loc_); }
  // Whether the op is jax.lax's, or jax.nn's name for one of those: they do not promote.
  bool is_strict() const;

  const Json& attrs() const { return instruction_.attrs; }
  bool has(const std::string& key) const;    // present and not null
  bool names(const std::string& key) const;  // present
  const Json& attr(const std::string& key) const;
  int64_t integer(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t otherwise) const;
  int dim(const std::string& key, int otherwise) const;
  bool flag(const std::string& key, bool otherwise = false) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::vector<int64_t> integers(const std::string& key) const;  // a number is a list of one
  // The dims that a NumPy `axis` names; all of them where it is absent.
  Dims dims(const std::string& key = "axis") const;
  DType dtype(const std::string& key = "dtype") const;
  std::optional<PartitionSpec> spec(const std::string& key = "out_sharding") const;
  // Throws Unsupported if an attribute was never asked for. Ops ask for all they know before they
  // call the library, so that this also holds where it throws.
  void CheckAllRead() const;

  Loc loc() const { return loc_; }

 private:
  Loc loc_;
  const Instruction& instruction_;
  std::vector<Operand> in_;
  mutable std::set<std::string> read_;
};

}  // namespace tessera::conformance
