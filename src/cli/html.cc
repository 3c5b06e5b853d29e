#include "cli/html.h"

#include <tessera/explain.h>

#include <map>
#include <sstream>

namespace tessera::cli {
namespace {

std::string Escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// The page has one style; colours go round where there are more axes.
constexpr const char* kStyle = R"(
body { font: 14px/1.5 sans-serif; margin: 2em; }
code, pre { font-family: monospace; }
pre { margin: 0; }
summary, .line { white-space: pre; font-family: monospace; }
.line { padding-left: 1.1em; }
details pre { margin: 0.3em 0 0.6em 3em; padding: 0.5em; background: #f3f3f3; }
.axis { border-radius: 3px; padding: 0 3px; }
.c0 { background: #bfe0ff; } .c1 { background: #ffd9a8; } .c2 { background: #c9efc0; }
.c3 { background: #f5c2e0; } .c4 { background: #e3d0ff; } .c5 { background: #fff0a0; }
.c6 { background: #b8ece6; } .c7 { background: #ffc5bd; }
)";
constexpr size_t kColours = 8;

class Page {
 public:
  Page(const Program& program, propagation::Stage stop_after) : text_(program.text()) {
    ReadAxes();
    for (Explanation& e : explain_all(program, stop_after)) {
      std::string value = e.value;
      values_.emplace(std::move(value), std::move(e));
    }
  }

  std::string Run(const std::string& title) {
    out_ = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>" +
           Escaped(title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<h1>" +
           Escaped(title) + "</h1>\n";
    Legend();
    std::istringstream lines(text_);
    for (std::string line; std::getline(lines, line);) Line(line);
    return out_ + "</body>\n</html>\n";
  }

 private:
  // The names in `<["x"=2, "y"=4]>` of the first line.
  void ReadAxes() {
    std::string first = text_.substr(0, text_.find('\n'));
    for (size_t at = first.find("= <"), end; (at = first.find('"', at)) != std::string::npos;
         at = end + 1) {
      end = first.find('"', at + 1);
      if (end == std::string::npos || first.substr(end, 2) != "\"=") break;
      axes_.emplace(first.substr(at + 1, end - at - 1), axes_.size() % kColours);
    }
  }

  void Legend() {
    out_ += "<p>Axes:";
    for (const auto& [name, colour] : axes_) out_ += " " + Axis(name, colour, Escaped(name));
    out_ += ". Click a value for the reason of its sharding.</p>\n";
  }

  static std::string Axis(const std::string&, size_t colour, const std::string& shown) {
    return "<span class=\"axis c" + std::to_string(colour) + "\">" + shown + "</span>";
  }

  // A sharding's text with its axes coloured.
  std::string Coloured(const std::string& sharding) const {
    std::string out;
    for (size_t at = 0; at < sharding.size();) {
      size_t end = sharding[at] == '"' ? sharding.find('"', at + 1) : std::string::npos;
      auto axis = end == std::string::npos ? axes_.end()
                                           : axes_.find(sharding.substr(at + 1, end - at - 1));
      if (axis == axes_.end()) {
        out += Escaped(sharding.substr(at++, 1));
        continue;
      }
      out += Axis(axis->first, axis->second, Escaped(axis->first));
      at = end + 1;
    }
    return out;
  }

  // The values that a line defines: `%3: type`.
  std::vector<const Explanation*> Defined(const std::string& line) const {
    std::vector<const Explanation*> values;
    for (size_t at = line.find('%'); at != std::string::npos; at = line.find('%', at + 1)) {
      size_t end = line.find_first_not_of("0123456789", at + 1);
      if (end == std::string::npos || line[end] != ':') continue;
      auto it = values_.find(line.substr(at, end - at));
      if (it != values_.end()) values.push_back(&it->second);
    }
    return values;
  }

  void Line(const std::string& line) {
    std::vector<const Explanation*> values = Defined(line);
    if (values.empty()) {
      out_ += "<div class=\"line\">" + Escaped(line) + "</div>\n";
      return;
    }
    std::string shardings, reasons;
    for (const Explanation* e : values) {
      shardings += "  " + e->value + " " + (e->sharding.empty() ? "whole" : Coloured(e->sharding));
      reasons += e->text;
    }
    out_ += "<details><summary title=\"" + Escaped(reasons) + "\">" + Escaped(line) + shardings +
            "</summary><pre>" + Escaped(reasons) + "</pre></details>\n";
  }

  std::string text_, out_;
  std::map<std::string, size_t> axes_;  // and their colours
  std::map<std::string, Explanation> values_;
};

}  // namespace

std::string HtmlPage(const Program& program, const std::string& title,
                     propagation::Stage stop_after) {
  return Page(program, stop_after).Run(title);
}

}  // namespace tessera::cli
