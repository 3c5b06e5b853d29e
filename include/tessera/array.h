// Array: an immutable value with a type. It is a cheap handle: copies share the value.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/dtype.h"
#include "tessera/error.h"
#include "tessera/sharding.h"

namespace TESSERA_PUBLIC tessera {

namespace trace {
class ArrayImpl;
}
class Operand;
class Index;
class At;

// A vector, array, span or other container of integers.
template <class R>
concept IntegerRange = requires(const R& r) {
  { *std::begin(r) } -> IntegerReference;
  std::end(r);
};

// A shape: {2, n}, 5 (one dim), or a range of sizes. Sizes may have any integer type.
//
// The braces call a variadic constructor. With an initializer_list constructor, g++ 12 would
// also convert `{.keepdims = true}` to a Shape, although it is meant for the options argument
// that follows.
class Shape {
 public:
  template <Integer... T>
  Shape(T... dims) : dims_{static_cast<int64_t>(dims)...} {}
  template <IntegerRange R>
  Shape(const R& dims) : dims_(std::begin(dims), std::end(dims)) {}
  const std::vector<int64_t>& dims() const { return dims_; }

 private:
  std::vector<int64_t> dims_;
};

struct AllType {};
inline constexpr AllType All{};
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};

// Dim numbers: 0, -1, {0, 1}, a range of them, or All. Negative numbers count from the end.
class Dims {
 public:
  Dims(AllType) : all_(true) {}
  template <Integer... T>
  Dims(T... dims) : dims_{static_cast<int64_t>(dims)...} {}
  template <IntegerRange R>
  Dims(const R& dims) : dims_(std::begin(dims), std::end(dims)) {}
  bool all() const { return all_; }
  const std::vector<int64_t>& dims() const { return dims_; }

 private:
  bool all_ = false;
  std::vector<int64_t> dims_;
};

struct OutOptions {
  std::optional<PartitionSpec> out_sharding = {};
};

struct IndexRange {
  int64_t begin, end;
};

// One device's part of an array. It keeps the data alive.
class Shard {
 public:
  Shard(int64_t device, std::vector<IndexRange> index, DType dtype,
        std::shared_ptr<const std::byte> data);
  int64_t device() const { return device_; }  // device id
  DType dtype() const { return dtype_; }
  // Returns the index range [begin, end) that this shard holds, one per dim.
  const std::vector<IndexRange>& index() const { return index_; }
  std::vector<int64_t> shape() const;
  // Returns the elements in row-major order. Throws DTypeError if E is not the element type.
  template <class E>
  std::span<const E> data(Loc loc = Loc::Current()) const {
    return {static_cast<const E*>(Check(dtype_of<E>(), loc)), static_cast<size_t>(elements())};
  }
  std::span<const std::byte> bytes() const {
    return {data_.get(), static_cast<size_t>(elements() * dtype_.size())};
  }

 private:
  const void* Check(DType dtype, Loc loc) const;
  int64_t elements() const;
  int64_t device_;
  std::vector<IndexRange> index_;
  DType dtype_;
  std::shared_ptr<const std::byte> data_;
};

class Array {
 public:
  Array() = default;  // no value yet: using it is a TraceError
  template <Number T>
  Array(T v, Loc loc = Loc::Current()) : Array(Scalar(v), loc) {}
  explicit Array(Scalar v, Loc loc = Loc::Current());  // weak, like a plain number
  explicit Array(std::shared_ptr<trace::ArrayImpl> impl) : impl_(std::move(impl)) {}
  Array& operator=(const Array& other) & noexcept;
  Array& operator=(Array&& other) & noexcept;
  Array& operator=(const Array&) && = delete;  // not x[0] = v: x = x.at({0}).set(v)
  // Not inline: user programs copy trees of arrays everywhere, and compile the quicker.
  Array(const Array& other) noexcept;
  Array(Array&& other) noexcept;
  ~Array();

