// Reads StableHLO text.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "stablehlo/text/tree.h"
#include "stablehlo/text/unsupported.h"
#include "tessera/error.h"

namespace tessera::stablehlo {

// Reads a module. `text` must live as long as the result, unless `owner` keeps it. Throws a
// RuntimeError with line and column where the text is wrong. If that is an operation that cannot be
// read, the error lists all operations that `is_supported` refuses.
Module ReadModule(std::string_view text, Loc file, std::shared_ptr<const void> owner = nullptr,
                  IsSupported is_supported = nullptr);
// Reads a file without a copy of it: large constants stay in the file.
Module ReadModuleFile(const std::string& path, IsSupported is_supported = nullptr);

}  // namespace tessera::stablehlo
