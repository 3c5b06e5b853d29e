// Arrays of JSON, as values.py writes them.
#pragma once
#include <tessera/tessera.h>

#include <nlohmann/json.hpp>

namespace tessera::functions {

// Returns the array of a type and its elements.
Array FromJson(const nlohmann::json& json);

}  // namespace tessera::functions