  // These functions need no values, so traced, abstract and donated arrays have them as well.
  const std::vector<int64_t>& shape(Loc loc = Loc::Current()) const;
  // Returns the size of one dim. A negative number counts from the end.
  int64_t shape(int dim, Loc loc = Loc::Current()) const;
  DType dtype(Loc loc = Loc::Current()) const;
  int rank(Loc loc = Loc::Current()) const;
  int64_t size(Loc loc = Loc::Current()) const;  // number of elements
  // Returns the actual sharding of a concrete array, Auto axes included. Throws TraceError for a
  // traced or abstract array.
  Sharding sharding(Loc loc = Loc::Current()) const;
  bool is_traced() const;    // a value of a function that is being traced
  bool is_abstract() const;  // a type without values, as under an abstract mesh
  bool is_given() const { return impl_ != nullptr; }

  // item returns the only element; to_vector returns all elements in row-major order. Both widen
  // (f32 to double) and throw DTypeError if E cannot represent every value of the dtype. item
  // throws ShapeError unless there is exactly one element.
  template <class E>
  E item(Loc loc = Loc::Current()) const;
  template <class E>
  std::vector<E> to_vector(Loc loc = Loc::Current()) const;
  // Returns the shard of each device of this process, in mesh order.
  std::vector<Shard> addressable_shards(Loc loc = Loc::Current()) const;

  // Returns the elements at an index, as in NumPy. In each entry:
  // * an integer selects one position and drops the dim; a negative integer counts from the end;
  // * Slice(a, b, step) keeps part of the dim, All keeps all of it, and None inserts a dim of
  //   size 1;
  // * Ellipsis stands for all dims that the other entries leave over;
  // * integer arrays select elements. All of them broadcast to one shape, and its dims replace the
  //   dim of the first array. They go first if a slice, All, None or Ellipsis stands between two
  //   arrays. An integer next to such an array counts as an array. Negative elements count from the
  //   end; elements out of bounds are clipped.
  Array operator[](Index index) const;
  Array operator[](std::initializer_list<Index> index) const;
  // x.at({i, All}).add(v) returns x with the elements at an index changed (tessera/lookup.h).
  At at(Index index) const;
  At at(std::initializer_list<Index> index) const;

  // Same as the functions of these names in ops.h; T() is transpose.
  Array reshape(Shape shape, OutOptions options = {}, Loc loc = Loc::Current()) const;
  template <Integer A, Integer B, Integer... C>
  Array reshape(A, B, C...) const = delete;  // a shape has braces: x.reshape({4, 8})
  Array astype(DType dtype, Loc loc = Loc::Current()) const;
  Array T(Loc loc = Loc::Current()) const;
  explicit operator bool() const = delete;  // all(x).item<bool>(); traced: where, cond, while_loop

  // NumPy's operators: `/` is divide, `%` is remainder, and `>>` keeps the sign of signed dtypes.
  friend Array operator+(Operand a, Operand b);
  friend Array operator-(Operand a, Operand b);
  friend Array operator*(Operand a, Operand b);
  friend Array operator/(Operand a, Operand b);
  friend Array operator%(Operand a, Operand b);
  friend Array operator&(Operand a, Operand b);
  friend Array operator|(Operand a, Operand b);
  friend Array operator^(Operand a, Operand b);
  friend Array operator<<(Operand a, Operand b);
  friend Array operator>>(Operand a, Operand b);
  friend Array operator==(Operand a, Operand b);
  friend Array operator!=(Operand a, Operand b);
  friend Array operator<(Operand a, Operand b);
  friend Array operator<=(Operand a, Operand b);
  friend Array operator>(Operand a, Operand b);
  friend Array operator>=(Operand a, Operand b);
  friend Array operator-(Operand a);
  friend Array operator+(Operand a);
  friend Array operator~(Operand a);
  friend Array& operator+=(Array& a, Operand b);
  friend Array& operator-=(Array& a, Operand b);
  friend Array& operator*=(Array& a, Operand b);
  friend Array& operator/=(Array& a, Operand b);
  friend Array& operator+=(Array&&, Operand) = delete;  // not x[0] += v: x = x.at({0}).add(v)
  friend Array& operator-=(Array&&, Operand) = delete;  // not x[0] -= v: x = x.at({0}).add(-v)
  friend Array& operator*=(Array&&, Operand) = delete;  // not x[0] *= v: x = x.at({0}).multiply(v)
  friend Array& operator/=(Array&&, Operand) = delete;  // not x[0] /= v: use .multiply(1 / v)
  bool operator!() const = delete;                      // use logical_not(x)
  friend bool operator&&(const Array&, const Array&) = delete;  // use logical_and(a, b)
  friend bool operator||(const Array&, const Array&) = delete;  // use logical_or(a, b)

