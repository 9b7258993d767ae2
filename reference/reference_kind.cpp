#include "reference/reference_kind.h"

#include "reference/certified_reference.h"

namespace lsecheck {

std::string_view name_of(ReferenceKind kind) {
  return kind == ReferenceKind::certified ? "certified" : "exact";
}

std::optional<ReferenceKind> parse_reference_kind(std::string_view name) {
  for (const ReferenceKind kind : {ReferenceKind::certified, ReferenceKind::exact}) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

std::unique_ptr<Reference> make_reference(ReferenceKind kind) {
  return kind == ReferenceKind::certified ? make_certified_reference() : make_exact_reference();
}

}  // namespace lsecheck
