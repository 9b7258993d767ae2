#include "reports/strict_json.h"

#include <limits>
#include <vector>

#include "reports/store_error.h"

namespace lsecheck {
namespace {

template <typename Integer>
void read_integer(const Json& json, const JsonPlace& place, Integer& value) {
  if (!json.is_number_unsigned()) place.refuse("is not a non-negative integer");
  const auto wide = json.get<std::uint64_t>();
  if (wide > static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())) place.refuse("is out of range");
  value = static_cast<Integer>(wide);
}

}  // namespace

void JsonPlace::refuse(const std::string& reason) const {
  throw StoreError(StoreError::Kind::unreadable,
                   "cannot read " + source + ": " + (member.empty() ? "" : member + " ") + reason + "; " + remedy);
}

// The parser itself keeps one of two members of the same name.
Json parse_without_repetition(std::string_view text, const JsonPlace& root) {
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      root.in(parsed.get<std::string>()).refuse("appears twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    root.refuse("is not JSON at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    root.refuse("holds a number out of range");
  }
}

const Json& require_array(const Json& json, const JsonPlace& place) {
  if (!json.is_array()) place.refuse("is not an array");
  return json;
}

void read(const Json& json, const JsonPlace& place, std::string& value) {
  if (!json.is_string()) place.refuse("is not a string");
  value = json.get<std::string>();
}

void read(const Json& json, const JsonPlace& place, bool& value) {
  if (!json.is_boolean()) place.refuse("is neither true nor false");
  value = json.get<bool>();
}

void read(const Json& json, const JsonPlace& place, std::uint64_t& value) {
  read_integer(json, place, value);
}

void read(const Json& json, const JsonPlace& place, std::uint32_t& value) {
  read_integer(json, place, value);
}

void read(const Json& json, const JsonPlace& place, int& value) {
  read_integer(json, place, value);
}

void read(const Json& json, const JsonPlace& place, double& value) {
  if (json == "inf") {
    value = std::numeric_limits<double>::infinity();
    return;
  }
  if (!json.is_number()) place.refuse("is neither a number nor \"inf\"");
  value = json.get<double>();
  if (!(value >= 0)) place.refuse("is negative");
}

JsonMembers::JsonMembers(const Json& json, JsonPlace place) : json_(json), place_(std::move(place)) {
  if (!json.is_object()) place_.refuse("is not an object");
}

const Json& JsonMembers::take(const std::string& name) {
  const auto member = json_.find(name);
  if (member == json_.end()) place_.in(name).refuse("is missing");
  taken_.insert(name);
  return *member;
}

void JsonMembers::require_all_taken() const {
  for (const auto& member : json_.items()) {
    if (!taken_.contains(member.key())) place_.in(member.key()).refuse("is unknown");
  }
}

}  // namespace lsecheck
