// Specs, shardings and array types.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/dtype.h"
#include "tessera/error.h"
#include "tessera/mesh.h"
#include "tessera/reduction.h"

namespace TESSERA_PUBLIC tessera {

namespace ir {
class Type;
}

// None: an unsharded dim, an absent bound of a slice, a new dim in an index.
struct NoneType {};
inline constexpr NoneType None{};

// Few functions of these classes are inline, because every call of an array function constructs and
// destroys some: users' programs compile more quickly.

// A mesh axis or a part of one: "x":(pre)size. Size 0 means the whole axis.
struct AxisRef {
  AxisRef(const char* axis) : name(axis) {}
  AxisRef(std::string axis, int64_t major_size = 1, int64_t own_size = 0)
      : name(std::move(axis)), pre(major_size), size(own_size) {}
  std::string name;
  int64_t pre = 1, size = 0;
  friend bool operator==(const AxisRef&, const AxisRef&) = default;
};

// Returns the middle part of axis `name`, whose size n is viewed as [pre, size, n / (pre * size)].
AxisRef SubAxis(std::string_view name, int64_t pre, int64_t size);

// One or several axes or parts of axes, in any order: "x", {"x", SubAxis("y", 1, 2)}.
class AxisSet {
 public:
  AxisSet() = default;
  AxisSet(std::initializer_list<AxisRef> axes);
  AxisSet(std::initializer_list<const char*> names);
  AxisSet(const char* name);
  AxisSet(std::string name);
  AxisSet(AxisRef axis);
  AxisSet(std::vector<AxisRef> axes);
  AxisSet(const std::vector<std::string>& names);
  AxisSet(const AxisNames& names);
  const std::vector<AxisRef>& axes() const { return axes_; }

 private:
  std::vector<AxisRef> axes_;
};

// The axes of one dim, major to minor: None, "x", {"x", "y"}, SubAxis(...), Open(...), Closed(...).
class DimSharding {
 public:
  DimSharding(NoneType = None) {}
  DimSharding(std::initializer_list<AxisRef> axes);
  DimSharding(std::initializer_list<const char*> names);
  DimSharding(const char* name);
  DimSharding(std::string name);
  DimSharding(AxisRef axis);
  DimSharding(std::vector<AxisRef> axes);
  DimSharding(const DimSharding&);
  DimSharding(DimSharding&&) noexcept;
  DimSharding& operator=(const DimSharding&);
  DimSharding& operator=(DimSharding&&) noexcept;
  ~DimSharding();
  DimSharding(std::nullptr_t) = delete;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  DimSharding(T) = delete;

  const std::vector<AxisRef>& axes() const { return axes_; }
  bool open() const { return open_; }
  int priority() const { return priority_; }  // -1: none
  // Returns this dim with a propagation priority; 0 is the most urgent.
  DimSharding priority(int p) const;
  friend DimSharding Open(DimSharding);
  friend DimSharding Closed(DimSharding);
  friend bool operator==(const DimSharding&, const DimSharding&) = default;

 private:
  std::vector<AxisRef> axes_;
  bool open_ = false;
  int priority_ = -1;
};
// Returns the dim open: propagation may add axes to it. Open() leaves the dim to propagation.
DimSharding Open(DimSharding dim = None);
// Returns the dim closed; plain entries are closed already.
DimSharding Closed(DimSharding dim);

// The layout of an array: one entry per dim, and the axes over which it is unreduced (each device
// holds a partial value), reduced (replicated, with an unreduced cotangent) or must stay
// replicated. Missing trailing dims are None. Names are checked when the spec is used.
class PartitionSpec {
 public:
  PartitionSpec();
  explicit PartitionSpec(std::vector<DimSharding> dims);
  PartitionSpec(const PartitionSpec&);
  PartitionSpec(PartitionSpec&&) noexcept;
  PartitionSpec& operator=(const PartitionSpec&);
  PartitionSpec& operator=(PartitionSpec&&) noexcept;
  ~PartitionSpec();
  // Return the spec with this set of axes replaced.
  PartitionSpec unreduced(AxisSet axes, Reduction kind = Reduction::kSum) const;
  PartitionSpec reduced(AxisSet axes) const;
  PartitionSpec replicated(AxisSet axes) const;
  PartitionSpec priority(int p) const;  // of every dim
  const std::vector<DimSharding>& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  const std::vector<AxisRef>& unreduced_axes() const { return unreduced_; }
  const std::vector<AxisRef>& reduced_axes() const { return reduced_; }
  const std::vector<AxisRef>& replicated_axes() const { return replicated_; }
  Reduction reduction() const { return kind_; }
  // Returns the spec as C++: `P({"x", "y"}, None).unreduced("w")`.
  std::string text() const;
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;

