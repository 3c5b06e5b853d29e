// Every device checks the slices of all, so all devices of a group find the same mistake.
#include "kernels/index/ragged_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"

namespace tessera::kernels {
namespace {

// The lists of all positions of one batch element.
class Slices {
 public:
  Slices(const RaggedRowsDesc& desc, const int64_t* lists) : d_(desc), lists_(lists) {}
  int64_t first(int64_t position, int64_t slice) const { return At(position, 0, slice); }
  int64_t count(int64_t position, int64_t slice) const { return At(position, 1, slice); }
  int64_t target(int64_t position, int64_t slice) const { return At(position, 2, slice); }
  // The rows that `to` expects in a slice of `from`.
  int64_t expected(int64_t from, int64_t slice) const {
    return At(slice / share(), 3, from * share() + slice % share());
  }
  int64_t share() const { return d_.slices / d_.positions; }  // slices for one position

  void Check() const {
    for (int64_t p = 0; p < d_.positions; ++p)
      for (int64_t s = 0; s < d_.slices; ++s) CheckSlice(p, s);
  }

 private:
  int64_t At(int64_t position, int64_t list, int64_t slice) const {
    return lists_[(position * 4 + list) * d_.slices + slice];
  }
  [[noreturn]] static void Fail(std::string reason) {
    base::ThrowRuntime(base::Refusal("ragged_all_to_all", 40, "", std::move(reason)));
  }
  void CheckSlice(int64_t p, int64_t s) const {
    const int64_t n = count(p, s), to = s / share(), wanted = expected(p, s);
    const auto what = [&] {
      return fmt::format("slice {} of the device at position {}, for position {}", s, p, to);
    };
    if (n < 0) Fail(fmt::format("{}, has {} rows", what(), n));
    const auto check = [&](int64_t begin, int64_t rows, const char* does, const char* array) {
      if (n == 0 || (begin >= 0 && begin <= rows && n <= rows - begin)) return;
      Fail(fmt::format("{}, has {} rows and {} row {}, but the {} has {} rows", what(), n, does,
                       begin, array, rows));
    };
    check(first(p, s), d_.operand_rows, "begins at", "operand");
    check(target(p, s), d_.output_rows, "is written from", "output");
    if (wanted != n)
      Fail(fmt::format("{}, has {} rows, but the receiver expects {} (its recv_sizes[{}])", what(),
                       n, wanted, p * share() + s % share()));
  }

  const RaggedRowsDesc& d_;
  const int64_t* lists_;
};

void RunRaggedRows(const plan::KernelArgs& call) {
  const auto& d = *static_cast<const RaggedRowsDesc*>(call.config);
  const auto* lists = reinterpret_cast<const int64_t*>(call.in[0]);
  const auto* receivers = reinterpret_cast<const int32_t*>(call.in[1]);
  auto* out = reinterpret_cast<int64_t*>(call.out[0]);
  std::fill_n(out, d.batch * d.output_rows, int64_t{-1});
  for (int64_t b = 0; b < d.batch; ++b, out += d.output_rows) {
    const Slices slices(d, lists + b * d.positions * 4 * d.slices);
    slices.Check();
    const int64_t me = receivers[b * d.receivers / d.batch];
    if (me < 0 || me >= d.positions) continue;  // nobody sends to it
    for (int64_t p = 0; p < d.positions; ++p)
      for (int64_t s = me * slices.share(); s < (me + 1) * slices.share(); ++s)
        for (int64_t r = 0; r < slices.count(p, s); ++r)
          out[slices.target(p, s) + r] = p * d.operand_rows + slices.first(p, s) + r;
  }
}

}  // namespace

plan::Kernel RaggedRows(const RaggedRowsDesc& desc) {
  plan::Kernel kernel;
  kernel.fn = &RunRaggedRows;
  kernel.bytes = 8 * static_cast<double>(desc.batch) *
                 static_cast<double>(desc.output_rows + 4 * desc.positions * desc.slices);
  kernel.config = std::make_shared<RaggedRowsDesc>(desc);
  return kernel;
}

}  // namespace tessera::kernels
