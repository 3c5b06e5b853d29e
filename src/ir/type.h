// Types of values: shape, dtype and sharding. Interned: equal types are one pointer, never freed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "sharding/tensor_sharding.h"
#include "tessera/dtype.h"

namespace tessera::ir {

using base::Shape;

class Type {
 public:
  // Returns the unique type of these parts. `sharding` has one entry per dim of `shape`.
  static const Type* Get(Shape shape, DType dtype, sharding::TensorSharding sharding,
                         bool weak = false);
  // Returns the unsharded type on `mesh` (null: the empty mesh).
  static const Type* Get(Shape shape, DType dtype, const sharding::MeshDef* mesh = nullptr,
                         bool weak = false);

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  const sharding::TensorSharding& sharding() const { return sharding_; }
  const sharding::MeshDef* mesh() const { return sharding_.mesh; }
  bool weak() const { return weak_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t elements() const { return elements_; }
  const std::string& text() const { return text_; }  // f32[8@x,4]{U:y}
  const Type* WithSharding(sharding::TensorSharding sharding) const;
  const Type* WithDType(DType dtype) const;
  const Type* WithWeak(bool weak) const;

 private:
  Type() = default;
  Shape shape_;
  DType dtype_;
  sharding::TensorSharding sharding_;
  int64_t elements_ = 1;
  std::string text_;
  bool weak_ = false;
};

// Whether values of the two types are interchangeable: equal except for weakness. A type without a
// mesh matches one on a mesh if nothing is sharded.
bool SameType(const Type* a, const Type* b);

// Returns the product of the sizes, or -1 for a shape with a SizeProblem.
int64_t CheckedElements(const Shape& shape);
// Returns "a negative size" or "more than 2^59 elements" for such a shape, else "".
std::string SizeProblem(const Shape& shape);

// Parses a type on `mesh`. Throws RuntimeError with the position.
const Type* ParseType(std::string_view text, const sharding::MeshDef* mesh, Loc loc);

}  // namespace tessera::ir

namespace tessera::base {
class Reader;
}
namespace tessera::ir {
// Reads a type. `modes` reads the modes after the type in which its mesh differs from `mesh`.
const Type* ReadType(base::Reader& in, const sharding::MeshDef* mesh,
                     const sharding::MeshDef* (*modes)(base::Reader&,
                                                       const sharding::MeshDef*) = nullptr);
// Reads a place: the modes of `mesh` do not apply, and dims need not divide.
const Type* ReadPlace(base::Reader& in, const sharding::MeshDef* mesh);
}  // namespace tessera::ir
