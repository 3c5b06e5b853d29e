// The `tessera` command: the library's tools for program text.
#include <exception>
#include <iostream>

#include "cli/command.h"
#include "cli/output.h"

namespace tessera::cli {
namespace {

int Main(int argc, char** argv) {
  try {
    int exit_code = 0;
    Write(std::cout, "the output",
          [&](std::ostream& out) { exit_code = Command().Run(argc, argv, out); });
    return exit_code;
  } catch (const UsageError& e) {
    std::cerr << e.what() << "\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace tessera::cli

int main(int argc, char** argv) { return tessera::cli::Main(argc, argv); }
