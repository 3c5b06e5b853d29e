// The `tessera` command: the library's tools for program text.
#include <tessera/explain.h>
#include <tessera/program.h>
#include <tessera/stablehlo.h>
#include <tessera/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/html.h"
#include "cli/ops.h"
#include "cli/stages.h"

namespace tessera::cli {
namespace {

// Errors refer to the user's text, not to lines of this file.
constexpr Loc kHere = Loc::Unknown();

// Writes the output of `print`. Throws with the reason in errno if that fails, for example on a
// full disk or if `out` could not be opened.
template <class F>
void Write(std::ostream& out, const std::string& name, F print) {
  print(out);
  if (out.flush()) return;
  std::string why = std::generic_category().message(errno);
  if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  throw std::runtime_error("tessera: cannot write " + name + ": " + why);
}

// The command line is not understood: the message.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns "tessera check FILE", with the options of the sub-command.
std::string UsageOf(const CLI::App& command) {
  std::string line = "tessera " + command.get_name();
  for (const CLI::Option* o : command.get_options()) {
    if (o == command.get_help_ptr()) continue;
    const std::string text =
        o->get_positional() ? o->get_name() : o->get_name() + " " + o->get_type_name();
    line += o->get_required() ? " " + text : " [" + text + "]";
  }
  return line;
}

// CLI11 takes the next argument as the value, even if it is an option.
CLI::Validator IsNoOption() {
  return {[](const std::string& value) {
            return value.starts_with("--") ? "a value must come before '" + value + "'"
                                           : std::string();
          },
          ""};
}

// Returns "a", "a and b", "a, b and c".
std::string ListOf(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  return text;
}

// The sub-commands with their arguments.
class Command {
 public:
  Command() {
    app_.name("tessera");
    app_.footer(
        "FILE holds program text, or StableHLO text if it ends in .mlir; - is standard input.\n"
        "The exit code is 1 if the program is refused, 2 if the command is not understood.");
    app_.set_version_flag("--version", "tessera " TESSERA_VERSION, "Print the version");
    app_.set_help_flag("-h,--help", "Print this help");
    app_.get_formatter()->label("REQUIRED", "(required)");
    CLI::App* propagate = Add("propagate", "Print the program with the sharding of every value",
                              [this](std::ostream& out) { Propagate(out); });
    AddFile(propagate);
    AddStopAfter(propagate);
    propagate->add_option("--html", html_, "Also write one self-contained HTML page")
        ->check(IsNoOption())
        ->type_name("OUT");
    CLI::App* explain = Add("explain", "Print why a value is sharded as it is",
                            [this](std::ostream& out) { Explain(out); });
    AddFile(explain);
    explain->add_option("VALUE", value_, "The value, such as %3")->required()->type_name("");
    AddStopAfter(explain);
    AddFile(Add("export", "Print the program as StableHLO text, which XLA compiles",
                [this](std::ostream& out) { out << export_stablehlo(Load(), kHere); }));
    AddFile(Add("check", "Print ok, or the error and its place",
                [this](std::ostream& out) { Load(), out << "ok\n"; }));
    CLI::App* partition =
        Add("partition", "Print the program of one device, its communication, memory and FLOPs",
            [this](std::ostream& out) { out << partition_text(Load(), partition_, kHere); });
    AddFile(partition);
    partition
        ->add_option("--stop-after", partition_.stop_after, "Print the program after this pass")
        ->check(IsNoOption())
        ->type_name("PASS");
    partition
        ->add_option("--only", partition_.only, "Shard these values (%7,%9), replicate the others")
        ->check(IsNoOption())
        ->type_name("VALUES");
    Add("ops", "Print the reference of every op, or of one",
        [this](std::ostream& out) { out << (op_.empty() ? OpsText() : OpText(op_)); })
        ->add_option("NAME", op_, "The op")
        ->type_name("");
    app_.allow_extras();  // they are named in Parse
  }

  void Run(int argc, char** argv, std::ostream& out) {
    try {
      Parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      out << app_.help("", app_.get_subcommands().empty() ? CLI::AppFormatMode::All
                                                          : CLI::AppFormatMode::Normal);
      return;
    } catch (const CLI::CallForVersion& version) {
      out << version.what() << "\n";
      return;
    } catch (const CLI::ArgumentMismatch& e) {
      Refuse(WithoutValue(e));
    } catch (const CLI::ParseError& e) {
      Refuse(e.what());
    }
    run_(out);
  }

 private:
  CLI::App* Add(const std::string& name, const std::string& description,
                std::function<void(std::ostream&)> run) {
    CLI::App* command = app_.add_subcommand(name, description);
    command->allow_extras();
    command->callback([this, run = std::move(run)] { run_ = run; });
    return command;
  }
  void AddFile(CLI::App* command) {
    command->add_option("FILE", file_, "The program text, or -")->required()->type_name("");
    command->add_option("--mesh", mesh_, "The mesh of a .mlir file, in place of its own: x=4,y=2")
        ->check(IsNoOption())
        ->type_name("AXES");
  }
  void AddStopAfter(CLI::App* command) {
    const auto is_strategy = [](const std::string& name) -> std::string {
      if (std::ranges::find(kStageNames, name) != kStageNames.end()) return "";
      return "there is no strategy '" + name + "': basic, aggressive, op-priority or user-priority";
    };
    command
        ->add_option("--stop-after", stop_after_, "The last strategy, which includes those before")
        ->check(CLI::Validator(is_strategy, "{basic,aggressive,op-priority,user-priority}"))
        ->type_name("STRATEGY")
        ->capture_default_str();
  }