 private:
  std::vector<DimSharding> dims_;
  std::vector<AxisRef> unreduced_, reduced_, replicated_;
  Reduction kind_ = Reduction::kSum;
};
std::ostream& operator<<(std::ostream& os, const PartitionSpec& spec);

// Returns the spec with these dims. For more than eight: PartitionSpec(std::vector<DimSharding>).
PartitionSpec P();
PartitionSpec P(DimSharding a);
PartitionSpec P(DimSharding a, DimSharding b);
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c);
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d);
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d, DimSharding e);
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d, DimSharding e,
                DimSharding f);
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d, DimSharding e,
                DimSharding f, DimSharding g);
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d, DimSharding e,
                DimSharding f, DimSharding g, DimSharding h);

// An edit that fixes a refused program: set the out_sharding of the op to `spec`, reshard an
// operand to it, or call the function inside auto_axes with it as the out_sharding. `bytes` is the
// payload that then leaves each device. In the text of a program, an edit replaces the first
// `replaced` in the line of the error by `replacement`.
struct Fix {
  int operand = -1;  // -1: the out_sharding of the op or of auto_axes
  PartitionSpec spec = {};
  int64_t bytes = 0;
  std::string text = {};
  bool auto_axes = false;
  std::string replaced = {}, replacement = {};  // "": not an edit of a text
};

// A spec on a mesh. Its text is Shardy's: `<@mesh, [{"x"}, {"z", ?}p1], unreduced={"w"}>`.
class Sharding {
 public:
  // Throws ShardingError for unknown or repeated axes and overlapping sub-axes.
  Sharding(Mesh mesh, PartitionSpec spec, Loc loc = Loc::Current());
  // Parses a sharding. Throws RuntimeError with the position in the text.
  static Sharding Parse(std::string_view text, Mesh mesh, Loc loc = Loc::Current());
  Mesh mesh() const { return mesh_; }
  const PartitionSpec& spec() const { return spec_; }
  std::string text() const;
  friend bool operator==(const Sharding&, const Sharding&) = default;

 private:
  Mesh mesh_;
  PartitionSpec spec_;
};
std::ostream& operator<<(std::ostream& os, const Sharding& sharding);

// Shape, dtype and sharding of an array. It is a handle and compares by content. Its text is JAX's:
// f32[8@x,4], bf16[128@(model,data),64], f32[8@x,2]{U:y}, i32[].
class ArrayType {
 public:
  explicit ArrayType(const ir::Type* type) : type_(type) {}
  // Parses a type on the current mesh. Throws RuntimeError for malformed text, and ShardingError
  // for axes that the mesh lacks or that do not divide a dim.
  static ArrayType Parse(std::string_view text, Loc loc = Loc::Current());
  const std::vector<int64_t>& shape() const;
  DType dtype() const;
  // Returns the Explicit axes of each dim, and the unreduced and reduced axes.
  PartitionSpec spec() const;
  Mesh mesh() const;
  std::vector<std::string> varying() const;
  // Whether the value promotes like a plain number.
  bool weak() const;
  // Returns the type of the gradient: unreduced and reduced axes swapped.
  ArrayType cotangent() const;
  // Returns the type of one device's shard, on no mesh.
  ArrayType local() const;
  std::string text() const;
  friend bool operator==(ArrayType a, ArrayType b) { return a.type_ == b.type_; }
  const ir::Type* type() const { return type_; }

 private:
  const ir::Type* type_;
};
std::ostream& operator<<(std::ostream& os, const ArrayType& type);

}  // namespace tessera
