#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "reference/grade.h"

namespace lsecheck {

// Both give the same grades; the exact one takes hundreds of times as long.
enum class ReferenceKind : std::uint8_t { certified, exact };

std::string_view name_of(ReferenceKind kind);                              // "certified", "exact"
std::optional<ReferenceKind> parse_reference_kind(std::string_view name);  // nullopt for anything else
std::unique_ptr<Reference> make_reference(ReferenceKind kind);

}  // namespace lsecheck