  void Parse(int argc, char** argv) {
    app_.parse(argc, argv);
    const std::vector<std::string> extras = app_.remaining(/*recurse=*/true);
    if (!extras.empty()) Refuse(ReasonAgainst(extras.front()));
    if (!run_) Refuse("a command is required");
  }

  // Returns the sub-command of the command line; null if it names none.
  const CLI::App* chosen() const {
    const std::vector<CLI::App*> parsed = app_.get_subcommands();
    return parsed.empty() ? nullptr : parsed.front();
  }
  [[noreturn]] void Refuse(const std::string& reason) const {
    throw UsageError("tessera: " + reason +
                     (chosen() ? "\nusage: " + UsageOf(*chosen()) : "; see tessera --help"));
  }
  // Returns why the command line cannot have the argument.
  std::string ReasonAgainst(const std::string& argument) const {
    if (argument.size() < 2 || argument[0] != '-')
      return (chosen() ? "unexpected argument '" : "there is no command '") + argument + "'";
    const std::string option = argument.substr(0, argument.find('='));
    std::vector<std::string> takers;
    for (const CLI::App* command : app_.get_subcommands([](const CLI::App*) { return true; }))
      if (command->get_option_no_throw(option)) takers.push_back(command->get_name());
    if (takers.empty()) return "there is no option '" + option + "'";
    if (!chosen() || chosen()->get_option_no_throw(option))
      return option + " comes after the command: " + ListOf(takers) +
             (takers.size() == 1 ? " takes it" : " take it");
    return chosen()->get_name() + " does not take " + option + ": " + ListOf(takers) +
           (takers.size() == 1 ? " does" : " do");
  }
  // CLI11's text begins with the option: "--html: 1 required OUT missing".
  std::string WithoutValue(const CLI::ArgumentMismatch& e) const {
    const std::string text = e.what(), option = text.substr(0, text.find(':'));
    const CLI::Option* known = chosen() ? chosen()->get_option_no_throw(option) : nullptr;
    return known ? option + " needs a value: " + known->get_type_name() : text;
  }

  propagation::Stage stop_after() const {
    const auto name = std::ranges::find(kStageNames, stop_after_);
    return static_cast<propagation::Stage>(name - kStageNames.begin());
  }
  Program Load() const {
    if (file_.ends_with(".mlir")) {
      ImportOptions options;
      if (!mesh_.empty()) options.mesh = MeshOfAxes();
      return load_stablehlo(file_, options, kHere);
    }
    if (!mesh_.empty()) Refuse("--mesh is for .mlir files");
    return Program::Load(file_ == "-" ? "/dev/stdin" : file_, kHere);
  }
  // Returns the mesh "x=4,y=2", with Auto axes.
  Mesh MeshOfAxes() const {
    std::vector<MeshAxis> axes;
    std::istringstream list(mesh_);
    for (std::string item; std::getline(list, item, ',');) {
      const size_t equal = item.find('=');
      int64_t size = 0;
      const char* const end = item.data() + item.size();
      const char* const begin = item.data() + std::min(equal + 1, item.size());
      const auto [last, error] = std::from_chars(begin, end, size);
      if (equal == std::string::npos || equal == 0 || error != std::errc() || last != end ||
          size < 1)
        Refuse("--mesh takes names and sizes, such as x=4,y=2, not '" + mesh_ + "'");
      axes.push_back({item.substr(0, equal), size, AxisMode::Auto});
    }
    return abstract_mesh(std::move(axes), {}, kHere);
  }

  void Propagate(std::ostream& out) const {
    const Program program = Load();
    if (!html_.empty()) WritePage(program);
    out << program.propagated(stop_after(), kHere);
  }
  void WritePage(const Program& program) const {
    const std::string page = HtmlPage(program, file_, stop_after());
    errno = 0;
    std::ofstream file(html_);
    Write(file, html_, [&](std::ostream& out) { out << page; });
  }
  void Explain(std::ostream& out) const { out << explain(Load(), value_, stop_after(), kHere); }

  CLI::App app_{"Inspects programs of sharded arrays."};
  std::string file_, mesh_, value_, op_, html_;
  std::string stop_after_ = kStageNames.back();
  PartitionOptions partition_;
  std::function<void(std::ostream&)> run_;  // the chosen sub-command
};

int Main(int argc, char** argv) {
  try {
    Write(std::cout, "the output", [&](std::ostream& out) { Command().Run(argc, argv, out); });
    return 0;
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
