// oneDNN's matmul primitives. They are created once per product and run with memory objects of the
// calling thread.
#include "kernels/gemm/gemm_dnnl.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>

#include "base/fork.h"
#include "base/mutex.h"
#include "kernels/gemm/dnnl_engine.h"

namespace tessera::kernels {

struct DnnlPrimitive {
  uint64_t id = 0;  // never used again, unlike an address
  int64_t m = 0, n = 0;
  dnnl::matmul matmul;
  dnnl::memory::desc a, b, c, scratch;
  // Set if b is first copied into the order in which the product reads it.
  std::optional<dnnl::reorder> pack;
  dnnl::memory::desc packed;
};

namespace {

// The objects with which one thread runs a primitive. Memory objects hold addresses, so threads
// must not share them; nor the scratchpad (oneDNN's own one gives wrong results).
struct Handles {
  dnnl::memory a, b, packed, c, scratch;
  std::unordered_map<int, dnnl::memory> arguments;

  explicit Handles(const DnnlPrimitive& p)
      : a(p.a, DnnlEngine(), DNNL_MEMORY_NONE),
        b(p.b, DnnlEngine(), DNNL_MEMORY_NONE),
        packed(p.packed, DnnlEngine(), DNNL_MEMORY_NONE),
        c(p.c, DnnlEngine(), DNNL_MEMORY_NONE),
        scratch(p.scratch, DnnlEngine(), DNNL_MEMORY_NONE),
        arguments{{DNNL_ARG_SRC, a},
                  {DNNL_ARG_WEIGHTS, p.pack ? packed : b},
                  {DNNL_ARG_DST, c},
                  {DNNL_ARG_SCRATCHPAD, scratch}} {}
};

size_t Rounded(size_t bytes) {
  constexpr size_t kLine = 64;
  return (bytes + kLine - 1) / kLine * kLine;
}

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};

class ThreadState {
 public:
  static ThreadState& Mine() {
    thread_local ThreadState state;
    return state;
  }
  Handles& Of(const DnnlPrimitive& p) {
    constexpr size_t kMost = 1024;  // number of shapes that a thread remembers
    if (handles_.size() > kMost) handles_.clear();
    auto [it, is_new] = handles_.try_emplace(p.id);
    if (is_new) it->second = std::make_unique<Handles>(p);
    return *it->second;
  }
  void* Scratch(size_t bytes) {
    if (bytes > scratch_bytes_) {
      scratch_bytes_ = Rounded(bytes);
      scratch_.reset(std::aligned_alloc(64, scratch_bytes_));
    }
    return scratch_.get();
  }
  dnnl::stream& Stream() { return stream_; }

 private:
  dnnl::stream stream_{DnnlEngine()};
  std::unordered_map<uint64_t, std::unique_ptr<Handles>> handles_;
  std::unique_ptr<void, FreeDeleter> scratch_;
  size_t scratch_bytes_ = 0;
};

dnnl::memory::desc Matrix(int64_t rows, int64_t cols, dnnl::memory::data_type type, int64_t row,
                          int64_t col) {
  // The stride of a single row or column does not matter, but oneDNN requires a plausible one.
  if (col == 1)
    row = std::max(row, cols);
  else
    col = std::max(col, rows);
  return {{rows, cols}, type, {row, col}};
}

// With this many rows, copying b takes less time than it saves. The bits are the same either way.
bool Packs(const GemmDesc& d, int64_t m, int64_t n) {
  constexpr int64_t kRows = 512, kLeast = 128;
  return d.type == GemmType::kF32 && m >= kRows && n >= kLeast && d.k >= kLeast;
}

std::shared_ptr<const DnnlPrimitive> Make(const GemmDesc& d, int64_t m, int64_t n) {
  static std::atomic<uint64_t> next_id{0};
  using Type = dnnl::memory::data_type;
  const Type in = d.type == GemmType::kF32 ? Type::f32 : Type::bf16;
  const Type out = d.type == GemmType::kBF16 ? Type::bf16 : Type::f32;
  auto p = std::make_shared<DnnlPrimitive>();
  p->id = next_id++;
  p->m = m, p->n = n;
  p->a = Matrix(m, d.k, in, d.a_row, d.a_col);
  p->b = Matrix(d.k, n, in, d.b_row, d.b_col);
  p->c = Matrix(m, n, out, d.c_row, 1);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const OneThread one;
  const bool packs = Packs(d, m, n);
  const dnnl::memory::desc any({d.k, n}, in, dnnl::memory::format_tag::any);
  const dnnl::matmul::primitive_desc desc({p->a, packs ? any : p->b, p->c}, attributes,
                                          DnnlEngine());
  p->matmul = dnnl::matmul(desc);
  p->scratch = desc.scratchpad_desc();
  p->packed = desc.weights_desc();
  if (packs && p->packed != p->b)
    p->pack = dnnl::reorder({DnnlEngine(), p->b, DnnlEngine(), p->packed});
  return p;
}

}  // namespace

DnnlGemm::DnnlGemm(const GemmDesc& desc) : desc_(desc) { Find(desc.m, desc.n); }
DnnlGemm::~DnnlGemm() = default;

namespace {

// Returns the lock of a product's primitives: one of a few locks, which live forever.
base::Mutex& LockOf(const DnnlGemm* gemm) {
  static auto& locks = []() -> auto& {
    auto* forever = new std::array<base::Mutex, 16>;
    for (base::Mutex& lock : *forever) base::HoldOverFork(lock);
    return *forever;
  }
  ();
  return locks[reinterpret_cast<uintptr_t>(gemm) / sizeof(DnnlGemm) % locks.size()];
}

}  // namespace

std::shared_ptr<const DnnlPrimitive> DnnlGemm::Find(int64_t m, int64_t n) const {
  const base::MutexLock lock(LockOf(this));
  for (const auto& p : primitives_)
    if (p->m == m && p->n == n) return p;
  primitives_.push_back(Make(desc_, m, n));
  return primitives_.back();
}

void DnnlGemm::Run(int64_t m, int64_t n, const void* a, const void* b, void* c) const {
  const std::shared_ptr<const DnnlPrimitive> p = Find(m, n);
  ThreadState& state = ThreadState::Mine();
  Handles& handles = state.Of(*p);
  handles.a.set_data_handle(const_cast<void*>(a));
  handles.b.set_data_handle(const_cast<void*>(b));
  handles.c.set_data_handle(c);
  const size_t scratch = Rounded(p->scratch.get_size());
  auto* memory =
      static_cast<std::byte*>(state.Scratch(scratch + (p->pack ? p->packed.get_size() : 0)));
  handles.scratch.set_data_handle(memory);
  const OneThread one;
  if (p->pack) {
    handles.packed.set_data_handle(memory + scratch);
    p->pack->execute(state.Stream(), handles.b, handles.packed);
  }
  p->matmul.execute(state.Stream(), handles.arguments);
}

bool DnnlRowsCompose() {
  static const bool avx512 = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    constexpr auto kAvx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (isa & kAvx512) == kAvx512;  // the values are sets of features
  }();
  return avx512;
}

bool HasBFloat16Gemm() {
  static const bool has = [] {
    try {
      const GemmDesc d{.type = GemmType::kBF16,
                       .m = 16,
                       .n = 16,
                       .k = 16,
                       .a_row = 16,
                       .b_row = 16,
                       .c_row = 16};
      Make(d, 16, 16);
      return true;
    } catch (const dnnl::error&) {
      return false;
    }
  }();
  return has;
}

}  // namespace tessera::kernels
