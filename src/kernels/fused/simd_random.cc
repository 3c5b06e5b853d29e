// Kernels of random bits: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", 2011).
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_random.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include <cstring>
#include <utility>

#include "kernels/fused/kernel_table.h"
#include "kernels/fused/scalar_blocks.h"
#include "kernels/fused/simd_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

using D32 = hn::ScalableTag<uint32_t>;
using V32 = hn::Vec<D32>;
using D64 = hn::ScalableTag<uint64_t>;
using V64 = hn::Vec<D64>;

template <int kLeft>
HWY_INLINE V32 RotateLeft(V32 v) {
  return hn::RotateRight<32 - kLeft>(v);
}

// The words of a key, and the third word that Threefry derives from them.
struct KeyWords {
  V32 k[3];
};
HWY_INLINE KeyWords Schedule(V32 k0, V32 k1) {
  return {{k0, k1, hn::Xor(hn::Xor(k0, k1), hn::Set(D32(), 0x1BD11BDAu))}};
}

// Hashes as many vectors of counters as J has numbers. They are interleaved so that their chains of
// dependent steps overlap. Uses folds, not loops: arrays indexed by constants stay in registers.
template <class Seq>
struct Counters;
template <size_t... J>
struct Counters<std::index_sequence<J...>> {
  V32 x0[sizeof...(J)], x1[sizeof...(J)];

  template <int kLeft>
  HWY_INLINE void Round() {
    ((x0[J] = hn::Add(x0[J], x1[J])), ...);
    ((x1[J] = hn::Xor(RotateLeft<kLeft>(x1[J]), x0[J])), ...);
  }
  HWY_INLINE void Inject(V32 a, V32 b) {
    ((x0[J] = hn::Add(x0[J], a)), ...);
    ((x1[J] = hn::Add(x1[J], b)), ...);
  }
  template <uint32_t kGroup>
  HWY_INLINE void Group(const KeyWords& key) {
    if constexpr (kGroup % 2 == 1)
      Round<13>(), Round<15>(), Round<26>(), Round<6>();
    else
      Round<17>(), Round<29>(), Round<16>(), Round<24>();
    Inject(key.k[kGroup % 3], hn::Add(key.k[(kGroup + 1) % 3], hn::Set(D32(), kGroup)));
  }
  HWY_INLINE void Hash(const KeyWords& key) {
    Inject(key.k[0], key.k[1]);
    Group<1>(key);
    Group<2>(key);
    Group<3>(key);
    Group<4>(key);
    Group<5>(key);
  }

  // Hashes the counters from k on, whose words are `high` and `low`, and writes the exclusive or of
  // each result's words.
  template <class High, class Low>
  static HWY_INLINE void Write(const KeyWords& key, size_t k, High high, Low low, uint32_t* out) {
    const size_t lanes = hn::Lanes(D32());
    Counters c{{high(k + J * lanes)...}, {low(k + J * lanes)...}};
    c.Hash(key);
    (hn::StoreU(hn::Xor(c.x0[J], c.x1[J]), D32(), out + k + J * lanes), ...);
  }
};
using OneVector = Counters<std::make_index_sequence<1>>;
using FourVectors = Counters<std::make_index_sequence<4>>;

// ---- one key for all lanes ----------------------------------------------------------------------

HWY_INLINE KeyWords KeyAt(const std::byte* p) {
  uint64_t key;
  std::memcpy(&key, p, sizeof(key));
  return Schedule(hn::Set(D32(), static_cast<uint32_t>(key >> 32)),
                  hn::Set(D32(), static_cast<uint32_t>(key)));
}

template <class High, class Low>
HWY_INLINE void WriteAllBits(const KeyWords& key, size_t n, High high, Low low, uint32_t* out) {
  const size_t lanes = hn::Lanes(D32());
  size_t k = 0;
  for (; k + 4 * lanes <= n; k += 4 * lanes) FourVectors::Write(key, k, high, low, out);
  for (; k < n; k += lanes) OneVector::Write(key, k, high, low, out);
}

