// What the bodies of public functions are written with: the names of the frontend.
#pragma once
#include "frontend/operands.h"

namespace tessera::api {

using namespace frontend;

}  // namespace tessera::api
