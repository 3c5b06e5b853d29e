// Explains why a file cannot be read or written, from errno and the kind of the path;
// replaces files.
#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/at.h"

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

NewFile::NewFile(const std::string& path, Role role) : role_(role) {
  std::error_code missing;
  const std::filesystem::path real = std::filesystem::canonical(path, missing);
  path_ = missing ? path : real.string();  // a link's target is replaced, not the link
  temporary_ = path_ + ".tmp";
  if (role_ == Role::kOwner) {
    Make();
    return;
  }
  file_ = open(temporary_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file_ < 0) throw FileError(ErrnoText());
}

void NewFile::Make() {
  struct stat old {};
  const bool replaces = stat(path_.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) throw FileError("it is a directory");
  if (replaces && !S_ISREG(old.st_mode)) throw FileError("it is not a regular file");
  if (replaces && access(path_.c_str(), W_OK) != 0) throw FileError(ErrnoText());
  OpenTemporary();
  if (ftruncate(file_, 0) != 0 || (replaces && fchmod(file_, old.st_mode & 07777) != 0)) {
    const std::string why = ErrnoText();
    unlink(temporary_.c_str());
    close(file_);
    throw FileError(why);
  }
}

void NewFile::OpenTemporary() {
  while (true) {
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file_ < 0) throw FileError(ErrnoText());
    // Has no effect on file systems without locks.
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
    // While we waited, the previous writer may have renamed this file to its final name.
    struct stat ours {
    }, named{};
    if (fstat(file_, &ours) == 0 && stat(temporary_.c_str(), &named) == 0 &&
        ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
      return;
    close(file_);
  }
}

NewFile::~NewFile() {
  if (file_ < 0) return;
  if (role_ == Role::kOwner) unlink(temporary_.c_str());
  close(file_);
}

void NewFile::WriteAt(int64_t at, const void* data, size_t bytes) {
  for (const char* p = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t n = pwrite(file_, p, bytes, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw FileError(ErrnoText());
    p += n;
    at += n;
    bytes -= base::Size(n);
  }
}

void NewFile::Sync() {
  if (fsync(file_) != 0) throw FileError(ErrnoText());
}

void NewFile::Commit() {
  Sync();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) throw FileError(ErrnoText());
  close(file_);
  file_ = -1;
  // The new name is on disk once its folder is synchronised.
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int names = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (names < 0) throw FileError(ErrnoText());
  const bool failed = fsync(names) != 0 && errno != EINVAL;  // EINVAL: not supported here
  const std::string why = ErrnoText();
  close(names);
  if (failed) throw FileError(why);
}

}  // namespace tessera::base
