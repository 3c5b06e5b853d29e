// Prepares exchanges, splits them into units, and runs them.
#include "runtime/exchange.h"

#include <algorithm>
#include <cstring>

#include "base/at.h"
#include "base/error.h"
#include "runtime/arena.h"
#include "runtime/stream_copy.h"

namespace tessera::runtime {
namespace {

// A result larger than this does not stay in the caches, so it is written past them.
constexpr int64_t kStreamFrom = int64_t{16} << 20;
constexpr int64_t kCopyUnit = int64_t{16} << 10;
constexpr int64_t kReduceUnit = int64_t{1} << 10;
// Shorter runs of a strided operand are packed before they are reduced, as a call costs about
// 10 ns.
constexpr int64_t kShortRun = 512;
constexpr int64_t kPackBytes = int64_t{32} << 10;
constexpr int kMaxSources = 4096;

[[noreturn]] void Malformed(const char* reason) {
  ErrorDetail detail;
  detail.op = "exchange";
  detail.label = "exchange.plan";
  detail.reason = reason;
  base::ThrowInternal(std::move(detail));
}

// Copies runs of a size known to the compiler with one or two moves each.
template <int64_t kRun>
void FixedRows(std::byte* dst, const std::byte* src, int64_t rows, int64_t out_stride,
               int64_t in_stride, int64_t) {
  for (int64_t r = 0; r < rows; ++r) std::memcpy(dst + r * out_stride, src + r * in_stride, kRun);
}

void AnyRows(std::byte* dst, const std::byte* src, int64_t rows, int64_t out_stride,
             int64_t in_stride, int64_t run) {
  for (int64_t r = 0; r < rows; ++r) std::memcpy(dst + r * out_stride, src + r * in_stride, run);
}

// Fetches a row: the hardware prefetcher does not continue from one row to a distant next one.
void FetchRow(const std::byte* row, int64_t bytes) {
  for (int64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(row + k);
}

void StreamRows(std::byte* dst, const std::byte* src, int64_t rows, int64_t out_stride,
                int64_t in_stride, int64_t run) {
  for (int64_t r = 0; r < rows; ++r) {
    if (in_stride > run) FetchRow(src + (r + 1) * in_stride, run);
    StreamCopy(dst + r * out_stride, src + r * in_stride, run);
  }
}

}  // namespace

ReadyExchange::ReadyExchange(const plan::Exchange& exchange, const plan::PlanValue& out)
    : item_(exchange.dtype.size()),
      in_item_(exchange.computed_from.value_or(exchange.dtype).size()),
      out_bytes_(out.bytes),
      combine_(exchange.combine) {
  const auto instances = static_cast<int32_t>(exchange.pieces.size());
  stream_ = out_bytes_ * instances >= kStreamFrom;
  for (const plan::Box& box : exchange.boxes) {
    boxes_.push_back(Normalise(box));
    ChooseRows(boxes_.back());
    if (boxes_.back().rows > 0) boxes_.back().copy = box.copy;
  }
  AddPieces(exchange);
  if (combine_)
    PrepareReduction(exchange);
  else
    PrepareCopies(instances, !exchange.receives.empty());
  bytes_ = static_cast<double>(out_bytes_) * instances;
  for (const ReadyPiece& piece : pieces_) {
    const ReadyBox& box = boxes_[piece.box];
    bytes_ += static_cast<double>(box.bytes() / item_ * in_item_);
    flops_ += box.copy.flops;
  }
}

// Drops dims of extent 1, orders the others by their stride in the result, and merges neighbours.
ReadyExchange::ReadyBox ReadyExchange::Normalise(const plan::Box& from) const {
  ReadyBox box;
  std::vector<Dim> dims;
  for (size_t d = 0; d < from.extents.size(); ++d) {
    box.rows *= from.extents[d];
    if (from.extents[d] == 1) continue;
    dims.push_back({from.extents[d], from.in_strides[d] * item_, from.out_strides[d] * item_});
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [](const Dim& a, const Dim& b) { return a.out > b.out; });
  std::vector<Dim>& merged = box.dims;
  for (const Dim& dim : dims) {
    if (!merged.empty() && merged.back().in == dim.in * dim.extent &&
        merged.back().out == dim.out * dim.extent) {
      merged.back() = {merged.back().extent * dim.extent, dim.in, dim.out};
    } else {
      merged.push_back(dim);
    }
  }
  box.run = item_;
  if (!merged.empty() && merged.back().in == item_ && merged.back().out == item_) {
    box.run *= merged.back().extent;
    box.rows /= std::max<int64_t>(merged.back().extent, 1);
    merged.pop_back();
  }
  if (box.rows == 0 || box.run == 0) box.rows = 0, box.run = item_, merged.clear();
  return box;
}

void ReadyExchange::AddPieces(const plan::Exchange& exchange) {
  for (size_t i = 0; i < exchange.pieces.size(); ++i) {
    first_piece_.push_back(static_cast<int64_t>(pieces_.size()));
    even_ &= exchange.pieces[i].size() == exchange.pieces[0].size();
    for (const auto& piece : exchange.pieces[i]) {
      pieces_.push_back({static_cast<int32_t>(i), piece.source, piece.box, piece.operand,
                         piece.in_offset * in_item_, piece.out_offset * item_});
    }
  }
  first_piece_.push_back(static_cast<int64_t>(pieces_.size()));
}

void ReadyExchange::PrepareReduction(const plan::Exchange& exchange) {
  if (boxes_.size() != 1 || boxes_[0].bytes() != out_bytes_) {
    Malformed("the pieces of a reduction do not cover the result");
  }
  const ReadyBox& box = boxes_[0];
  int64_t dense = box.run;
  for (size_t d = box.dims.size(); d-- > 0; dense *= box.dims[d].extent) {
    if (box.dims[d].out != dense) Malformed("the pieces of a reduction overlap themselves");
  }
  for (const auto& pieces : exchange.pieces) {
    if (pieces.empty() && out_bytes_ > 0) Malformed("a reduction of nothing");
    if (pieces.size() > kMaxSources) Malformed("a reduction of more than 4096 pieces");
    for (const auto& piece : pieces) {
      if (piece.out_offset != 0) Malformed("the pieces of a reduction do not cover the result");
    }
  }
  unit_ = box.dims.empty() ? kReduceUnit : RoundUp(kReduceUnit, box.run);
  units_each_ = (out_bytes_ + unit_ - 1) / unit_;
  units_ = units_each_ * static_cast<int64_t>(exchange.pieces.size());
  even_ = true;
}

void ReadyExchange::PrepareCopies(int32_t instances, bool receives) {
  unit_ = kCopyUnit;
  for (ReadyBox& box : boxes_) {
    box.units = box.copy.fn        ? box.copy.max_parts
                : box.dims.empty() ? (box.bytes() + unit_ - 1) / unit_
                                   : box.rows;
    even_ &= box.units == boxes_[0].units;
  }
  std::vector<bool> fill(instances);
  for (int32_t i = 0; i < instances; ++i) {
    int64_t covered = 0;
    for (int64_t p = first_piece_[i]; p < first_piece_[i + 1]; ++p) {
      covered += boxes_[pieces_[p].box].bytes();
      first_unit_.push_back(units_);
      units_ += boxes_[pieces_[p].box].units;
    }
    fill[i] = covered < out_bytes_ && !receives;
  }
  if (std::find(fill.begin(), fill.end(), true) == fill.end()) return;
  fill_ = std::move(fill);  // each instance is then one unit: zeros first, then its pieces
  units_ = instances;
  even_ = true;
}

void ReadyExchange::ChooseRows(ReadyBox& box) const {
  switch (box.run) {
    case 1:
      box.copy_rows = FixedRows<1>;
      break;
    case 2:
      box.copy_rows = FixedRows<2>;
      break;
    case 4:
      box.copy_rows = FixedRows<4>;
      break;
    case 8:
      box.copy_rows = FixedRows<8>;
      break;
    case 16:
      box.copy_rows = FixedRows<16>;
      break;
    case 32:
      box.copy_rows = FixedRows<32>;
      break;
    case 64:
      box.copy_rows = FixedRows<64>;
      break;
    default:
      box.copy_rows = stream_ && box.run >= 1024 ? StreamRows : AnyRows;
  }
}

void ReadyExchange::Run(Views views, const ViewId* in, const View& out, int64_t begin, int64_t end,
                        std::byte* scratch) const {
  if (begin >= end) return;
  const ReadyOperands operands{views, in, scratch};
  if (combine_)
    RunReduction(operands, out, begin, end);
  else if (!fill_.empty())
    RunFilled(operands, out, begin, end);
  else
    RunCopies(operands, out, begin, end);
  if (stream_ && !combine_) FinishStreams();
}

void ReadyExchange::RunCopies(const ReadyOperands& in, const View& out, int64_t begin,
                              int64_t end) const {
  auto p = base::Size(std::upper_bound(first_unit_.begin(), first_unit_.end(), begin) -
                      first_unit_.begin() - 1);
  for (; p < pieces_.size() && first_unit_[p] < end; ++p) {
    CopyPiece(pieces_[p], in, out, std::max(begin - first_unit_[p], int64_t{0}),
              std::min(end - first_unit_[p], boxes_[pieces_[p].box].units));
  }
}

void ReadyExchange::RunFilled(const ReadyOperands& in, const View& out, int64_t begin,
                              int64_t end) const {
  for (int64_t i = begin; i < end; ++i) {
    if (fill_[i]) std::memset(out.at(i), 0, out_bytes_);
    for (int64_t p = first_piece_[i]; p < first_piece_[i + 1]; ++p) {
      CopyPiece(pieces_[p], in, out, 0, boxes_[pieces_[p].box].units);
    }
  }
}

// Copies units [begin, end) of one piece. A unit is a row, or unit_ bytes of a dense piece.
void ReadyExchange::CopyPiece(const ReadyPiece& piece, const ReadyOperands& in, const View& out,
                              int64_t begin, int64_t end) const {
  const ReadyBox& box = boxes_[piece.box];
  const std::byte* src = in.at(piece);
  std::byte* dst = out.at(piece.instance) + piece.out;
  if (box.copy.fn) return CopyParts(box, dst, src, begin, end, in.scratch);
  if (!box.dims.empty()) return CopyRows(box, dst, src, begin, end, 0);
  const int64_t first = begin * unit_, last = std::min(end * unit_, box.bytes());
  if (first >= last) return;
  if (stream_)
    StreamCopy(dst + first, src + first, last - first);
  else
    std::memcpy(dst + first, src + first, last - first);
}

void ReadyExchange::CopyParts(const ReadyBox& box, std::byte* dst, const std::byte* src,
                              int64_t begin, int64_t end, std::byte* scratch) {
  plan::KernelArgs call{.config = box.copy.config.get(),
                        .in = &src,
                        .out = &dst,
                        .scratch = scratch,
                        .parts = static_cast<int32_t>(box.units)};
  for (int64_t part = begin; part < end; ++part) {
    call.part = static_cast<int32_t>(part);
    box.copy.fn(call);
  }
}

// Copies rows [begin, end) to their offsets in the result minus `shift` bytes.
void ReadyExchange::CopyRows(const ReadyBox& box, std::byte* dst, const std::byte* src,
                             int64_t begin, int64_t end, int64_t shift) {
  const std::vector<Dim>& dims = box.dims;
  const Dim& inner = dims.back();
  while (begin < end) {
    int64_t outer = begin / inner.extent;
    const int64_t within = begin - outer * inner.extent;
    const int64_t rows = std::min(inner.extent - within, end - begin);
    int64_t from = within * inner.in, to = within * inner.out - shift;
    for (size_t d = dims.size() - 1; d-- > 0;) {
      const int64_t index = outer % dims[d].extent;
      outer /= dims[d].extent;
      from += index * dims[d].in, to += index * dims[d].out;
    }
    box.copy_rows(dst + to, src + from, rows, inner.out, inner.in, box.run);
    begin += rows;
  }
}

void ReadyExchange::RunReduction(const ReadyOperands& in, const View& out, int64_t begin,
                                 int64_t end) const {
  const std::byte* src[kMaxSources];
  const ReadyBox& box = boxes_[0];
  for (int64_t i = begin / units_each_; i * units_each_ < end; ++i) {
    const int64_t lo = std::max(begin - i * units_each_, int64_t{0}) * unit_;
    const int64_t hi = std::min(std::min(end - i * units_each_, units_each_) * unit_, out_bytes_);
    const int k = static_cast<int>(first_piece_[i + 1] - first_piece_[i]);
    const ReadyPiece* pieces = &pieces_[first_piece_[i]];
    const int64_t offset = box.dims.empty() ? lo : 0;
    for (int j = 0; j < k; ++j) src[j] = in.at(pieces[j]) + offset;
    const bool pack = box.run < kShortRun && k * box.run <= kPackBytes;
    if (box.dims.empty())
      combine_(src, k, out.at(i) + lo, (hi - lo) / item_, stream_);
    else if (pack)
      ReducePacked(src, k, out.at(i), lo / box.run, hi / box.run);
    else
      ReduceRows(src, k, out.at(i), lo / box.run, hi / box.run);
  }
}

// Reduces rows [begin, end) of a strided operand run by run. The result is dense.
void ReadyExchange::ReduceRows(const std::byte* const* src, int k, std::byte* dst, int64_t begin,
                               int64_t end) const {
  const std::byte* at[kMaxSources];
  const ReadyBox& box = boxes_[0];
  for (int64_t row = begin; row < end; ++row) {
    int64_t outer = row, from = 0;
    for (size_t d = box.dims.size(); d-- > 0; outer /= box.dims[d].extent) {
      from += outer % box.dims[d].extent * box.dims[d].in;
    }
    for (int j = 0; j < k; ++j) at[j] = src[j] + from;
    combine_(at, k, dst + row * box.run, box.run / item_, stream_);
  }
}

// Does the same through dense copies of some rows of each source.
void ReadyExchange::ReducePacked(const std::byte* const* src, int k, std::byte* dst, int64_t begin,
                                 int64_t end) const {
  alignas(kLine) std::byte packed[kPackBytes];
  const ReadyBox& box = boxes_[0];
  const int64_t rows = kPackBytes / (k * box.run);
  const std::byte* at[kMaxSources];
  for (int64_t row = begin; row < end; row += rows) {
    const int64_t count = std::min(rows, end - row);
    for (int j = 0; j < k; ++j) {
      std::byte* to = packed + j * rows * box.run;
      CopyRows(box, to, src[j], row, row + count, row * box.run);
      at[j] = to;
    }
    combine_(at, k, dst + row * box.run, count * box.run / item_, stream_);
  }
}

bool ReadyExchange::IsSmallReduction() const {
  if (!combine_ || stream_ || units_each_ != 1 || !boxes_[0].dims.empty()) return false;
  for (size_t i = 0; i + 1 < first_piece_.size(); ++i)
    if (first_piece_[i + 1] - first_piece_[i] > SmallReductions::kMostSources) return false;
  return true;
}

void ReadyExchange::AddTo(SmallReductions& small, const std::vector<ViewId>& in, ViewId out) const {
  std::vector<SmallReductions::Source> sources;
  for (size_t i = 0; i + 1 < first_piece_.size(); ++i) {
    sources.clear();
    for (int64_t p = first_piece_[i]; p < first_piece_[i + 1]; ++p)
      sources.push_back({in[pieces_[p].operand], pieces_[p].source, pieces_[p].in});
    small.Add(combine_, out_bytes_ / item_, sources, out, static_cast<int32_t>(i));
  }
}

void ReadyExchanges::Add(ReadyExchange exchange, std::vector<ViewId> in, ViewId out) {
  const int64_t first = units_;
  int64_t first_small = -1;
  if (exchange.IsSmallReduction()) {
    first_small = small_.count();
    exchange.AddTo(small_, in, out);
  }
  units_ += exchange.units();
  bytes_ += exchange.bytes();
  flops_ += exchange.flops();
  parts_.push_back({std::move(exchange), std::move(in), out, first, first_small});
}

void ReadyExchanges::Run(Views views, int64_t begin, int64_t end, std::byte* scratch) const {
  if (small_.count() == units_) return small_.Run(views, begin, end);
  auto part = std::upper_bound(parts_.begin(), parts_.end(), begin,
                               [](int64_t unit, const Part& p) { return unit < p.first_unit; });
  for (--part; part != parts_.end() && part->first_unit < end; ++part) {
    const ReadyExchange& e = part->exchange;
    const int64_t from = std::max(begin - part->first_unit, int64_t{0});
    const int64_t to = std::min(end - part->first_unit, e.units());
    if (part->first_small < 0)
      e.Run(views, part->in.data(), views[part->out], from, to, scratch);
    else
      small_.Run(views, part->first_small + from, part->first_small + to);
  }
}

}  // namespace tessera::runtime
