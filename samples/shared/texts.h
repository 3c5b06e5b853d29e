// Text files.
#pragma once
#include <string>
#include <vector>

namespace samples {

struct Text {
  std::string name;  // of the file, without its folder
  std::string contents;
};

// Returns the text of every path. A folder stands for the plain files in it, by name. Throws
// std::runtime_error, with a message for the user, if a file cannot be read.
std::vector<Text> read_texts(const std::vector<std::string>& paths);

// Returns the folder of licence texts that every Debian installation has, or `other` where there is
// none.
std::string licence_texts(const char* other);

}  // namespace samples
