// The plain-loop blocks, as templates over the lane and the stored dtype.
#include "kernels/fused/scalar_blocks.h"

#include <bit>
#include <cstring>

#include "base/dtype.h"
#include "base/float8.h"
#include "kernels/elements/scalar_elements.h"

namespace tessera::kernels {
namespace {

// Calls f(k) for k < n. The constant trip count of the inner loop lets the compiler vectorise it.
template <class F>
inline void Each(size_t n, F f) {
  constexpr size_t kStep = 16;
  size_t i = 0;
  for (; i + kStep <= n; i += kStep)
    for (size_t k = 0; k < kStep; ++k) f(i + k);
  for (; i < n; ++i) f(i);
}

template <class F>
decltype(auto) VisitLane(Lane lane, F f) {
  switch (lane) {
    case Lane::kF32:
      return f(float{});
    case Lane::kI32:
      return f(int32_t{});
    case Lane::kU32:
      return f(uint32_t{});
    case Lane::kF64:
      return f(double{});
    case Lane::kI64:
      return f(int64_t{});
    default:
      return f(uint64_t{});
  }
}

constexpr size_t kMostElements = kSlotBytes / 4;

template <class From, class To>
void Convert(const Instr&, const Context&, size_t, size_t n, std::byte* acc) {
  const From* in = reinterpret_cast<const From*>(acc);
  To out[kMostElements];  // not in place, as From and To may differ in size
  Each(n, [&](size_t k) { out[k] = Cast<To>(in[k]); });
  std::memcpy(acc, out, n * sizeof(To));
}

template <class From>
void ConvertOdd(const Instr&, const Context&, size_t, size_t n, std::byte* acc) {
  const From* in = reinterpret_cast<const From*>(acc);
  float out[kMostElements];
  Each(n, [&](size_t k) { out[k] = RoundToOdd(in[k]); });
  std::memcpy(acc, out, n * sizeof(float));
}

template <DType::Code kCode>
void ReadFloat8(const Instr&, const Context&, size_t, size_t n, std::byte* acc) {
  constexpr auto kFormat = base::Float8Format::Of(kCode);
  auto* bits = reinterpret_cast<uint32_t*>(acc);
  Each(n,
       [&](size_t k) { bits[k] = std::bit_cast<uint32_t>(base::Float8ToFloat(kFormat, bits[k])); });
}
template <DType::Code kCode>
void WriteFloat8(const Instr&, const Context&, size_t, size_t n, std::byte* acc) {
  constexpr auto kFormat = base::Float8Format::Of(kCode);
  auto* bits = reinterpret_cast<uint32_t*>(acc);
  Each(n, [&](size_t k) { bits[k] = base::FloatToFloat8(kFormat, std::bit_cast<float>(bits[k])); });
}
template <DType::Code kCode>
BlockFn Float8Block(DType dtype, bool reads) {
  if (dtype.code() == kCode) return reads ? &ReadFloat8<kCode> : &WriteFloat8<kCode>;
  if constexpr (kCode < DType::kF8E5M2FNUZ)
    return Float8Block<static_cast<DType::Code>(kCode + 1)>(dtype, reads);
  return nullptr;
}

// Converts a stored element T to the type Kept that lanes hold.
template <class T, class Kept>
Kept FromStored(T v) {
  if constexpr (std::is_same_v<T, bool>)
    return v ? ~Kept{0} : Kept{0};
  else
    return static_cast<Kept>(Widen(v));
}
template <class T, class Kept>
T ToStored(Kept v) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    T out;
    out.bits = std::is_same_v<T, Float16> ? base::FloatToHalf(v) : base::FloatToBrain(v);
    return out;
  } else if constexpr (std::is_same_v<T, bool>) {
    return v != 0;
  } else {
    return static_cast<T>(v);
  }
}
template <class T, class Kept>
void Load(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  const T* in = reinterpret_cast<const T*>(EffectiveAddress(c, instr.a, i));
  Kept* out = reinterpret_cast<Kept*>(acc);
  Each(n, [&](size_t k) { out[k] = FromStored<T, Kept>(in[k]); });
}
template <class T, class Kept>
void Store(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  T* out = reinterpret_cast<T*>(EffectiveAddress(c, instr.a, i));
  const Kept* in = reinterpret_cast<const Kept*>(acc);
  Each(n, [&](size_t k) { out[k] = ToStored<T, Kept>(in[k]); });
}

// Calls f with the stored type and the type in which lanes hold it.
template <class F>
BlockFn VisitStored(DType dtype, bool wide, F f) {
  switch (base::StoredAs(dtype).code()) {
    case DType::kBool:
      return wide ? f(bool{}, uint64_t{}) : f(bool{}, uint32_t{});
    case DType::kI8:
      return f(int8_t{}, int32_t{});
    case DType::kI16:
      return f(int16_t{}, int32_t{});
    case DType::kI32:
      return f(int32_t{}, int32_t{});
    case DType::kI64:
      return f(int64_t{}, int64_t{});
    case DType::kU8:
      return f(uint8_t{}, uint32_t{});
    case DType::kU16:
      return f(uint16_t{}, uint32_t{});
    case DType::kU32:
      return f(uint32_t{}, uint32_t{});
    case DType::kU64:
    case DType::kKey:
      return f(uint64_t{}, uint64_t{});
    case DType::kF16:
      return f(Float16{}, float{});
    case DType::kBF16:
      return f(BFloat16{}, float{});
    case DType::kF32:
      return f(float{}, float{});
    default:
      return f(double{}, double{});
  }
}

