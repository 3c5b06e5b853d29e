// Reductions of windows that move over an array, and pooling.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/array.h"
#include "tessera/reduction.h"

namespace TESSERA_PUBLIC tessera {

// How an array is padded before windows move over it: by a rule, or by a low and a high number of
// positions per dim, which may be negative. Rules:
// - "VALID": not at all.
// - "SAME": as far as is needed for ceil(size / stride) windows; an odd position goes to the end.
// - "SAME_LOWER": same, but an odd position goes to the front.
class WindowPadding {
 public:
  WindowPadding(const char* rule) : rule_(rule) {}
  WindowPadding(std::vector<std::pair<int64_t, int64_t>> edges) : edges_(std::move(edges)) {}
  // "" if edges are given.
  std::string_view rule() const { return rule_; }
  const std::vector<std::pair<int64_t, int64_t>>& edges() const { return edges_; }
  friend bool operator==(const WindowPadding&, const WindowPadding&) = default;

 private:
  std::string rule_;
  std::vector<std::pair<int64_t, int64_t>> edges_;
};

// Each list has one entry per dim; an empty list has ones. Dilation puts positions between the
// elements of the array (`base_dilation` - 1), or of the window.
struct WindowOptions {
  std::vector<int64_t> strides = {};
  WindowPadding padding = "VALID";
  std::vector<int64_t> base_dilation = {}, window_dilation = {};
};
// Returns the reduction of each window of size `window`, which has one entry per dim of x:
// [...] -> [windows along each dim]. Positions without an element count as the identity of the
// reduction (0, 1, the lowest or the highest number, all or no bits). A dim whose window exceeds it
// gives no windows. The result has x's dtype and sharding. A sharded dim whose window is larger
// than 1 must have a number of windows that its shards divide; devices exchange the elements at the
// edges of shards. Refuses bools for sums and products, and floats for `and` and `or`. Throws
// ShapeError for sizes, strides or dilations below 1, and for lists of another length.
Array reduce_window(Operand x, Reduction reduction, std::vector<int64_t> window,
                    WindowOptions options = {}, Loc loc = Loc::Current());

// Pools over the dims before the last: x is [batch..., window dims..., features], and `window`,
// strides and padding have one entry per window dim. Results are sharded as those of reduce_window.
struct PoolOptions {
  std::vector<int64_t> strides = {};
  WindowPadding padding = "VALID";
};
struct AvgPoolOptions {
  std::vector<int64_t> strides = {};
  WindowPadding padding = "VALID";
  bool count_include_pad = true;  // whether padding counts as elements
};
// Returns the largest element of each window: [batch..., windows..., features]. NaN wins. The
// derivative goes to the first largest element.
Array max_pool(Operand x, std::vector<int64_t> window, PoolOptions options = {},
               Loc loc = Loc::Current());
// Returns the smallest element of each window: [batch..., windows..., features]. NaN wins. The
// derivative goes to the first smallest element.
Array min_pool(Operand x, std::vector<int64_t> window, PoolOptions options = {},
               Loc loc = Loc::Current());
// Returns the mean of each window: [batch..., windows..., features]; floating.
Array avg_pool(Operand x, std::vector<int64_t> window, AvgPoolOptions options = {},
               Loc loc = Loc::Current());

}  // namespace tessera
