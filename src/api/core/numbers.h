// Arrays of one number that the user wrote, as Array(0.1) is. They are weak, and remember the
// number: beside a wider dtype it is rounded to that one, as a plain number is.
#pragma once
#include <optional>

#include "api/core/operands.h"

namespace tessera::api {

Array NumberArray(const Scalar& number, Call call);
// Returns the number of such an array.
std::optional<Scalar> NumberOf(const Array& x);

}  // namespace tessera::api
