// A program that was loaded, with all that is made of it once.
#pragma once
#include <tessera/array.h>
#include <tessera/program.h>
#include <tessera/stablehlo.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c/handles.h"

namespace tessera::c {

// Errors refer to the caller's text, not to lines of this library.
constexpr Loc kHere = Loc::Unknown();

// The texts of the options; null: none.
struct OptionTexts {
  const char *mesh, *settings, *modes;
};
ImportOptions OptionsOf(const OptionTexts& texts);

// Where a program comes from. It does not own the text, which may be large.
struct TextOrPath {
  bool is_file = false;
  std::string_view text;  // or the path
  ImportOptions options;

  Program Read() const;
};

class Loaded {
 public:
  using Function = std::function<std::vector<Array>(std::vector<Array>)>;

  explicit Loaded(const TextOrPath& source);

  const Program& program() const { return program_; }
  // Returns the types of one side.
  std::vector<ArrayType> types(tessera_side side) const;
  const Lowered& lowered();
  // Returns how many devices the process must have to run the program.
  int64_t devices() const;
  // Returns the program as a function. The process has the devices.
  const Function& function();

 private:
  Mesh mesh() const;

  const Program program_;
  // A program on a mesh without devices is read again to run: its source then, and a copy of the
  // text.
  std::string text_;
  TextOrPath source_;
  std::mutex mutex_;
  std::optional<Lowered> lowered_;
  Function function_;
};

HandleTable<Loaded>& Programs();

}  // namespace tessera::c
