#include "cli/quantities.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace lsecheck::cli {

namespace {

struct NumberWithSuffix {
  std::uint64_t number = 0;
  std::string suffix;
};

std::optional<NumberWithSuffix> split(const std::string& text) {
  NumberWithSuffix result;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result.number);
  if (error != std::errc{}) return std::nullopt;
  result.suffix.assign(end, text.data() + text.size());
  return result;
}

std::optional<std::uint64_t> scaled(std::uint64_t number, std::uint64_t factor) {
  if (number > std::numeric_limits<std::uint64_t>::max() / factor) return std::nullopt;
  return number * factor;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(const std::string& text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  if (parts->suffix.empty()) return parts->number;
  if (parts->suffix == "K") return scaled(parts->number, std::uint64_t{1} << 10);
  if (parts->suffix == "M") return scaled(parts->number, std::uint64_t{1} << 20);
  if (parts->suffix == "G") return scaled(parts->number, std::uint64_t{1} << 30);
  return std::nullopt;
}

std::optional<std::chrono::seconds> parse_duration(const std::string& text) {
  const auto parts = split(text);
  if (!parts || parts->number > 1'000'000'000) return std::nullopt;
  const auto number = static_cast<std::int64_t>(parts->number);
  if (parts->suffix.empty() || parts->suffix == "s") return std::chrono::seconds(number);
  if (parts->suffix == "m") return std::chrono::minutes(number);
  if (parts->suffix == "h") return std::chrono::hours(number);
  return std::nullopt;
}

std::string today_in_utc() {
  const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(today.year()), static_cast<unsigned>(today.month()),
                     static_cast<unsigned>(today.day()));
}

std::optional<std::uint64_t> parse_seed(const std::string& text) {
  std::string number = text;
  if (text == "date") {
    number = today_in_utc();
    std::erase(number, '-');
  }
  const auto parts = split(number);
  return parts && parts->suffix.empty() ? std::optional(parts->number) : std::nullopt;
}

}  // namespace lsecheck::cli
