// Reads idx files: a magic number, one size per dim, and the bytes, row-major. Numbers in the
// header have 32 bits, the most significant first.
#include "images.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace fashion {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw std::runtime_error(file + ": " + why);
}

// Returns the path as one word of a shell.
std::string quoted(const std::string& path) {
  std::string word = "'";
  for (char c : path) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

// Returns the content of a file, which gzip may have compressed.
std::string content_of(const std::string& file) {
  std::FILE* pipe = popen(("gzip -dcf < " + quoted(file) + " 2>&1").c_str(), "r");
  if (pipe == nullptr) refuse(file, "cannot run gzip");
  std::string bytes;
  std::vector<char> block(1 << 20);
  while (const size_t n = std::fread(block.data(), 1, block.size(), pipe))
    bytes.append(block.data(), n);
  if (pclose(pipe) != 0) {
    // "gzip: stdin: unexpected end of file", after the bytes of the file.
    const std::string why = bytes.substr(std::min(bytes.size(), bytes.rfind(": ")));
    refuse(file, "gzip cannot read it" + why.substr(0, why.find('\n')));
  }
  return bytes;
}

std::string find(const std::string& folder, const std::string& name) {
  for (const char* ending : {".gz", ""})
    if (const fs::path file = fs::path(folder) / (name + ending); fs::exists(file)) return file;
  refuse(folder, "has no file " + name +
                     ".gz. `scripts/demo --fashion` installs Debian's package "
                     "dataset-fashion-mnist, which has it");
}

struct Idx {
  std::string file;
  std::vector<int64_t> sizes;
  std::string_view bytes;
  std::string content;
};

// Reads a file of unsigned bytes with this many dims.
Idx read_idx(const std::string& file, size_t dims) {
  Idx idx{.file = file, .sizes = {}, .bytes = {}, .content = content_of(file)};
  const auto number = [&](size_t at) {
    uint32_t n = 0;
    for (size_t i = 4 * at; i < 4 * at + 4; ++i)
      n = n << 8 | static_cast<unsigned char>(idx.content[i]);
    return n;
  };
  const size_t header = 4 + 4 * dims;
  if (idx.content.size() < header) refuse(file, "is too short to be an idx file");
  const uint32_t magic = 0x800 + static_cast<uint32_t>(dims);
  if (number(0) != magic)
    refuse(file, fmt::format("begins with {:#010x}; an idx file of bytes with {} dim{} begins with "
                             "{:#010x}",
                             number(0), dims, dims == 1 ? "" : "s", magic));
  size_t total = 1;
  for (size_t d = 0; d < dims; ++d) {
    idx.sizes.push_back(number(1 + d));
    total *= number(1 + d);
  }
  if (idx.content.size() - header != total)
    refuse(file, fmt::format("has {} bytes after its header, which states {}",
                             idx.content.size() - header, fmt::join(idx.sizes, " x ")));
  return idx;
}

// Two rows of the image are one line of text, as characters are twice as high as they are wide.
std::string line_of(const uint8_t* rows) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  std::string line;
  for (int64_t c = 0; c < kSide; ++c)
    line += kShades[static_cast<size_t>(rows[c] + rows[c + kSide]) * kShades.size() / 511];
  return line;
}

}  // namespace

Images read_images(const std::string& folder, const std::string& name) {
  const Idx images = read_idx(find(folder, name + "-images-idx3-ubyte"), 3);
  const Idx labels = read_idx(find(folder, name + "-labels-idx1-ubyte"), 1);
  if (images.sizes[1] != kSide || images.sizes[2] != kSide)
    refuse(images.file, fmt::format("has images of {} x {} pixels; 28 x 28 are needed",
                                    images.sizes[1], images.sizes[2]));
  if (images.sizes[0] != labels.sizes[0])
    refuse(labels.file,
           fmt::format("has {} labels for {} images", labels.sizes[0], images.sizes[0]));
  Images out;
  out.pixels.assign(images.content.end() - kSide * kSide * images.sizes[0], images.content.end());
  out.labels.assign(labels.content.end() - labels.sizes[0], labels.content.end());
  for (int32_t label : out.labels)
    if (label < 0 || label >= kClasses)
      refuse(labels.file, fmt::format("has the label {}; there are 10 classes", label & 255));
  return out;
}

const char* class_name(int32_t label) {
  constexpr std::array kNames = {"a T-shirt", "trousers", "a pullover", "a dress", "a coat",
                                 "a sandal",  "a shirt",  "a sneaker",  "a bag",   "a boot"};
  return kNames.at(static_cast<size_t>(label));
}

std::string pictures(const std::vector<std::vector<uint8_t>>& images,
                     const std::vector<std::string>& captions) {
  std::string text;
  const auto add_line = [&](const auto& part) {
    std::string line;
    for (size_t i = 0; i < images.size(); ++i) line += fmt::format("{:<32}", part(i));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  for (int64_t row = 0; row < kSide; row += 2)
    add_line([&](size_t i) { return line_of(images[i].data() + row * kSide); });
  add_line([&](size_t i) { return captions[i]; });
  return text;
}

}  // namespace fashion
