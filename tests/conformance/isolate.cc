// Forks a child for a run of cases, and starts another after the case at which it died.
#include "isolate.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace tessera::conformance {
namespace {

constexpr unsigned kSecondsPerCase = 120;

std::string Encode(const Outcome& o) {
  return Json({static_cast<int>(o.kind), o.passed, o.expected, o.came, o.family, o.loose,
               o.resharded})
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

Outcome Decode(const std::string& line) {
  Json json = Json::parse(line);
  return {
      static_cast<Kind>(json[0].get<int>()), json[1], json[2], json[3], json[4], json[5], json[6]};
}

Outcome RunGuarded(const Case& c, const Runner& run) {
  try {
    return run(c);
  } catch (const std::exception& e) {
    return Failed(Kind::kWrongPlace, "no error beside the instructions", e.what());
  }
}

// Never returns. Writes a line per case to `out`.
[[noreturn]] void RunChild(const std::vector<const Case*>& cases, size_t first, const Runner& run,
                           const std::function<void()>& prepare, int out) {
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  FILE* pipe = fdopen(out, "w");
  prepare();
  for (size_t i = first; i < cases.size(); ++i) {
    alarm(kSecondsPerCase);
    std::string line = Encode(RunGuarded(*cases[i], run));
    std::fprintf(pipe, "%s\n", line.c_str());
    std::fflush(pipe);
  }
  _exit(0);
}

Outcome Died(int status) {
  std::string how = "exited with status " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    how = "crashed with signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
    if (signal == SIGALRM) how = "ran for more than " + std::to_string(kSecondsPerCase) + " s";
  }
  return Failed(Kind::kDifferent, "an end", how);
}

// Reads the outcomes that the child writes until it ends.
void ReadOutcomes(int in, std::vector<Outcome>& outcomes) {
  FILE* pipe = fdopen(in, "r");
  char* line = nullptr;
  size_t capacity = 0;
  ssize_t length = 0;
  while ((length = getline(&line, &capacity, pipe)) > 0) {
    if (line[length - 1] == '\n') outcomes.push_back(Decode(std::string(line, length - 1)));
  }
  std::free(line);
  std::fclose(pipe);
}

}  // namespace

std::vector<Outcome> RunIsolated(const std::vector<const Case*>& cases, const Runner& run,
                                 const std::function<void()>& prepare) {
  std::vector<Outcome> outcomes;
  while (outcomes.size() < cases.size()) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    std::fflush(nullptr);
    pid_t child = fork();
    if (child < 0) throw std::runtime_error("no child process");
    if (child == 0) {
      close(ends[0]);
      RunChild(cases, outcomes.size(), run, prepare, ends[1]);
    }
    close(ends[1]);
    ReadOutcomes(ends[0], outcomes);
    int status = 0;
    waitpid(child, &status, 0);
    if (outcomes.size() < cases.size()) outcomes.push_back(Died(status));
  }
  return outcomes;
}

}  // namespace tessera::conformance
