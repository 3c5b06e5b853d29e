// Says why a file cannot be read or written, from errno and from what the path is.
#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <system_error>

namespace tessera::base {

std::string ErrnoText() {
  if (errno == EISDIR) return "it is a directory";
  std::string text = std::generic_category().message(errno);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string WhyUnreadable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoText();
  if (S_ISDIR(info.st_mode)) return "it is a directory";
  return access(path.c_str(), R_OK) == 0 ? "" : ErrnoText();
}

}  // namespace tessera::base
