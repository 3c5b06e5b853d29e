// The command line: its sub-commands with their arguments.
#pragma once
#include <tessera/explain.h>
#include <tessera/program.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/annotate.h"
#include "cli/check.h"
#include "cli/compare.h"
#include "cli/diff.h"
#include "cli/run.h"
#include "cli/source.h"

namespace tessera::cli {

// The command line is not understood: the message.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Options of propagate and explain.
struct ShardingsRequest {
  std::string value = {};  // %3, or a line
  std::string html = {};   // the page; "": none
  bool advises = false;    // the page shows changes that lower the peak of memory
  std::string stop_after;  // the last strategy
};

struct PartitionRequest {
  PartitionOptions options = {};
  bool summary = false;
  bool advise = false;
};

class Command {
 public:
  Command();
  // Runs the sub-command of a command line, and returns the exit code. Throws UsageError, and
  // errors of the library.
  int Run(int argc, char** argv, std::ostream& out);

 private:
  // `run` returns an exit code, or nothing for 0.
  template <class F>
  CLI::App* Add(const std::string& name, const std::string& description, F run);
  void AddCommands();
  void AddCheck();
  void AddPartition();
  void AddDiff();
  void AddAnnotate();
  void AddFile(CLI::App* command);
  // Adds the options that change the program of a file.
  void AddChanges(CLI::App* command);
  void AddSettings(CLI::App* command, const std::string& option, std::vector<std::string>& settings,
                   const std::string& description);
  // `of` is put into the description: " of B".
  void AddModes(CLI::App* command, const std::string& suffix, std::string& modes,
                const std::string& of);
  void AddStopAfter(CLI::App* command);
  void AddRun();
  void AddCompare();
  void AddInputs(CLI::App* command, RunRequest& request);

  void Parse(int argc, char** argv);
  // Returns the sub-command of the command line; null if it names none.
  const CLI::App* chosen() const;
  [[noreturn]] void Refuse(const std::string& reason) const;
  // Returns why the command line cannot have the argument.
  std::string ReasonAgainst(const std::string& argument) const;
  // Returns why an option has a wrong number of values.
  std::string ReasonAgainstCount(const CLI::ArgumentMismatch& e) const;
  // Reads files of settings, and refuses options whose texts are wrong.
  void CheckTexts(ProgramSource& source) const;

  propagation::Stage stop_after() const;
  void Propagate(std::ostream& out) const;
  void WritePage(const Program& program) const;
  void Explain(std::ostream& out) const;
  void Partition(std::ostream& out) const;
  int Check(std::ostream& out) const;
  int Diff(std::ostream& out) const;
  int Compare(std::ostream& out) const;
  void Ops(std::ostream& out) const;

  CLI::App app_{"Inspects programs of sharded arrays."};
  ProgramSource source_;
  std::string op_;
  ShardingsRequest shardings_;
  CheckRequest check_;
  RunRequest request_;
  PartitionRequest partition_;
  DiffRequest diff_;
  CompareRequest compare_;
  AnnotateRequest annotate_;
  std::function<int(std::ostream&)> run_;  // the chosen sub-command
};

}  // namespace tessera::cli
