// Buffers of any dtype, calls of kernels, and short ways to write groups, for the kernels' tests.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "kernels/reduce/reduce.h"
#include "plan/fused.h"

namespace tessera::kernels::test {

inline int64_t Count(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr DType kAllDTypes[] = {bool_, i8,  i16, i32,  i64, u8, u16,
                                       u32,   u64, f16, bf16, f32, f64};
inline constexpr DType kIntegers[] = {i8, i16, i32, i64, u8, u16, u32, u64};

// Elements in memory of exactly their size, so that sanitizers detect reads beyond the end.
struct Buffer {
  DType dtype;
  int64_t n = 0;
  std::unique_ptr<std::byte[]> bytes;

  Buffer() = default;
  Buffer(DType dtype_in, int64_t n_in)
      : dtype(dtype_in),
        n(n_in),
        bytes(new std::byte[static_cast<size_t>(n_in * dtype_in.size())]) {
    std::memset(bytes.get(), 0, static_cast<size_t>(n * dtype.size()));
  }
  Buffer(const Buffer& b) : Buffer(b.dtype, b.n) {
    std::memcpy(bytes.get(), b.bytes.get(), static_cast<size_t>(n * dtype.size()));
  }
  Buffer& operator=(Buffer b) {
    dtype = b.dtype, n = b.n;
    bytes = std::move(b.bytes);
    return *this;
  }
  Buffer(Buffer&&) = default;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(bytes.get());
  }
  size_t size() const { return static_cast<size_t>(n * dtype.size()); }
  // Returns the element as a number. 64-bit integers are rounded.
  double At(int64_t i) const {
    return base::VisitDType(dtype, [&](auto t) {
      using T = decltype(t);
      const T v = as<T>()[i];
      if constexpr (std::is_class_v<T>)
        return static_cast<double>(static_cast<float>(v));
      else
        return static_cast<double>(v);
    });
  }
  void Set(int64_t i, double v) {
    base::VisitDType(dtype, [&](auto t) {
      using T = decltype(t);
      if constexpr (std::is_class_v<T>)
        as<T>()[i] = T(static_cast<float>(v));
      else
        as<T>()[i] = static_cast<T>(v);
    });
  }
};

inline Buffer Numbers(DType dtype, const std::vector<double>& values) {
  Buffer b(dtype, static_cast<int64_t>(values.size()));
  for (int64_t i = 0; i < b.n; ++i) b.Set(i, values[static_cast<size_t>(i)]);
  return b;
}

// Returns small numbers; `special`: floats include special values.
inline Buffer Random(DType dtype, int64_t n, uint32_t seed, bool special = false) {
  std::mt19937 random(seed);
  Buffer b(dtype, n);
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 -0.0,
                                 0.0,
                                 1.0};
  for (int64_t i = 0; i < n; ++i) {
    const double unit = static_cast<double>(random() % 4001) / 1000 - 2;  // [-2, 2]
    if (dtype.is_bool())
      b.Set(i, random() % 2);
    else if (dtype.is_signed())
      b.Set(i, static_cast<double>(static_cast<int>(random() % 200) - 100));
    else if (dtype.is_unsigned())
      b.Set(i, static_cast<double>(random() % 200));
    else
      b.Set(i, special && random() % 8 == 0 ? kSpecial[random() % 6] : unit);
  }
  return b;
}

// Runs the kernel in `parts` calls.
inline void Call(const plan::Kernel& kernel, const std::vector<const Buffer*>& in,
                 const std::vector<Buffer*>& out, int parts = 1) {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const Buffer* b : in) inputs.push_back(b->bytes.get());
  for (Buffer* b : out) outputs.push_back(b->bytes.get());
  std::vector<std::byte> scratch(static_cast<size_t>(kernel.scratch_bytes) + 64);
  auto address = reinterpret_cast<uintptr_t>(scratch.data());
  plan::KernelArgs call;
  call.config = kernel.config.get();
  call.in = inputs.data();
  call.out = outputs.data();
  call.scratch = scratch.data() + (64 - address % 64) % 64;
  call.parts = parts;
  for (call.part = 0; call.part < parts; ++call.part) kernel.fn(call);
}

