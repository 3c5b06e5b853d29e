#include "runtime/exchange.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/arena.h"

namespace tessera::runtime {
namespace {

// A result larger than this is not in the caches when it is read: written past them.
constexpr int64_t kStreamFrom = int64_t{16} << 20;
constexpr int64_t kCopyUnit = int64_t{16} << 10;
constexpr int64_t kReduceUnit = int64_t{1} << 10;
// Shorter runs of a strided operand are packed before they are reduced: a call costs about 10 ns.
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

// A run of a size known to the compiler is one or two moves.
template <int64_t kRun>
void FixedRows(std::byte* dst, const std::byte* src, int64_t rows, int64_t out_stride,
               int64_t in_stride, int64_t) {
  for (int64_t r = 0; r < rows; ++r) std::memcpy(dst + r * out_stride, src + r * in_stride, kRun);
}

void AnyRows(std::byte* dst, const std::byte* src, int64_t rows, int64_t out_stride,
             int64_t in_stride, int64_t run) {
  for (int64_t r = 0; r < rows; ++r) std::memcpy(dst + r * out_stride, src + r * in_stride, run);
}

void StreamRows(std::byte* dst, const std::byte* src, int64_t rows, int64_t out_stride,
                int64_t in_stride, int64_t run) {
  for (int64_t r = 0; r < rows; ++r) StreamCopy(dst + r * out_stride, src + r * in_stride, run);
}

}  // namespace

ReadyExchange::ReadyExchange(const plan::Exchange& exchange, const plan::Value& out)
    : item_(exchange.dtype.size()), out_bytes_(out.bytes) {
  Normalise(exchange);
  AddPieces(exchange);
  const auto instances = static_cast<int32_t>(exchange.pieces.size());
  stream_ = out_bytes_ * instances >= kStreamFrom;
  ChooseRows();
  if (exchange.reduces) PrepareReduction(exchange);
  else PrepareCopies(instances);
  const auto moved = static_cast<double>(rows_ * run_) * static_cast<double>(pieces_.size());
  bytes_ = moved + static_cast<double>(out_bytes_) * instances;
}

// Drops dims of extent 1, orders them as they lie in the result, merges neighbours.
void ReadyExchange::Normalise(const plan::Exchange& exchange) {
  std::vector<Dim> dims;
  for (size_t d = 0; d < exchange.box.size(); ++d) {
    rows_ *= exchange.box[d];
    if (exchange.box[d] == 1) continue;
    dims.push_back({exchange.box[d], exchange.in_strides[d] * item_,
                    exchange.out_strides[d] * item_});
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [](const Dim& a, const Dim& b) { return a.out > b.out; });
  for (const Dim& dim : dims) {
    if (!dims_.empty() && dims_.back().in == dim.in * dim.extent &&
        dims_.back().out == dim.out * dim.extent) {
      dims_.back() = {dims_.back().extent * dim.extent, dim.in, dim.out};
    } else {
      dims_.push_back(dim);
    }
  }
  run_ = item_;
  if (!dims_.empty() && dims_.back().in == item_ && dims_.back().out == item_) {
    run_ *= dims_.back().extent;
    rows_ /= std::max<int64_t>(dims_.back().extent, 1);
    dims_.pop_back();
  }
  if (rows_ == 0 || run_ == 0) rows_ = 0, run_ = item_, dims_.clear();
}

void ReadyExchange::AddPieces(const plan::Exchange& exchange) {
  for (size_t i = 0; i < exchange.pieces.size(); ++i) {
    first_piece_.push_back(static_cast<int64_t>(pieces_.size()));
    even_ &= exchange.pieces[i].size() == exchange.pieces[0].size();
    for (const auto& piece : exchange.pieces[i]) {
      pieces_.push_back({static_cast<int32_t>(i), piece.source, piece.in_offset * item_,
                         piece.out_offset * item_});
    }
  }
  first_piece_.push_back(static_cast<int64_t>(pieces_.size()));
}

void ReadyExchange::PrepareReduction(const plan::Exchange& exchange) {
  reduce_ = FindReduce(exchange.dtype, exchange.reduction);
  if (!reduce_) Malformed("the dtype does not have this reduction");
  if (rows_ * run_ != out_bytes_) Malformed("the pieces of a reduction do not cover the result");
  int64_t dense = run_;
  for (size_t d = dims_.size(); d-- > 0; dense *= dims_[d].extent) {
    if (dims_[d].out != dense) Malformed("the pieces of a reduction overlap themselves");
  }
  for (const auto& pieces : exchange.pieces) {
    if (pieces.empty()) Malformed("a reduction of nothing");
    if (pieces.size() > kMaxSources) Malformed("a reduction of more than 4096 pieces");
    for (const auto& piece : pieces) {
      if (piece.out_offset != 0) Malformed("the pieces of a reduction do not cover the result");
    }
  }
  unit_ = dims_.empty() ? kReduceUnit : RoundUp(kReduceUnit, run_);
  units_each_ = (out_bytes_ + unit_ - 1) / unit_;
  units_ = units_each_ * static_cast<int64_t>(exchange.pieces.size());
  even_ = true;
}

void ReadyExchange::PrepareCopies(int32_t instances) {
  unit_ = kCopyUnit;
  units_each_ = dims_.empty() ? (rows_ * run_ + unit_ - 1) / unit_ : rows_;
  units_ = units_each_ * static_cast<int64_t>(pieces_.size());
  std::vector<bool> fill(instances);
  for (int32_t i = 0; i < instances; ++i) {
    fill[i] = rows_ * run_ * (first_piece_[i + 1] - first_piece_[i]) < out_bytes_;
  }
  if (std::find(fill.begin(), fill.end(), true) == fill.end()) return;
  fill_ = std::move(fill);  // an instance is then one unit: zeros before pieces
  units_ = instances;
  even_ = true;
}

void ReadyExchange::ChooseRows() {
  switch (run_) {
    case 1: copy_rows_ = FixedRows<1>; break;
    case 2: copy_rows_ = FixedRows<2>; break;
    case 4: copy_rows_ = FixedRows<4>; break;
    case 8: copy_rows_ = FixedRows<8>; break;
    case 16: copy_rows_ = FixedRows<16>; break;
    case 32: copy_rows_ = FixedRows<32>; break;
    case 64: copy_rows_ = FixedRows<64>; break;
    default: copy_rows_ = stream_ && run_ >= 4096 ? StreamRows : AnyRows;
  }
}

void ReadyExchange::Run(const View& in, const View& out, int64_t begin, int64_t end) const {
  if (begin >= end) return;
  if (reduce_) RunReduction(in, out, begin, end);
  else if (!fill_.empty()) RunFilled(in, out, begin, end);
  else RunCopies(in, out, begin, end);
}

void ReadyExchange::RunCopies(const View& in, const View& out, int64_t begin, int64_t end) const {
  for (int64_t p = begin / units_each_; p * units_each_ < end; ++p) {
    const int64_t first = p * units_each_;
    CopyPiece(pieces_[p], in, out, std::max(begin - first, int64_t{0}),
              std::min(end - first, units_each_));
  }
}

void ReadyExchange::RunFilled(const View& in, const View& out, int64_t begin, int64_t end) const {
  for (int64_t i = begin; i < end; ++i) {
    if (fill_[i]) std::memset(out.at(i), 0, out_bytes_);
    for (int64_t p = first_piece_[i]; p < first_piece_[i + 1]; ++p) {
      CopyPiece(pieces_[p], in, out, 0, units_each_);
    }
  }
}

// Units [begin, end) of one piece: rows, or unit_ bytes each of a dense one.
void ReadyExchange::CopyPiece(const Piece& piece, const View& in, const View& out, int64_t begin,
                              int64_t end) const {
  const std::byte* src = in.at(piece.source) + piece.in;
  std::byte* dst = out.at(piece.instance) + piece.out;
  if (!dims_.empty()) return CopyRows(dst, src, begin, end, 0);
  const int64_t first = begin * unit_, last = std::min(end * unit_, rows_ * run_);
  if (first >= last) return;
  if (stream_) StreamCopy(dst + first, src + first, last - first);
  else std::memcpy(dst + first, src + first, last - first);
}

// Rows [begin, end) to where the result has them, less `shift` bytes.
void ReadyExchange::CopyRows(std::byte* dst, const std::byte* src, int64_t begin, int64_t end,
                             int64_t shift) const {
  const Dim& inner = dims_.back();
  while (begin < end) {
    int64_t outer = begin / inner.extent;
    const int64_t within = begin - outer * inner.extent;
    const int64_t rows = std::min(inner.extent - within, end - begin);
    int64_t from = within * inner.in, to = within * inner.out - shift;
    for (size_t d = dims_.size() - 1; d-- > 0;) {
      const int64_t index = outer % dims_[d].extent;
      outer /= dims_[d].extent;
      from += index * dims_[d].in, to += index * dims_[d].out;
    }
    copy_rows_(dst + to, src + from, rows, inner.out, inner.in, run_);
    begin += rows;
  }
}

void ReadyExchange::RunReduction(const View& in, const View& out, int64_t begin,
                                 int64_t end) const {
  const std::byte* src[kMaxSources];
  for (int64_t i = begin / units_each_; i * units_each_ < end; ++i) {
    const int64_t lo = std::max(begin - i * units_each_, int64_t{0}) * unit_;
    const int64_t hi = std::min(std::min(end - i * units_each_, units_each_) * unit_, out_bytes_);
    const int k = static_cast<int>(first_piece_[i + 1] - first_piece_[i]);
    const Piece* pieces = &pieces_[first_piece_[i]];
    const int64_t offset = dims_.empty() ? lo : 0;
    for (int j = 0; j < k; ++j) src[j] = in.at(pieces[j].source) + pieces[j].in + offset;
    const bool pack = run_ < kShortRun && k * run_ <= kPackBytes;
    if (dims_.empty()) reduce_(src, k, out.at(i) + lo, (hi - lo) / item_, stream_);
    else if (pack) ReducePacked(src, k, out.at(i), lo / run_, hi / run_);
    else ReduceRows(src, k, out.at(i), lo / run_, hi / run_);
  }
}

// Rows [begin, end) of a strided operand, run by run. The result is dense.
void ReadyExchange::ReduceRows(const std::byte* const* src, int k, std::byte* dst, int64_t begin,
                               int64_t end) const {
  const std::byte* at[kMaxSources];
  for (int64_t row = begin; row < end; ++row) {
    int64_t outer = row, from = 0;
    for (size_t d = dims_.size(); d-- > 0; outer /= dims_[d].extent) {
      from += outer % dims_[d].extent * dims_[d].in;
    }
    for (int j = 0; j < k; ++j) at[j] = src[j] + from;
    reduce_(at, k, dst + row * run_, run_ / item_, stream_);
  }
}

// The same by way of a dense copy of some rows of each source.
void ReadyExchange::ReducePacked(const std::byte* const* src, int k, std::byte* dst, int64_t begin,
                                 int64_t end) const {
  alignas(kLine) std::byte packed[kPackBytes];
  const int64_t rows = kPackBytes / (k * run_);
  const std::byte* at[kMaxSources];
  for (int64_t row = begin; row < end; row += rows) {
    const int64_t count = std::min(rows, end - row);
    for (int j = 0; j < k; ++j) {
      std::byte* to = packed + j * rows * run_;
      CopyRows(to, src[j], row, row + count, row * run_);
      at[j] = to;
    }
    reduce_(at, k, dst + row * run_, count * run_ / item_, stream_);
  }
}

}  // namespace tessera::runtime
