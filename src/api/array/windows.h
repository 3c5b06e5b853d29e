// Windows over arrays: their padding, by rules, and their reductions.
#pragma once
#include "api/core/operands.h"
#include "ops/windows.h"
#include "tessera/windows.h"

namespace tessera::api {

// Sets the padding of windows along dims of these sizes. The rules count elements: the array is
// dilated already. C17: throws ShapeError for another number of edges.
void SetPadding(const WindowPadding& padding, const std::vector<int64_t>& sizes,
                std::vector<ops::DimWindow>& windows, Call call);

// Returns `list`, or ones if it is empty. C17: throws ShapeError for another length.
std::vector<int64_t> OnesOr(std::vector<int64_t> list, size_t length, const char* what, Call call);

// Returns the windows of reduce_window over an array of this shape. C17: throws ShapeError for
// lists of another length.
std::vector<ops::DimWindow> WindowsOf(const base::Shape& shape, const std::vector<int64_t>& window,
                                      const WindowOptions& options, Call call);
// Returns the reduction of these windows of x.
Array RunWindows(const Array& x, Reduction reduction, const std::vector<ops::DimWindow>& windows,
                 Call call);

}  // namespace tessera::api