// Whether the bits are equal, except that any NaN equals any NaN.
inline testing::AssertionResult SameBits(const Buffer& got, const Buffer& want) {
  if (got.n != want.n || got.dtype != want.dtype)
    return testing::AssertionFailure() << "sizes or dtypes differ";
  const int size = got.dtype.size();
  for (int64_t i = 0; i < got.n; ++i) {
    if (std::memcmp(got.bytes.get() + i * size, want.bytes.get() + i * size,
                    static_cast<size_t>(size)) == 0)
      continue;
    if (got.dtype.is_floating() && std::isnan(got.At(i)) && std::isnan(want.At(i))) continue;
    return testing::AssertionFailure() << got.dtype.name() << " element " << i << " of " << got.n
                                       << ": got " << got.At(i) << ", want " << want.At(i);
  }
  return testing::AssertionSuccess();
}

// Whether |got - want| <= tol + tol * |want|; infinities and NaN must match.
inline testing::AssertionResult Near(const Buffer& got, const std::vector<double>& want,
                                     double tol) {
  if (got.n != static_cast<int64_t>(want.size()))
    return testing::AssertionFailure() << "got " << got.n << " elements, want " << want.size();
  for (int64_t i = 0; i < got.n; ++i) {
    const double a = got.At(i), b = want[static_cast<size_t>(i)];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b || std::fabs(a - b) <= tol + tol * std::fabs(b)) continue;
    return testing::AssertionFailure()
           << got.dtype.name() << " element " << i << ": got " << a << ", want " << b;
  }
  return testing::AssertionSuccess();
}

inline double Tolerance(DType dtype) {
  if (dtype == f64) return 1e-12;
  if (dtype == f32) return 2e-6;
  return dtype == f16 ? 0x1p-9 : 0x1p-6;
}

// Builds a group.
class Group {
 public:
  explicit Group(Shape dims, int reduced = 0) {
    desc.dims = std::move(dims);
    desc.reduced = reduced;
  }
  // Adds an input with these strides; without strides it is dense.
  int Input(DType dtype, std::vector<int64_t> strides = {}) {
    if (strides.empty()) strides = Dense(desc.dims);
    plan::FusedNode node = Node(plan::FusedNode::kInput, dtype);
    node.input = static_cast<int32_t>(desc.inputs.size());
    desc.inputs.push_back({dtype, strides, -1});
    return Add(node);
  }
  int Constant(DType dtype, double v) {
    plan::FusedNode node = Node(plan::FusedNode::kConstant, dtype);
    const Buffer b = Numbers(dtype, {v});
    std::memcpy(&node.bits, b.bytes.get(), b.size());
    return Add(node);
  }
  int Iota(DType dtype, int64_t dim) {
    plan::FusedNode node = Node(plan::FusedNode::kIota, dtype);
    node.iota = static_cast<int32_t>(desc.iotas.size());
    desc.iotas.push_back({std::vector<int64_t>(desc.dims.size(), 0), {}});
    desc.iotas.back().strides[static_cast<size_t>(dim)] = 1;
    return Add(node);
  }
  int Op(plan::ScalarOp op, DType dtype, int a, int b = -1, int c = -1) {
    plan::FusedNode node = Node(plan::FusedNode::kScalar, dtype);
    node.op = op;
    node.args[0] = a, node.args[1] = b, node.args[2] = c;
    return Add(node);
  }
  int Reduce(Reduction reduction, DType dtype, int a) {
    plan::FusedNode node = Node(plan::FusedNode::kReduce, dtype);
    node.reduction = reduction;
    node.args[0] = a;
    return Add(node);
  }
  void Output(int node) {
    desc.outputs.push_back({desc.nodes[static_cast<size_t>(node)].dtype, Dense(desc.dims), node});
  }
  void OutputPerRow(int node) {
    const size_t rank = desc.dims.size(), kept = rank - static_cast<size_t>(desc.reduced);
    std::vector<int64_t> strides =
        Dense(Shape(desc.dims.begin(), desc.dims.begin() + static_cast<int64_t>(kept)));
    strides.resize(rank, 0);
    desc.outputs.push_back({desc.nodes[static_cast<size_t>(node)].dtype, strides, node});
  }
  static std::vector<int64_t> Dense(const Shape& dims) {
    std::vector<int64_t> strides(dims.size());
    int64_t n = 1;
    for (size_t d = dims.size(); d-- > 0; n *= dims[d]) strides[d] = n;
    return strides;
  }

  plan::FusedDesc desc;

 private:
  static plan::FusedNode Node(plan::FusedNode::Kind kind, DType dtype) {
    plan::FusedNode node{};
    node.kind = kind;
    node.dtype = dtype;
    return node;
  }
  int Add(const plan::FusedNode& node) {
    desc.nodes.push_back(node);
    return static_cast<int>(desc.nodes.size()) - 1;
  }
};

}  // namespace tessera::kernels::test
