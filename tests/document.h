// Pages of docs/ whose example is a test: the page has the program of the test, and its output.
#pragma once
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tessera::testing_documents {

inline std::string TextOf(const std::string& path) {
  std::ifstream file(TESSERA_SOURCE_DIR + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string Between(const std::string& text, const std::string& begin,
                           const std::string& end) {
  const size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

// Compares the first cpp block of a page with the lines between `// begin` and `// end` of a test,
// and the first text block with the output of the program. UPDATE_GOLDEN=1 writes the output.
inline void ExpectShows(const std::string& page_path, const std::string& test_path,
                        const std::string& output) {
  std::string page = TextOf(page_path);
  EXPECT_EQ(Between(page, "```cpp\n", "```"), Between(TextOf(test_path), "// begin\n", "// end\n"));
  const std::string shown = Between(page, "```text\n", "```");
  if (std::getenv("UPDATE_GOLDEN") == nullptr) {
    EXPECT_EQ(shown, output);
    return;
  }
  page.replace(page.find("```text\n") + 8, shown.size(), output);
  std::ofstream(TESSERA_SOURCE_DIR + page_path) << page;
}

}  // namespace tessera::testing_documents
