// The program that a command line names, with the options that change it.
#pragma once
#include <tessera/program.h>
#include <tessera/stablehlo.h>

#include <string>

namespace tessera::cli {

// Errors refer to the user's text, not to lines of the command.
inline constexpr Loc kHere = Loc::Unknown();

struct ProgramSource {
  std::string file;  // StableHLO text if it ends in .mlir, else program text; "-": either, by its
                     // first word, from the standard input
  ImportTexts changes;

  // Replaces each setting @FILE by the lines of the file. Throws
  // std::runtime_error if the file is empty or cannot be read.
  void ReadSettingsFiles();
  // Returns the program, which runs on no device. Throws RuntimeError.
  Program Load() const;
  // As above, on simulated devices: as many as its mesh has, and at least so many.
  Program LoadToRun(int least_devices = 1) const;
  bool changes_any() const {
    return !changes.mesh.empty() || !changes.settings.empty() || !changes.modes.empty();
  }

 private:
  Program LoadWith(const ImportOptions& options) const;
};

}  // namespace tessera::cli