  const std::shared_ptr<trace::ArrayImpl>& impl() const { return impl_; }

 private:
  // Returns the number of elements. Throws TraceError for an array without values.
  int64_t Readable(const char* op, Loc loc) const;
  // Copies all elements to `out`, converted to `dtype`.
  void Read(DType dtype, void* out, bool one, const char* op, Loc loc) const;
  std::shared_ptr<trace::ArrayImpl> impl_;
};

template <class E>
E Array::item(Loc loc) const {
  E v{};
  Read(dtype_of<E>(), &v, true, "item", loc);
  return v;
}
template <class E>
std::vector<E> Array::to_vector(Loc loc) const {
  if constexpr (std::is_same_v<E, bool>) {
    auto n = static_cast<size_t>(Readable("to_vector", loc));
    std::unique_ptr<bool[]> values(new bool[n]);
    Read(bool_, values.get(), false, "to_vector", loc);
    return std::vector<bool>(values.get(), values.get() + n);
  } else {
    std::vector<E> values(static_cast<size_t>(Readable("to_vector", loc)));
    Read(dtype_of<E>(), values.data(), false, "to_vector", loc);
    return values;
  }
}

// An array that is printed, with the line of the user's code.
class Printed {
 public:
  template <std::same_as<Array> A>
  Printed(const A& array, Loc loc = Loc::Current()) : array_(&array), loc_(loc) {}
  const Array& array() const { return *array_; }
  Loc loc() const { return loc_; }

 private:
  const Array* array_;
  Loc loc_;
};
// Prints the type, a line break, and the elements in nested brackets. A scalar is printed on
// one line.
std::ostream& operator<<(std::ostream& os, Printed printed);

// An argument of an array function: an Array or a number, with the line of the user's code.
class Operand {
 public:
  Operand(const Array& array, Loc loc = Loc::Current()) : array_(array), loc_(loc) {}
  template <Number T>
  Operand(T v, Loc loc = Loc::Current()) : scalar_(Scalar(v)), loc_(loc) {}
  Operand(Scalar v, Loc loc = Loc::Current()) : scalar_(v), loc_(loc) {}
  const Array& array() const { return array_; }
  const std::optional<Scalar>& scalar() const { return scalar_; }
  Loc loc() const { return loc_; }

 private:
  Array array_;
  std::optional<Scalar> scalar_;
  Loc loc_;
};

// A part of a dim: Slice(a, b), Slice(a, b, step), Slice(None, b). A negative bound counts from
// the end.
struct Slice {
  struct End {
    End(NoneType) {}
    template <Integer T>
    End(T v) : value(static_cast<int64_t>(v)) {}
    std::optional<int64_t> value;
  };
  Slice(End from, End to, int64_t by = 1) : begin(from), end(to), step(by) {}
  End begin, end;
  int64_t step;
};

