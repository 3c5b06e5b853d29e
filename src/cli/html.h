// A program and its shardings as one HTML page that needs no scripts and no other file.
#pragma once
#include <tessera/program.h>

#include <string>

namespace tessera::cli {

// Returns the page. If `stop_after` is the last strategy it lists the communication, in sums and
// one by one. Then follows every value with its type, its sharding (axes in colour), its op and its
// line; a row opens to show why the value has its sharding.
std::string HtmlPage(const Program& program, const std::string& title,
                     propagation::Stage stop_after);

}  // namespace tessera::cli