constexpr size_t kMostElements = kSlotBytes / sizeof(uint32_t);
struct CounterWords {
  HWY_ALIGN uint32_t high[kMostElements];
  HWY_ALIGN uint32_t low[kMostElements];

  void Set(size_t k, uint64_t counter) {
    high[k] = static_cast<uint32_t>(counter >> 32);
    low[k] = static_cast<uint32_t>(counter);
  }
  void Write(const KeyWords& key, size_t n, std::byte* acc) const {
    WriteAllBits(
        key, n, [this](size_t k) { return hn::Load(D32(), high + k); },
        [this](size_t k) { return hn::Load(D32(), low + k); }, reinterpret_cast<uint32_t*>(acc));
  }
};

uint64_t Origin(const Instr& instr, const Context& c) {
  return reinterpret_cast<uintptr_t>(EffectiveAddress(c, instr.a, 0));
}

void RandomBits(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  const KeyWords key = KeyAt(EffectiveAddress(c, instr.b, 0));
  const uint64_t first = Origin(instr, c) + (instr.info != 0 ? 0 : i);
  const auto low = static_cast<uint32_t>(first);
  if (low > ~static_cast<uint32_t>(kMostElements)) {  // the low word may wrap
    CounterWords words{};
    for (size_t k = 0; k < n; ++k) words.Set(k, first + k);
    return words.Write(key, n, acc);
  }
  const V32 high = hn::Set(D32(), static_cast<uint32_t>(first >> 32));
  WriteAllBits(
      key, n, [high](size_t) { return high; },
      [low](size_t k) { return hn::Iota(D32(), low + static_cast<uint32_t>(k)); },
      reinterpret_cast<uint32_t*>(acc));
}

void GatheredRandomBits(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  const uint64_t first = Origin(instr, c);
  CounterWords words{};
  Walk(*reinterpret_cast<const StridedWalk*>(instr.info), i, n,
       [&](size_t k, int64_t offset) { words.Set(k, first + static_cast<uint64_t>(offset)); });
  words.Write(KeyAt(EffectiveAddress(c, instr.b, 0)), n, acc);
}

// ---- a key and a counter per 64-bit lane: the lower half of each lane does the work -------------

struct Bits64 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V key, V counter) {
    const auto halves = Hash(d, key, counter);
    return hn::Or(hn::ShiftLeft<32>(hn::BitCast(d, halves.x0[0])), Low(d, halves.x1[0]));
  }
  template <class D, class V>
  static HWY_INLINE OneVector Hash(D, V key, V counter) {
    OneVector c;
    c.x0[0] = hn::BitCast(D32(), hn::ShiftRight<32>(counter));
    c.x1[0] = hn::BitCast(D32(), counter);
    c.Hash(Schedule(hn::BitCast(D32(), hn::ShiftRight<32>(key)), hn::BitCast(D32(), key)));
    return c;
  }
  template <class D>
  static HWY_INLINE V64 Low(D d, V32 v) {
    return hn::And(hn::BitCast(d, v), hn::Set(d, uint64_t{0xffffffff}));
  }
};
struct Bits32 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V key, V counter) {
    const auto halves = Bits64::Hash(d, key, counter);
    return Bits64::Low(d, hn::Xor(halves.x0[0], halves.x1[0]));
  }
};

void AddRandomImpl(KernelTable& t) {
  using enum plan::ScalarOp;
  AddBinary<uint64_t, Bits64, true>(t, CodeOf(kRandomFoldIn));
  AddBinary<uint64_t, Bits64, true>(t, CodeOf(kRandomBits64));
  AddBinary<uint64_t, Bits32, true>(t, CodeOf(kRandomBits32));
  t.random_bits = &RandomBits;
  t.random_bits_gathered = &GatheredRandomBits;
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddRandomImpl);
void AddRandom(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddRandomImpl)(table); }
}  // namespace tessera::kernels
#endif
