// JSON text inside of an HTML page.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera::cli {

// Returns the text in quotes. It holds no `<`, so it cannot end the script around it.
std::string JsonText(std::string_view text);

// Texts that are written once and named by their index.
class TextTable {
 public:
  TextTable() { IndexOf(""); }
  int64_t IndexOf(const std::string& text);
  std::string Json() const;  // an array of texts; the first is ""

 private:
  std::unordered_map<std::string, int64_t> indices_;
  std::vector<std::string> texts_;
};

// Builds an array from texts that are JSON already.
class JsonArray {
 public:
  JsonArray& Add(std::string_view json) {
    if (text_.size() > 1) text_ += ',';
    text_ += json;
    return *this;
  }
  JsonArray& Add(int64_t number) { return Add(std::to_string(number)); }
  std::string Json() const { return text_ + "]"; }

 private:
  std::string text_ = "[";
};

}  // namespace tessera::cli
