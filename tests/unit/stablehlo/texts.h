// Texts of tests/stablehlo, and small modules.
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "stablehlo/text/read.h"
#include "stablehlo/text/tree.h"
#include "tessera/error.h"
#include "tessera/stablehlo.h"

namespace tessera::stablehlo {

inline std::vector<std::filesystem::path> TextFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TESSERA_SOURCE_DIR) + "/tests/stablehlo"))
    if (entry.path().extension() == ".mlir") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string TextOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns a module of one function with these arguments and operations. It has no results.
inline std::string FunctionText(const std::string& arguments, const std::string& operations) {
  return "module {\nfunc.func @main(" + arguments + ") {\n" + operations + "\nreturn\n}\n}\n";
}

// Reads a text that outlives the module.
inline Module Read(const std::string& text) {
  return ReadModule(text, Loc::Current("test.mlir", 0));
}
inline Module Read(std::string&& text) = delete;

// Returns the first line of the refusal of a text that is imported.
inline std::string RefusalOfImport(const std::string& text) {
  try {
    import_stablehlo(text, {}, Loc::Current("test.mlir", 0));
  } catch (const Error& e) {
    const std::string message = e.what();
    return message.substr(0, message.find('\n'));
  }
  return "nothing was refused";
}

}  // namespace tessera::stablehlo
