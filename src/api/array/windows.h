// Padding of windows, by rules.
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

}  // namespace tessera::api
