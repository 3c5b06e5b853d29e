// Parses command lines and runs sub-commands.
#include "cli/command.h"

#include <tessera/memory_advice.h>
#include <tessera/stablehlo.h>
#include <tessera/version.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/counts.h"
#include "cli/diff_snapshot.h"
#include "cli/explain_line.h"
#include "cli/html.h"
#include "cli/ops.h"
#include "cli/output.h"
#include "cli/stages.h"

namespace tessera::cli {
namespace {

// Returns "tessera check FILE", with the options of the sub-command.
std::string UsageOf(const CLI::App& command) {
  std::string line = "tessera " + command.get_name();
  for (const CLI::Option* o : command.get_options()) {
    if (o == command.get_help_ptr()) continue;
    const std::string value = o->get_type_name();
    const std::string text =
        o->get_positional() || value.empty() ? o->get_name() : o->get_name() + " " + value;
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

}  // namespace

Command::Command() : shardings_{.stop_after = kStageNames.back()} {
  app_.name("tessera");
  app_.footer(
      "FILE holds program text or StableHLO text; - is standard input.\n"
      "The exit code is 1 if the program is refused (diff: if a cost grew; compare: if a value\n"
      "differs), 2 if the command is not understood.");
  app_.set_version_flag("--version", "tessera " TESSERA_VERSION, "Print the version");
  app_.set_help_flag("-h,--help", "Print this help");
  app_.get_formatter()->label("REQUIRED", "(required)");
  AddCommands();
  app_.allow_extras();  // they are named in Parse
}

void Command::AddCommands() {
  CLI::App* propagate = Add("propagate", "Print the program with the sharding of every value",
                            [this](std::ostream& out) { Propagate(out); });
  AddFile(propagate);
  AddStopAfter(propagate);
  CLI::Option* html =
      propagate->add_option("--html", shardings_.html, "Also write one self-contained HTML page");
  html->check(IsNoOption())->type_name("OUT");
  propagate
      ->add_flag("--advise", shardings_.advises,
                 "Show changes that lower the peak of memory on the page, each tried")
      ->needs(html);
  CLI::App* explain = Add("explain", "Print why a value is sharded as it is",
                          [this](std::ostream& out) { Explain(out); });
  AddFile(explain);
  explain
      ->add_option("VALUE", shardings_.value,
                   "The value, such as %3; or a line, such as model.py:12")
      ->required()
      ->type_name("");
  AddStopAfter(explain);
  AddFile(Add("export", "Print the program as StableHLO text, which XLA compiles",
              [this](std::ostream& out) { out << export_stablehlo(source_.Load(), kHere); }));
  AddFile(Add("lock", "Print the shardings, communication and costs of the program, for diff",
              [this](std::ostream& out) { out << LockText(source_.Load()); }));
  AddCheck();
  AddPartition();
  AddDiff();
  AddAnnotate();
  AddRun();
  AddCompare();
  CLI::App* ops = Add("ops", "Print the reference of every op, or of one; or count those of a file",
                      [this](std::ostream& out) { Ops(out); });
  ops->add_option("NAME", op_, "The op; or a FILE, which has a dot or a slash in its name")
      ->type_name("");
  AddChanges(ops);
}

void Command::AddCheck() {
  CLI::App* check = Add("check", "Print ok, or the error and its place",
                        [this](std::ostream& out) { return Check(out); });
  AddFile(check);
  CLI::Option* stats = check->add_flag("--stats", check_.stats,
                                       "Also print the mesh, the arguments and how often each op "
                                       "is used");
  CLI::Option* json = check->add_flag("--json", check_.json, "Print an array of errors as JSON");
  json->excludes(stats);
  check->add_flag("--sarif", check_.sarif, "Print a log of SARIF 2.1.0")
      ->excludes(stats)
      ->excludes(json);
}

void Command::AddPartition() {
  CLI::App* partition =
      Add("partition", "Print the program of one device, its communication, memory and FLOPs",
          [this](std::ostream& out) { Partition(out); });
  AddFile(partition);
  partition->add_flag("--summary", partition_.summary,
                      "Print the communication, memory and FLOPs alone");
  partition->add_flag("--advise", partition_.advise,
                      "Print the memory at its peak, and changes that lower it, each tried");
  partition
      ->add_option("--stop-after", partition_.options.stop_after,
                   "Print the program after this pass")
      ->check(IsNoOption())
      ->type_name("PASS");
  partition
      ->add_option("--only", partition_.options.only,
                   "Shard these values (%7,%9), replicate the others")
      ->check(IsNoOption())
      ->type_name("VALUES");
}

void Command::AddDiff() {
  CLI::App* diff = Add("diff", "Print what changed between two programs, or two dumps of them",
                       [this](std::ostream& out) { return Diff(out); });
  diff->add_option("A", source_.file,
                   "The first program text, or the output of lock, dump_shardings or partition")
      ->required()
      ->type_name("");
  diff->add_option("B", diff_.after, "The second one")->required()->type_name("");
  AddChanges(diff);
  diff->add_option("--allow", diff_.allows,
                   "What may grow, by how much: bytes=+2%, flops=+1%, peak=+1000; may be repeated")
      ->check(IsNoOption())
      ->check(CLI::Validator(ReasonAgainstAllowance, ""))
      ->type_name("COST=+MORE")
      ->allow_extra_args(false);
  diff->add_flag("--json", diff_.json, "Print JSON");
  diff->footer("The exit code is 1 if bytes sent, FLOPs or peak memory grew by more than allowed.");
}

void Command::AddAnnotate() {
  CLI::App* annotate = Add("annotate", "Print a C++ file with the types of a run at their lines",
                           [this](std::ostream& out) { PrintAnnotated(annotate_, out); });
  annotate->add_option("FILE", annotate_.file, "The C++ file")->required()->type_name("");
  annotate->add_option("--types", annotate_.types, "What the run wrote: TESSERA_TYPES=TYPES.json")
      ->required()
      ->check(IsNoOption())
      ->type_name("TYPES.json");
  annotate->add_flag("--hints", annotate_.hints, "Print inlay hints of the LSP as JSON instead");
}

void Command::AddRun() {
  CLI::App* run =
      Add("run", "Run the program on simulated devices and print its results",
          [this](std::ostream& out) { RunProgram(source_.LoadToRun(), request_, out); });
  AddFile(run);
  AddInputs(run, request_);
  run->add_option("--output", request_.output, "Also write the results to DIR/out0.npy, ...")
      ->check(IsNoOption())
      ->type_name("DIR");
}

void Command::AddInputs(CLI::App* command, RunRequest& request) {
  command
      ->add_option("--input", request.inputs,
                   "The next argument, or ARG=x.npy: a NumPy file; may be repeated")
      ->check(IsNoOption())
      ->type_name("X.npy")
      ->allow_extra_args(false);
  command->add_flag("--fill", request.fills,
                    "Fill arguments without an input with made-up numbers");
}

void Command::AddCompare() {
  CLI::App* compare = Add("compare", "Run two programs and print the first value that differs",
                          [this](std::ostream& out) { return Compare(out); });
  compare->add_option("A", source_.file, "The first program text")->required()->type_name("");
  compare->add_option("B", compare_.other, "The second one; default: A again")->type_name("");
  compare
      ->add_option("--mesh", compare_.meshes,
                   "A mesh in place of the files'; twice: the mesh of A and that of B")
      ->check(IsNoOption())
      ->type_name("AXES")
      ->allow_extra_args(false);
  AddSettings(compare, "--set", source_.changes.settings,
              "The sharding of an argument in both: ARG=P(\"x\", None), or @FILE; may be repeated");
  AddSettings(compare, "--set-b", compare_.settings, "The same in B alone, after those of --set");
  AddModes(compare, "", source_.changes.modes, "");
  AddModes(compare, "-b", compare_.modes, " of B");
  AddInputs(compare, compare_.arguments);
  compare
      ->add_option("--tolerance", compare_.tolerance,
                   "Largest relative difference of elements; default: 1e-4 for f32")
      ->check(CLI::Validator(ReasonAgainstTolerance, ""))
      ->type_name("T");
  compare->footer("The exit code is 1 if a value differs.");
}

template <class F>
CLI::App* Command::Add(const std::string& name, const std::string& description, F run) {
  CLI::App* command = app_.add_subcommand(name, description);
  command->allow_extras();
  command->callback([this, run] {
    run_ = [run](std::ostream& out) {
      if constexpr (std::is_void_v<decltype(run(out))>) {
        run(out);
        return 0;
      } else {
        return run(out);
      }
    };
  });
  return command;
}

void Command::AddFile(CLI::App* command) {
  command->add_option("FILE", source_.file, "The program text, or -")->required()->type_name("");
  AddChanges(command);
}

void Command::AddChanges(CLI::App* command) {
  command->add_option("--mesh", source_.changes.mesh, "A mesh in place of the file's: x=4,y=2")
      ->check(IsNoOption())
      ->type_name("AXES");
  AddSettings(command, "--set", source_.changes.settings,
              "The sharding of an argument: ARG=P(\"x\", None), or @FILE with one a line; may be "
              "repeated");
  AddModes(command, "", source_.changes.modes, "");
}

void Command::AddSettings(CLI::App* command, const std::string& option,
                          std::vector<std::string>& settings, const std::string& description) {
  command->add_option(option, settings, description)
      ->check(IsNoOption())
      ->type_name("ARG=SHARDING")
      ->allow_extra_args(false);
}

void Command::AddModes(CLI::App* command, const std::string& suffix, std::string& modes,
                       const std::string& of) {
  const auto add = [&](const std::string& chosen, const std::string& description) {
    return command->add_flag_callback(
        "--" + chosen + suffix, [&modes, chosen] { modes = chosen; }, description);
  };
  CLI::Option* all_auto =
      add("auto", "Make all axes" + of + " Auto: propagation chooses shardings");
  add("explicit", "Make all axes" + of + " Explicit: shardings are types, and each op is checked")
      ->excludes(all_auto);
}

void Command::AddStopAfter(CLI::App* command) {
  const auto is_strategy = [](const std::string& name) -> std::string {
    if (std::ranges::find(kStageNames, name) != kStageNames.end()) return "";
    return "there is no strategy '" + name + "': basic, aggressive, op-priority or user-priority";
  };
  command
      ->add_option("--stop-after", shardings_.stop_after,
                   "The last strategy, which includes those before")
      ->check(CLI::Validator(is_strategy, "{basic,aggressive,op-priority,user-priority}"))
      ->type_name("STRATEGY")
      ->capture_default_str();
}

int Command::Run(int argc, char** argv, std::ostream& out) {
  try {
    Parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    out << app_.help(
        "", app_.get_subcommands().empty() ? CLI::AppFormatMode::All : CLI::AppFormatMode::Normal);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << "\n";
    return 0;
  } catch (const CLI::ArgumentMismatch& e) {
    Refuse(ReasonAgainstCount(e));
  } catch (const CLI::ParseError& e) {
    Refuse(e.what());
  }
  CheckTexts(source_);
  return run_(out);
}

void Command::Parse(int argc, char** argv) {
  app_.parse(argc, argv);
  const std::vector<std::string> extras = app_.remaining(/*recurse=*/true);
  if (!extras.empty()) Refuse(ReasonAgainst(extras.front()));
  if (!run_) Refuse("a command is required");
}

const CLI::App* Command::chosen() const {
  const std::vector<CLI::App*> parsed = app_.get_subcommands();
  return parsed.empty() ? nullptr : parsed.front();
}

void Command::Refuse(const std::string& reason) const {
  throw UsageError("tessera: " + reason +
                   (chosen() ? "\nusage: " + UsageOf(*chosen()) : "; see tessera --help"));
}

std::string Command::ReasonAgainst(const std::string& argument) const {
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

// CLI11's text begins with the option: "--html: 1 required OUT missing", "--html: At Most 1
// required but received 2".
std::string Command::ReasonAgainstCount(const CLI::ArgumentMismatch& e) const {
  const std::string text = e.what(), option = text.substr(0, text.find(':'));
  if (text.find("At Most") != text.npos) return option + " is given more than once";
  const CLI::Option* known = chosen() ? chosen()->get_option_no_throw(option) : nullptr;
  return known ? option + " needs a value: " + known->get_type_name() : text;
}

void Command::CheckTexts(ProgramSource& source) const {
  try {
    source.ReadSettingsFiles();
    read_import_options(source.changes, kHere);
  } catch (const RuntimeError& e) {
    Refuse(e.reason());
  }
}

propagation::Stage Command::stop_after() const {
  const auto name = std::ranges::find(kStageNames, shardings_.stop_after);
  return static_cast<propagation::Stage>(name - kStageNames.begin());
}

void Command::Propagate(std::ostream& out) const {
  if (shardings_.advises && stop_after() != propagation::Stage::kUserPriority)
    Refuse("--advise is of the whole program: leave --stop-after out");
  const Program program = source_.Load();
  if (!shardings_.html.empty()) WritePage(program);
  out << program.propagated(stop_after(), kHere);
}

void Command::WritePage(const Program& program) const {
  const std::string page = HtmlPage(program, source_.file, stop_after(), shardings_.advises);
  errno = 0;
  std::ofstream file(shardings_.html);
  Write(file, shardings_.html, [&](std::ostream& out) { out << page; });
}

void Command::Explain(std::ostream& out) const {
  const Program program = source_.Load();
  out << (IsLine(shardings_.value)
              ? ExplainLine(program, shardings_.value, stop_after())
              : tessera::explain(program, shardings_.value, stop_after(), kHere));
}

void Command::Partition(std::ostream& out) const {
  const Program program = source_.Load();
  if (!partition_.summary && !partition_.advise) {
    out << partition_text(program, partition_.options, kHere);
    return;
  }
  if (!partition_.options.stop_after.empty() || !partition_.options.only.empty())
    Refuse(std::string(partition_.summary ? "--summary" : "--advise") +
           " is of the whole program: leave --stop-after and --only out");
  const Lowered lowered = lower(program, kHere);
  if (partition_.summary) out << SummaryText(lowered);
  if (partition_.advise) out << lowered.memory() << advise_memory(lowered);
}

int Command::Check(std::ostream& out) const {
  if (!check_.json && !check_.sarif) {
    const Program program = source_.Load();
    out << "ok\n";
    if (check_.stats) out << StatsText(program);
    return 0;
  }
  std::optional<Error> refused;
  try {
    source_.Load();
  } catch (const Error& e) {
    refused = e;
  }
  out << (check_.json ? DiagnosticsJson(refused, source_.file)
                      : DiagnosticsSarif(refused, source_.file));
  return refused ? 1 : 0;
}

int Command::Diff(std::ostream& out) const {
  if (source_.file == "-" && diff_.after == "-") Refuse("only one of the files can be -");
  return PrintDiff(source_, diff_, out) ? 1 : 0;
}

int Command::Compare(std::ostream& out) const {
  if (source_.file == "-" || compare_.other == "-") Refuse("it runs files: - is none");
  if (compare_.meshes.size() > 2)
    Refuse("--mesh is given " + std::to_string(compare_.meshes.size()) +
           " times: it is for both programs, or for A and then for B");
  ComparedSources sources = SourcesOf(source_, compare_);
  CheckTexts(sources.a);
  CheckTexts(sources.b);
  return PrintComparison(sources, compare_, out) ? 1 : 0;
}

void Command::Ops(std::ostream& out) const {
  if (op_ == "-" || op_.find_first_of("./") != op_.npos) {
    ProgramSource source = source_;
    source.file = op_;
    out << CountsText(source.Load());
    return;
  }
  if (source_.changes_any()) Refuse("options that change a program need a FILE");
  out << (op_.empty() ? OpsText() : OpText(op_));
}

}  // namespace tessera::cli
