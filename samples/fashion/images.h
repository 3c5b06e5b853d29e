// Grey images of clothes with their classes, read from the files of Fashion-MNIST.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace fashion {

inline constexpr int64_t kSide = 28, kClasses = 10;

struct Images {
  std::vector<uint8_t> pixels;  // [image, row, column]: 0 is the background
  std::vector<int32_t> labels;
  int64_t count() const { return static_cast<int64_t>(labels.size()); }
};

// Reads FOLDER/NAME-images-idx3-ubyte and FOLDER/NAME-labels-idx1-ubyte, each with the ending .gz
// or without. Throws std::runtime_error for files that are missing, incomplete or of another kind.
Images read_images(const std::string& folder, const std::string& name);

// Returns "a coat".
const char* class_name(int32_t label);

// Returns the images side by side as lines of characters, each with its caption below.
std::string pictures(const std::vector<std::vector<uint8_t>>& images,
                     const std::vector<std::string>& captions);

}  // namespace fashion