template <class T>
void Iota(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  T* out = reinterpret_cast<T*>(acc);
  const int64_t first = reinterpret_cast<intptr_t>(EffectiveAddress(c, instr.a, 0));
  const int64_t start = first + (instr.b.base != 0 ? 0 : static_cast<int64_t>(i));
  Each(n, [&](size_t k) { out[k] = Cast<T>(start + static_cast<int64_t>(k)); });
}

template <class T>
void Index(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  const auto* in = reinterpret_cast<const int64_t*>(EffectiveAddress(c, instr.a, i));
  T* out = reinterpret_cast<T*>(acc);
  Each(n, [&](size_t k) { out[k] = Cast<T>(in[k]); });
}

// kStep: elements T of a stride of 1.
template <class T, int64_t kStep = 1>
void GatherElements(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  const T* in = reinterpret_cast<const T*>(EffectiveAddress(c, instr.a, 0));
  T* out = reinterpret_cast<T*>(acc);
  Walk(*reinterpret_cast<const StridedWalk*>(instr.info), i, n,
       [&](size_t k, int64_t offset) { out[k] = in[offset * kStep]; });
}

template <class T>
void LoadPart(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  const T* in = reinterpret_cast<const T*>(EffectiveAddress(c, instr.a, i));
  T* out = reinterpret_cast<T*>(acc);
  for (size_t k = 0; k < n; ++k) out[k] = in[2 * k];
}
template <class T, int kHeld>
void StoreParts(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  T* out = reinterpret_cast<T*>(EffectiveAddress(c, instr.a, i));
  const T* held = reinterpret_cast<const T*>(acc);
  const T* other = reinterpret_cast<const T*>(EffectiveAddress(c, instr.b, i));
  for (size_t k = 0; k < n; ++k) out[2 * k + kHeld] = held[k], out[2 * k + 1 - kHeld] = other[k];
}
template <class T>
void GatherIota(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  const int64_t first = reinterpret_cast<intptr_t>(EffectiveAddress(c, instr.a, 0));
  T* out = reinterpret_cast<T*>(acc);
  Walk(*reinterpret_cast<const StridedWalk*>(instr.info), i, n,
       [&](size_t k, int64_t offset) { out[k] = Cast<T>(first + offset); });
}

}  // namespace

BlockFn ConvertBlock(Lane from, Lane to) {
  return VisitLane(from, [&](auto f) {
    return VisitLane(to, [&](auto t) -> BlockFn { return &Convert<decltype(f), decltype(t)>; });
  });
}

BlockFn ConvertOddBlock(Lane from) {
  return VisitLane(from, [](auto f) -> BlockFn { return &ConvertOdd<decltype(f)>; });
}

BlockFn ReadFloat8Block(DType dtype) { return Float8Block<DType::kF8E3M4>(dtype, true); }
BlockFn WriteFloat8Block(DType dtype) { return Float8Block<DType::kF8E3M4>(dtype, false); }

BlockFn LoadBlock(DType dtype, bool wide) {
  return VisitStored(dtype, wide, [](auto stored, auto kept) -> BlockFn {
    return &Load<decltype(stored), decltype(kept)>;
  });
}

BlockFn StoreBlock(DType dtype, bool wide) {
  return VisitStored(dtype, wide, [](auto stored, auto kept) -> BlockFn {
    return &Store<decltype(stored), decltype(kept)>;
  });
}

BlockFn IotaBlock(Lane lane) {
  return VisitLane(lane, [](auto t) -> BlockFn { return &Iota<decltype(t)>; });
}

BlockFn IndexBlock(Lane lane) {
  return VisitLane(lane, [](auto t) -> BlockFn { return &Index<decltype(t)>; });
}

BlockFn GatherBlock(int itemsize) {
  switch (itemsize) {
    case 1:
      return &GatherElements<uint8_t>;
    case 2:
      return &GatherElements<uint16_t>;
    case 4:
      return &GatherElements<uint32_t>;
    default:
      return &GatherElements<uint64_t>;
  }
}

BlockFn GatherPartBlock(int size) {
  return size == 4 ? &GatherElements<uint32_t, 2> : &GatherElements<uint64_t, 2>;
}

BlockFn LoadPartBlock(int size) { return size == 4 ? &LoadPart<uint32_t> : &LoadPart<uint64_t>; }

BlockFn StorePartsBlock(int size, int held) {
  if (size == 4) return held == 0 ? &StoreParts<uint32_t, 0> : &StoreParts<uint32_t, 1>;
  return held == 0 ? &StoreParts<uint64_t, 0> : &StoreParts<uint64_t, 1>;
}

BlockFn GatherIotaBlock(Lane lane) {
  return VisitLane(lane, [](auto t) -> BlockFn { return &GatherIota<decltype(t)>; });
}

}  // namespace tessera::kernels
