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
  // Returns the one type of these parts. `sharding` has one dim per dim of `shape`.
  static const Type* Get(Shape shape, DType dtype, sharding::TensorSharding sharding,
                         bool weak = false);
  // The same, unsharded on `mesh` (null: the empty mesh).
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

// Returns whether values of the two types may stand for each other: equal but for weakness, and
// for the mesh where one of them has none and nothing is sharded.
bool SameType(const Type* a, const Type* b);

// Returns the product of the sizes, or -1 for a shape with a SizeProblem.
int64_t CheckedElements(const Shape& shape);
// Returns "a negative size" or "more than 2^59 elements" if the shape has that; else nothing.
std::string SizeProblem(const Shape& shape);

// Returns the type a text names on `mesh`; throws RuntimeError with the place, ShardingError for
// sizes that do not divide.
const Type* ParseType(std::string_view text, const sharding::MeshDef* mesh, Loc loc);

}  // namespace tessera::ir

namespace tessera::base {
class Reader;
}
namespace tessera::ir {
// `modes` reads, behind the type, the modes in which its mesh differs from `mesh`.
const Type* ReadType(base::Reader& in, const sharding::MeshDef* mesh,
                     const sharding::MeshDef* (*modes)(base::Reader&,
                                                       const sharding::MeshDef*) = nullptr);
// The same of how a value lies over the devices: the modes of `mesh` do not matter, and dims need
// not divide.
const Type* ReadPlace(base::Reader& in, const sharding::MeshDef* mesh);
}  // namespace tessera::ir
