// The `tessera` command: the library's tools for program text.
#include <absl/flags/flag.h>
#include <absl/flags/parse.h>
#include <tessera/explain.h>
#include <tessera/program.h>
#include <tessera/version.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/html.h"
#include "cli/ops.h"
#include "cli/stages.h"

ABSL_FLAG(std::string, stop_after, "user-priority",
          "the last strategy: basic, aggressive, op-priority or user-priority");
ABSL_FLAG(std::string, html, "", "also write a page with the shardings and their reasons");

namespace tessera::cli {
namespace {

constexpr const char* kUsage =
    "tessera propagate FILE [--stop-after STRATEGY] [--html OUT]\n"
    "    prints the program with the sharding of every value\n"
    "tessera explain FILE VALUE [--stop-after STRATEGY]\n"
    "    prints why a value, such as %3, is sharded as it is\n"
    "tessera check FILE\n"
    "    prints ok, or what is wrong and where\n"
    "tessera partition FILE\n"
    "    prints the program of one device, its communication, memory and FLOPs\n"
    "tessera ops [NAME]\n"
    "    prints what is known about every op, or about one\n"
    "tessera --version\n"
    "    prints the version of the library\n"
    "\n"
    "FILE holds program text; - is standard input.\n"
    "STRATEGY is basic, aggressive, op-priority or user-priority (the default, which includes\n"
    "the others).\n"
    "OUT becomes one self-contained HTML page.\n"
    "The exit code is 1 if the program is refused, 2 if the command is not understood.\n";

// Errors refer to the user's text, not to lines of this file.
constexpr Loc kHere = Loc::Unknown();

// A mistake in the command line.
struct UsageError {
  std::string reason;
};

struct CommandLine {
  std::string command, file, value, op, html;
  propagation::Stage stop_after = propagation::Stage::kUserPriority;
};

propagation::Stage StageOf(const std::string& name) {
  for (size_t i = 0; i < kStageNames.size(); ++i)
    if (name == kStageNames[i]) return static_cast<propagation::Stage>(i);
  throw UsageError{"there is no strategy '" + name +
                   "': basic, aggressive, op-priority or user-priority"};
}

// `--stop-after` is how users write what Abseil calls stop_after. Abseil ends the process where it
// does not understand a flag; what it would not is found here.
std::vector<std::string> WithFlagNames(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  for (size_t i = 1; i < arguments.size(); ++i) {
    std::string& a = arguments[i];
    if (a.size() < 2 || a[0] != '-') continue;
    size_t equals = a.find('=');
    std::string name = a.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::string flag = name;
    std::replace(flag.begin(), flag.end(), '-', '_');
    if (a[1] != '-' || (flag != "stop_after" && flag != "html"))
      throw UsageError{"there is no option '" + a.substr(0, equals) + "'"};
    bool value_follows = equals == std::string::npos;
    if (value_follows && i + 1 == arguments.size())
      throw UsageError{"--" + name + " needs a value"};
    a = "--" + flag + (value_follows ? "" : a.substr(equals));
    if (value_follows) ++i;
  }
  return arguments;
}

CommandLine Parse(int argc, char** argv) {
  std::vector<std::string> arguments = WithFlagNames(argc, argv);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size());
  for (std::string& a : arguments) pointers.push_back(a.data());
  std::vector<char*> words =
      absl::ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
  words.erase(words.begin());
  if (words.empty()) throw UsageError{"missing command"};
  CommandLine call;
  call.command = words[0];
  bool known = call.command == "propagate" || call.command == "explain" ||
               call.command == "check" || call.command == "partition" || call.command == "ops";
  if (!known) throw UsageError{"there is no command '" + call.command + "'"};
  size_t wanted = call.command == "explain" ? 3 : 2;
  const bool of_ops = call.command == "ops";
  if (words.size() < 2 && !of_ops) throw UsageError{call.command + " needs a file"};
  if (words.size() < wanted && !of_ops) throw UsageError{"explain needs a value, such as %3"};
  if (words.size() > wanted)
    throw UsageError{"unexpected argument '" + std::string(words[wanted]) + "'"};
  if (words.size() > 1) (of_ops ? call.op : call.file) = words[1];
  if (wanted == 3) call.value = words[2];
  call.html = absl::GetFlag(FLAGS_html);
  if (!call.html.empty() && call.command != "propagate")
    throw UsageError{"--html works with propagate only"};
  std::string stage = absl::GetFlag(FLAGS_stop_after);
  call.stop_after = StageOf(stage);
  bool propagates = call.command == "propagate" || call.command == "explain";
  if (!propagates && call.stop_after != propagation::Stage::kUserPriority)
    throw UsageError{"--stop-after works with propagate and explain only"};
  return call;
}

// Writes the output of `print`. Throws with the reason in errno if that fails, for example on a
// full disk or if `out` could not be opened.
void Write(std::ostream& out, const std::string& name,
           const std::function<void(std::ostream&)>& print) {
  print(out);
  if (out.flush()) return;
  std::string why = std::generic_category().message(errno);
  if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  throw std::runtime_error("tessera: cannot write " + name + ": " + why);
}

void WritePage(const CommandLine& call, const Program& program) {
  std::string page = HtmlPage(program, call.file, call.stop_after);
  errno = 0;
  std::ofstream file(call.html);
  Write(file, call.html, [&](std::ostream& out) { out << page; });
}

void Partition(const Program& program, std::ostream& out) {
  Lowered lowered = lower(program, kHere);
  out << lowered.device_program() << "\n"
      << lowered.comm() << "at most " << lowered.peak_bytes() << " B on each device\n";
}

void Run(const CommandLine& call, std::ostream& out) {
  if (call.command == "ops") {
    out << (call.op.empty() ? OpsText() : OpText(call.op));
    return;
  }
  Program program = Program::Load(call.file == "-" ? "/dev/stdin" : call.file, kHere);
  if (call.command == "check") {
    out << "ok\n";
  } else if (call.command == "explain") {
    out << explain(program, call.value, call.stop_after, kHere);
  } else if (call.command == "partition") {
    Partition(program, out);
  } else {
    if (!call.html.empty()) WritePage(call, program);
    out << program.propagated(call.stop_after, kHere);
  }
}

void Answer(int argc, char** argv, std::ostream& out) {
  auto asks_for = [&](std::string_view option) {
    return std::find(argv + 1, argv + argc, option) != argv + argc;
  };
  if (asks_for("--help") || asks_for("-h"))
    out << kUsage;
  else if (asks_for("--version"))
    out << "tessera " TESSERA_VERSION "\n";
  else
    Run(Parse(argc, argv), out);
}

int Main(int argc, char** argv) {
  try {
    Write(std::cout, "the output", [&](std::ostream& out) { Answer(argc, argv, out); });
    return 0;
  } catch (const UsageError& e) {
    std::cerr << "tessera: " << e.reason << "; see tessera --help\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace tessera::cli

int main(int argc, char** argv) { return tessera::cli::Main(argc, argv); }
