// The command line: its sub-commands with their arguments.
#pragma once
#include <tessera/explain.h>
#include <tessera/program.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>

#include "cli/run.h"
#include "cli/source.h"

namespace tessera::cli {

// The command line is not understood: the message.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Command {
 public:
  Command();
  // Runs the sub-command of a command line. Throws UsageError, and errors of the library.
  void Run(int argc, char** argv, std::ostream& out);

 private:
  CLI::App* Add(const std::string& name, const std::string& description,
                std::function<void(std::ostream&)> run);
  void AddCommands();
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
  void Check(std::ostream& out) const;
  void Ops(std::ostream& out) const;

  CLI::App app_{"Inspects programs of sharded arrays."};
  ProgramSource source_;
  std::string value_, op_, html_, stop_after_;
  bool has_stats_ = false, has_summary_ = false;
  RunRequest request_;
  PartitionOptions partition_;
  std::function<void(std::ostream&)> run_;  // the chosen sub-command
};

}  // namespace tessera::cli
