// A program and its shardings as one page that needs no scripts and no other file.
#pragma once
#include <tessera/program.h>

#include <string>

namespace tessera::cli {

// Returns the page: what is sent, in sums and one by one, if `stop_after` is the last strategy;
// then every value with its type, sharding in the colours of its axes, op and line, which opens to
// say why it lies so.
std::string HtmlPage(const Program& program, const std::string& title,
                     propagation::Stage stop_after);

}  // namespace tessera::cli
