#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

// Reads JSON that lsecheck wrote itself: what is missing, unknown, repeated or of another type throws StoreError
// (unreadable), whose one line names the file, the member and the remedy.
namespace lsecheck {

using Json = nlohmann::ordered_json;

// Where in the file a value stands: "kernels[3].ulp". Errors are about one place.
struct JsonPlace {
  std::string source;
  std::string remedy;  // "give a file that lsecheck wrote with --json"
  std::string member;

  JsonPlace in(const std::string& name) const { return {source, remedy, member.empty() ? name : member + "." + name}; }
  JsonPlace at(std::size_t index) const { return {source, remedy, member + "[" + std::to_string(index) + "]"}; }
  [[noreturn]] void refuse(const std::string& reason) const;
};

// The text as JSON in which no object has two members of the same name.
Json parse_without_repetition(std::string_view text, const JsonPlace& root);

const Json& require_array(const Json& json, const JsonPlace& place);

void read(const Json& json, const JsonPlace& place, std::string& value);
void read(const Json& json, const JsonPlace& place, bool& value);
void read(const Json& json, const JsonPlace& place, std::uint64_t& value);
void read(const Json& json, const JsonPlace& place, std::uint32_t& value);
void read(const Json& json, const JsonPlace& place, int& value);
// A metric: "inf" or a finite number >= 0.
void read(const Json& json, const JsonPlace& place, double& value);

// "0x" and exactly as many digits as the type has.
template <typename Integer>
void read_bits(const Json& json, const JsonPlace& place, Integer& value) {
  std::string text;
  read(json, place, text);
  const char* const end = text.data() + text.size();
  const bool prefixed = text.starts_with("0x") && text.size() == 2 + 2 * sizeof(Integer);
  const auto [last, error] = std::from_chars(text.data() + (prefixed ? 2 : 0), end, value, 16);
  if (!prefixed || error != std::errc{} || last != end) {
    place.refuse("is not 0x and " + std::to_string(2 * sizeof(Integer)) + " hexadecimal digits");
  }
}

// An object all of whose members must be taken, each once.
class JsonMembers {
 public:
  JsonMembers(const Json& json, JsonPlace place);

  bool has(const std::string& name) const { return json_.contains(name); }
  const Json& take(const std::string& name);
  template <typename Value>
  void take(const std::string& name, Value& value) {
    read(take(name), place_.in(name), value);
  }
  template <typename Integer>
  void take_bits(const std::string& name, Integer& value) {
    read_bits(take(name), place_.in(name), value);
  }
  void require_all_taken() const;

 private:
  const Json& json_;
  JsonPlace place_;
  std::set<std::string> taken_;
};

}  // namespace lsecheck
