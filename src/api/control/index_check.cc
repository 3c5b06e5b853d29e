// CheckedIndices: host calls that throw at the first index out of bounds.
#include "api/control/index_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "api/control/host_calls.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "ir/host_tensor.h"
#include "tessera/check.h"
#include "trace/scopes.h"

namespace tessera {
namespace api {
namespace {

class IndexCheck final : public ir::HostFunction {
 public:
  IndexCheck(std::vector<IndexedDim> dims, Negative negative, Call call)
      : dims_(std::move(dims)), negative_(negative), op_(call.name), loc_(call.loc) {}

  void Run(const ir::HostArguments& arguments) const override {
    const ir::HostArgument& indices = arguments.values[0];
    const ir::Type& type = *indices.place;
    const auto size = static_cast<int64_t>(type.dtype().size());
    for (size_t p = 0; p < indices.shards.size(); ++p) {
      const std::byte* shard = indices.shards[p];
      if (!shard) continue;
      compile::ForEachPiece(type, static_cast<int64_t>(p),
                            [&](int64_t in_whole, int64_t in_shard, int64_t bytes) {
                              ir::HostTensor piece(type.dtype(), {bytes / size});
                              std::memcpy(piece.data.data(), shard + in_shard, base::Size(bytes));
                              const int64_t first = in_whole / size;
                              for (int64_t k = 0; k < piece.size(); ++k)
                                if (!IsInside(piece.Int(k), DimAt(first + k)))
                                  Fail(arguments, p, first + k, piece.Int(k));
                            });
    }
  }

 private:
  const IndexedDim& DimAt(int64_t element) const {
    return dims_[base::Size(element) % dims_.size()];
  }
  bool IsInside(int64_t index, const IndexedDim& dim) const {
    if (index < 0 && negative_ == Negative::kFromEnd) index += dim.size;
    // The op itself refuses slices that are larger than the dim.
    return index >= 0 && index <= std::max<int64_t>(dim.size - dim.taken, 0);
  }

  [[noreturn]] void Fail(const ir::HostArguments& arguments, size_t position, int64_t element,
                         int64_t index) const {
    const ir::Type& type = *arguments.values[0].place;
    const IndexedDim& dim = DimAt(element);
    std::string reason =
        dim.taken == 1
            ? fmt::format("index {} is out of bounds for a dim of size {}", index, dim.size)
            : fmt::format("{} elements from index {} on are out of bounds for a dim of size {}",
                          dim.taken, index, dim.size);
    base::ThrowRuntime(
        {.kind = {},
         .op = op_,
         .label = op_ + ".bounds",
         .where = base::Where(loc_),
         .reason = std::move(reason),
         .operands = {},
         .notes = PlaceNotes(arguments, position,
                             ir::CoordsOf({type.shape().begin(), type.shape().end()}, element)),
         .fixes = {}});
  }

  const std::vector<IndexedDim> dims_;
  const Negative negative_;
  const std::string op_;
  const Loc loc_;
};

}  // namespace

void CheckIndices(const Array& indices, std::vector<IndexedDim> dims, Negative negative,
                  Call call) {
  if (!trace::ChecksIndices() || dims.empty() || !TypeOf(indices)->dtype().is_integer()) return;
  CallHost(std::make_shared<const IndexCheck>(std::move(dims), negative, call),
           RefsOf(std::vector<Array>{indices}, call), {}, call);
}

}  // namespace api

CheckedIndices::CheckedIndices() : old_(trace::ChecksIndices()) { trace::SetChecksIndices(true); }
CheckedIndices::~CheckedIndices() { trace::SetChecksIndices(old_); }

}  // namespace tessera
