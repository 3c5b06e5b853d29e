// The special functions by name, for tests whose inputs are files.
#pragma once
#include <tessera/tessera.h>

#include <map>
#include <string>
#include <vector>

namespace tessera::special_test {

using Arrays = std::vector<Array>;
using SpecialFunction = Arrays (*)(const Arrays&);

const std::map<std::string, SpecialFunction>& SpecialFunctions();

}  // namespace tessera::special_test
