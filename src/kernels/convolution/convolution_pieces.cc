// A piece has the part of lhs under its windows. Pieces in the middle are equal, so there are few
// kernels; oneDNN sets up about 1 KB for each element of a dim.
#include "kernels/convolution/convolution_pieces.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kLongest = 4096, kPiece = 2048, kMostElements = 65536;
// So few elements of lhs per index of a dim are smaller than oneDNN's tables.
constexpr int64_t kFewPerIndex = 32;

struct Piece {
  size_t kernel = 0;         // of PiecesConfig::kernels
  int64_t lhs = 0, out = 0;  // offsets in bytes
};
struct PiecesConfig {
  std::vector<plan::Kernel> kernels;
  std::vector<Piece> pieces;
};

void RunPieces(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const PiecesConfig*>(call.config);
  const Range share = Share(std::ssize(c.pieces), 1, call.part, call.parts);
  for (int64_t p = share.begin; p < share.end; ++p) {
    const Piece& piece = c.pieces[static_cast<size_t>(p)];
    const plan::Kernel& kernel = c.kernels[piece.kernel];
    const std::byte* in[] = {call.in[0] + piece.lhs, call.in[1]};
    std::byte* out = call.out[0] + piece.out;
    plan::KernelArgs one = call;
    one.config = kernel.config.get();
    one.in = in, one.out = &out;
    one.part = 0, one.parts = 1;
    kernel.fn(one);
  }
}

// Returns the dim for elements [begin, begin + count) of the result, and where its part of lhs
// begins.
std::pair<ConvolutionDim, int64_t> PieceOf(const ConvolutionDim& dim, int64_t begin,
                                           int64_t count) {
  const WindowDim& w = dim.window;
  ConvolutionDim piece = dim;
  piece.out_size = count;
  const int64_t first = begin * w.stride - w.low, start = std::max<int64_t>(first, 0);
  piece.window.low = start - first;
  const int64_t reach = (count - 1) * w.stride + (w.size - 1) * w.window_dilation + 1;
  piece.lhs_size = std::min(dim.lhs_size - start, reach - piece.window.low);
  return {piece, start};
}

bool IsEqual(const ConvolutionDim& a, const ConvolutionDim& b) {
  return a.out_size == b.out_size && a.lhs_size == b.lhs_size && a.window.low == b.window.low;
}

int64_t LongestDim(const ConvolutionDesc& desc) {
  int64_t longest = 0;
  for (const ConvolutionDim& d : desc.dims)
    longest = std::max({longest, d.window.size, d.lhs_size, d.out_size});
  return longest;
}

// Whether lhs is small beside oneDNN's tables. If it is large, the products take more time.
bool HasFewPerIndex(const ConvolutionDesc& desc) {
  auto elements = static_cast<double>(desc.batch * desc.groups * desc.in_features);
  for (const ConvolutionDim& d : desc.dims) elements *= static_cast<double>(d.lhs_size);
  return elements <= static_cast<double>(kFewPerIndex) * static_cast<double>(LongestDim(desc));
}

}  // namespace

bool HasLargeTables(const ConvolutionDesc& desc) {
  return LongestDim(desc) > kMostElements && HasFewPerIndex(desc);
}

std::optional<plan::Kernel> ConvolutionByPieces(
    const ConvolutionDesc& desc,
    absl::FunctionRef<std::optional<plan::Kernel>(const ConvolutionDesc& piece)> make) {
  const auto longest = absl::c_max_element(
      desc.dims, [](const auto& a, const auto& b) { return a.out_size < b.out_size; });
  if (longest == desc.dims.end() || longest->out_size <= kLongest || !HasFewPerIndex(desc) ||
      longest->window.base_dilation > 1 || longest->window.size > kPiece)
    return std::nullopt;
  auto c = std::make_shared<PiecesConfig>();
  std::vector<ConvolutionDim> made;
  plan::Kernel all;
  for (int64_t begin = 0; begin < longest->out_size; begin += kPiece) {
    const auto [dim, start] = PieceOf(*longest, begin, std::min(kPiece, longest->out_size - begin));
    if (dim.lhs_size <= 0) return std::nullopt;
    const auto known = absl::c_find_if(made, [&](const auto& d) { return IsEqual(d, dim); });
    c->pieces.push_back({.kernel = static_cast<size_t>(known - made.begin()),
                         .lhs = start * dim.lhs_stride * desc.lhs_dtype.size(),
                         .out = begin * dim.out_stride * desc.out_dtype.size()});
    if (known != made.end()) continue;
    made.push_back(dim);
    ConvolutionDesc piece = desc;
    piece.dims[static_cast<size_t>(longest - desc.dims.begin())] = dim;
    const std::optional<plan::Kernel> kernel = make(piece);
    if (!kernel) return std::nullopt;
    all.scratch_bytes = std::max(all.scratch_bytes, kernel->scratch_bytes);
    c->kernels.push_back(*kernel);
  }
  all.fn = &RunPieces;
  all.max_parts = static_cast<int32_t>(c->pieces.size());
  all.config = std::move(c);
  return all;
}

}  // namespace tessera::kernels