// One entry of an index.
class Index {
 public:
  enum Kind : uint8_t { kInteger, kSlice, kNew, kEllipsis, kArray };
  template <Integer T>
  Index(T i, Loc loc = Loc::Current())
      : kind_(kInteger), integer_(static_cast<int64_t>(i)), loc_(loc) {}
  Index(Slice slice, Loc loc = Loc::Current()) : kind_(kSlice), slice_(slice), loc_(loc) {}
  Index(AllType, Loc loc = Loc::Current()) : kind_(kSlice), loc_(loc) {}
  Index(NoneType, Loc loc = Loc::Current()) : kind_(kNew), loc_(loc) {}
  Index(EllipsisType, Loc loc = Loc::Current()) : kind_(kEllipsis), loc_(loc) {}
  // Accepts an Array only, nothing that converts to one: x[2.5] does not compile.
  template <std::same_as<Array> A>
  Index(const A& indices, Loc loc = Loc::Current()) : kind_(kArray), array_(indices), loc_(loc) {}
  Kind kind() const { return kind_; }
  int64_t integer() const { return integer_; }
  const Slice& slice() const { return slice_; }
  const Array& array() const { return array_; }
  Loc loc() const { return loc_; }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  Slice slice_{None, None};
  Array array_;
  Loc loc_;
};

// Returns the type: shape, dtype and sharding. It is the same inside and outside of scopes, and for
// traced and concrete arrays. A donated array still has its type.
ArrayType type_of(const Array& array, Loc loc = Loc::Current());

// ---- from shards ----

// A sharding of the following functions may name Explicit and Auto axes of the current mesh. Throws
// ShardingError if it is unreduced, or if a dim does not divide.

namespace detail {
using FillShard = std::function<void(std::span<const IndexRange> index, void* data, int64_t size)>;
Array ArrayFromCallback(DType dtype, const Shape& shape, const PartitionSpec& sharding,
                        const FillShard& fill, Loc loc);
Shard MakeShard(int64_t device, std::vector<IndexRange> index, DType dtype, const void* data,
                int64_t size, Loc loc);
}  // namespace detail

// Returns an array of the element type E whose shards f fills: f(index, data) gets the index range
// of one shard in each dim, and a std::span<E> for its elements, row-major, which are zeros. f is
// called once for each distinct shard on this process's devices. Shards that several processes have
// are compared as in array_from_shards:
//   array_from_callback<float>({rows, 64}, P("data", None),
//                              [&](auto index, auto data) { read_rows(index[0], data); });
template <class E, class F>
requires std::invocable<F&, std::span<const IndexRange>, std::span<E>> Array
array_from_callback(Shape shape, PartitionSpec sharding, F f, Loc loc = Loc::Current()) {
  return detail::ArrayFromCallback(
      dtype_of<E>(), shape, sharding,
      [&](std::span<const IndexRange> index, void* data, int64_t size) {
        f(index, std::span<E>(static_cast<E*>(data), static_cast<size_t>(size)));
      },
      loc);
}

// Returns a shard with a copy of the elements, row-major. Throws ShapeError if they do not fill the
// index ranges.
template <class E>
Shard make_shard(int64_t device, std::vector<IndexRange> index, const std::vector<E>& data,
                 Loc loc = Loc::Current()) {
  return detail::MakeShard(device, std::move(index), dtype_of<E>(), data.data(),
                           static_cast<int64_t>(data.size()), loc);
}

struct FromShardsOptions {
  // For a process without a device of the mesh. Other processes take them from the shards.
  std::optional<Shape> shape = {};
  DType dtype = {};
};
// Returns the array that has these shards. Each process gives the shard of each of its devices,
// once. Throws ShapeError, DTypeError or RuntimeError if a shard is missing, is given twice, does
// not fit, or has other elements than a device of this process with the same index ranges. Shards
// that several processes have are compared when a program first uses the array: it throws
// RuntimeError on every process if they differ.
Array array_from_shards(const std::vector<Shard>& shards, PartitionSpec sharding,
                        FromShardsOptions options = {}, Loc loc = Loc::Current());

}  // namespace tessera
