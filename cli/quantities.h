#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

// Quantities as people type them on a command line.
namespace lsecheck::cli {

std::optional<std::uint64_t> parse_bytes(const std::string& text);            // "4G", "512M", "64K", "1000"
std::optional<std::chrono::seconds> parse_duration(const std::string& text);  // "90s", "30m", "2h", "90"
// A number, or "date": today's UTC date as yyyymmdd.
std::optional<std::uint64_t> parse_seed(const std::string& text);
std::string today_in_utc();  // "2026-11-30"

}  // namespace lsecheck::cli
