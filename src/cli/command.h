// The command line: its sub-commands with their arguments.
#pragma once
#include <tessera/explain.h>
#include <tessera/program.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>

#include "cli/annotate.h"
#include "cli/check.h"
#include "cli/diff.h"
#include "cli/run.h"
#include "cli/source.h"

namespace tessera::cli {

// The command line is not understood: the message.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PartitionRequest {
  PartitionOptions options = {};
  bool summary = false;
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
  void AddStopAfter(CLI::App* command);
  void AddRun();

  void Parse(int argc, char** argv);
  // Returns the sub-command of the command line; null if it names none.
  const CLI::App* chosen() const;
  [[noreturn]] void Refuse(const std::string& reason) const;
  // Returns why the command line cannot have the argument.
  std::string ReasonAgainst(const std::string& argument) const;
  std::string WithoutValue(const CLI::ArgumentMismatch& e) const;
  // Reads files of settings, and refuses options whose texts are wrong.
  void CheckTexts();

  propagation::Stage stop_after() const;
  void Propagate(std::ostream& out) const;
  void WritePage(const Program& program) const;
  void Explain(std::ostream& out) const;
  void Partition(std::ostream& out) const;
  int Check(std::ostream& out) const;
  int Diff(std::ostream& out) const;
  void Ops(std::ostream& out) const;

  CLI::App app_{"Inspects programs of sharded arrays."};
  ProgramSource source_;
  std::string value_, op_, html_, stop_after_;
  CheckRequest check_;
  RunRequest request_;
  PartitionRequest partition_;
  DiffRequest diff_;
  AnnotateRequest annotate_;
  std::function<int(std::ostream&)> run_;  // the chosen sub-command
};

}  // namespace tessera::cli
