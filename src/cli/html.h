// A program and its shardings as one page that needs no scripts and no other file.
#pragma once
#include <tessera/program.h>

#include <string>

namespace tessera::cli {

// Returns the page: the program's text with the sharding of each value in the colours of its axes;
// a value's line opens to say why it is sharded so.
std::string HtmlPage(const Program& program, const std::string& title,
                     propagation::Stage stop_after);

}  // namespace tessera::cli
