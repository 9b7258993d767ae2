#include "properties/case_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "properties/case_kernel.h"
#include "properties/case_limits.h"
#include "properties/safetensors.h"
#include "properties/safetensors_header.h"

namespace lsecheck {
namespace {

constexpr const char* kSchema = "lsecheck.case/1";
using Metadata = std::map<std::string, std::string>;

// 16-bit elements are kept one to a word in memory and packed in the file.
std::vector<std::byte> pack(DType type, const std::vector<std::uint32_t>& words) {
  const std::size_t width = size_of(type);
  std::vector<std::byte> bytes(words.size() * width);
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(bytes.data() + i * width, &words[i], width);
  return bytes;
}

Metadata metadata_of(const CaseFile& file) {
  const CaseSpec& spec = file.tensors.spec;
  const auto text = [](std::string_view view) { return std::string(view); };
  return {{"schema", kSchema},
          {"generator_version", std::to_string(file.generator_version)},
          {"kernel", text(name_of(spec.kernel))},
          {"law", file.law},
          {"token", file.token},
          {"arch", text(name_of(spec.arch))},
          {"selection", text(name_of(spec.selection))},
          {"out", text(name_of(spec.out))},
          {"unit", text(sfu::name_of(spec.unit.kind))},
          {"unit_seed", std::to_string(spec.unit.seed)},
          {"schedule", text(name_of(spec.schedule))},
          {"seed", std::to_string(spec.seed)},
          {"lse_regime", text(name_of(spec.lse))},
          {"value_regime", text(name_of(spec.values))},
          {"empties", text(name_of(spec.empties))},
          {"garbage", text(name_of(spec.garbage))},
          {"exponent", text(name_of(spec.exponent))},
          {"exponent_scale", fmt::format("{}", file.tensors.exponent_scale)},  // the shortest text that reads back
          {"mass", text(name_of(spec.mass))}};
}

// The enumerators are 0 .. count - 1.
template <typename Enum>
std::optional<Enum> parse_name(const std::string& name, int count) {
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

class MetadataReader {
 public:
  explicit MetadataReader(const SafetensorsFile& file) : file_(file) {}

  [[noreturn]] void fail(const std::string& reason) const {
    throw FileError(FileErrorKind::unreadable, file_.path(), reason);
  }

  // Of a generator version whose files name no exponent form and no mass regime.
  bool knows_no_masses() const { return integer<int>("generator_version") < 3; }

  const std::string& text(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) fail(fmt::format("no case file: metadata has no `{}`", key));
    return found->second;
  }

  template <typename Integer>
  Integer integer(const std::string& key) const {
    const std::string& value = text(key);
    Integer result{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc{} || end != value.data() + value.size() || result < 0) {
      fail(fmt::format("metadata `{}` is {}, not a non-negative integer", key, quoted_name(value)));
    }
    return result;
  }

  template <typename T>
  T required(const std::string& key, std::optional<T> parsed) const {
    if (!parsed)
      fail(fmt::format("metadata `{}` is {}, which this version does not know", key, quoted_name(text(key))));
    return *parsed;
  }

  template <typename Enum>
  Enum named(const std::string& key, int count) const {
    return required(key, parse_name<Enum>(text(key), count));
  }

  // A label of another generator version may be unknown.
  template <typename Enum>
  Enum label(const std::string& key, int count, Enum fallback) const {
    const auto parsed = parse_name<Enum>(text(key), count);
    return parsed || same_generator() ? required(key, parsed) : fallback;
  }

 private:
  bool same_generator() const { return integer<int>("generator_version") == kGeneratorVersion; }

  const SafetensorsFile& file_;
};

// An extent as a field of the spec, whose own limits come later.
template <typename Field>
void read_extent(const MetadataReader& reader, const char* name, std::uint64_t extent, Field& field) {
  if (extent < 1 || extent > std::numeric_limits<Field>::max()) {
    reader.fail(fmt::format("{} is {}; it must be within 1..{}", name, extent, std::numeric_limits<Field>::max()));
  }
  field = static_cast<Field>(extent);
}

void read_shape(const MetadataReader& reader, const SafetensorsTensor& lse, const SafetensorsTensor& o,
                CaseSpec& spec) {
  if (o.shape.size() != 4) {
    reader.fail(fmt::format("o_partial has shape {}, not [P, rows, heads, ov_depth]", shape_text(o.shape)));
  }
  if (lse.dtype != DType::f32) reader.fail(fmt::format("lse_partial has dtype {}, not F32", lse.dtype_name));
  const std::span<const std::uint64_t> expected(o.shape.data(), 3);
  if (!std::equal(lse.shape.begin(), lse.shape.end(), expected.begin(), expected.end())) {
    reader.fail(fmt::format("lse_partial has shape {}, o_partial {}; they must agree on [P, rows, heads]",
                            shape_text(lse.shape), shape_text(o.shape)));
  }
  read_extent(reader, "num_partitions", o.shape[0], spec.num_partitions);
  read_extent(reader, "rows", o.shape[1], spec.rows);
  read_extent(reader, "heads", o.shape[2], spec.heads);
  read_extent(reader, "ov_depth", o.shape[3], spec.ov_depth);
  spec.partial = *o.dtype;
}

void read_exponents(const MetadataReader& reader, CaseTensors& tensors) {
  if (reader.knows_no_masses()) return;
  tensors.spec.exponent = reader.named<ExponentForm>("exponent", kExponentFormCount);
  const std::string& scale = reader.text("exponent_scale");
  const auto [end, error] = std::from_chars(scale.data(), scale.data() + scale.size(), tensors.exponent_scale);
  if (error != std::errc{} || end != scale.data() + scale.size() || !std::isnormal(tensors.exponent_scale) ||
      tensors.exponent_scale <= 0) {
    reader.fail(fmt::format("metadata `exponent_scale` is {}, not a positive normal f32", quoted_name(scale)));
  }
  if (tensors.spec.exponent != ExponentForm::scaled && tensors.exponent_scale != 1) {
    reader.fail(fmt::format("metadata `exponent_scale` is {}, but exponent is `{}`; only `scaled` has another than 1",
                            quoted_name(scale), name_of(tensors.spec.exponent)));
  }
}

void read_masses(const MetadataReader& reader, const SafetensorsFile& file, CaseTensors& tensors) {
  if (!kernel_of(tensors.spec).takes_masses()) return;
  const SafetensorsTensor& mass = file.float_tensor("mass_partial");
  const SafetensorsTensor& lse = file.float_tensor("lse_partial");
  if (mass.dtype != DType::f32) reader.fail(fmt::format("mass_partial has dtype {}, not F32", mass.dtype_name));
  if (mass.shape != lse.shape) {
    reader.fail(
        fmt::format("mass_partial has shape {}, lse_partial {}", shape_text(mass.shape), shape_text(lse.shape)));
  }
  tensors.mass_partial.resize(mass.num_elements());
  std::memcpy(tensors.mass_partial.data(), mass.data.data(), mass.data.size());
  for (const float l : tensors.mass_partial) {
    if (l < 0) reader.fail("mass_partial holds a negative value; a mass is a sum of exponentials");
  }
}

// The sink's tensor says itself which kind it is.
void read_sink(const MetadataReader& reader, const SafetensorsFile& file, CaseTensors& tensors) {
  if (file.find("attention_sink") == nullptr) return;
  const SafetensorsTensor& sink = file.float_tensor("attention_sink");
  if (sink.dtype != DType::f32) reader.fail(fmt::format("attention_sink has dtype {}, not F32", sink.dtype_name));
  if (sink.shape != std::vector<std::uint64_t>{tensors.spec.heads}) {
    reader.fail(
        fmt::format("attention_sink has shape {}, not [heads] = [{}]", shape_text(sink.shape), tensors.spec.heads));
  }
  tensors.attention_sink.resize(sink.num_elements());
  std::memcpy(tensors.attention_sink.data(), sink.data.data(), sink.data.size());
  tensors.spec.sink = SinkKind::minus_infinity;
  for (const float value : tensors.attention_sink) {
    if (std::isnan(value) || value == INFINITY)
      reader.fail("attention_sink holds NaN or +inf; finite or -inf is taken");
    if (std::isfinite(value)) tensors.spec.sink = SinkKind::finite;
  }
}

// Everything but the labels, which may need the tensors.
void read_fields(const MetadataReader& reader, CaseSpec& spec) {
  spec.kernel = reader.named<KernelId>("kernel", kKernelCount + 1);
  spec.arch = reader.required("arch", parse_arch(reader.text("arch")));
  spec.selection = reader.named<Selection>("selection", kSelectionCount);
  spec.out = reader.required("out", parse_dtype(reader.text("out")));
  spec.unit.kind = reader.required("unit", [&]() -> std::optional<sfu::UnitKind> {
    for (const auto kind : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
      if (sfu::name_of(kind) == reader.text("unit")) return kind;
    }
    return std::nullopt;
  }());
  spec.unit.seed = reader.integer<std::uint64_t>("unit_seed");
  spec.schedule = reader.named<Schedule>("schedule", 2);
  spec.seed = reader.integer<std::uint64_t>("seed");
}

void read_labels(const MetadataReader& reader, CaseTensors& tensors) {
  bool special = false;
  for (const float lse : tensors.lse_partial) special = special || std::isnan(lse) || (std::isinf(lse) && lse > 0);
  for (const float mass : tensors.mass_partial) special = special || !std::isfinite(mass);
  CaseSpec& spec = tensors.spec;
  spec.lse = reader.label("lse_regime", kLseRegimeCount, special ? LseRegime::policy : LseRegime::narrow);
  if (special && spec.lse != LseRegime::policy) {
    reader.fail(fmt::format("{} NaN or +Inf, but lse_regime is `{}`; only `policy` cases may hold them",
                            tensors.mass_partial.empty() ? "lse_partial holds" : "lse_partial or mass_partial hold",
                            name_of(spec.lse)));
  }
  spec.values = reader.label("value_regime", kValueRegimeCount, ValueRegime::normal);
  spec.empties = reader.label("empties", kEmptyPatternCount, EmptyPattern::mixed_rows);
  spec.garbage = reader.label("garbage", kGarbageCount, Garbage::stale_bits);
  if (!reader.knows_no_masses()) spec.mass = reader.label("mass", kMassRegimeCount, MassRegime::unit);
}

}  // namespace

void save_case(const std::string& path, const CaseFile& file) {
  const CaseTensors& tensors = file.tensors;
  const CaseSpec& spec = tensors.spec;
  const std::vector<std::uint64_t> rows{spec.num_partitions, spec.rows, spec.heads};
  const std::vector<std::uint64_t> elements{spec.num_partitions, spec.rows, spec.heads, spec.ov_depth};
  const std::vector<std::byte> o = pack(spec.partial, tensors.o_partial);
  // f32 first: in a file that starts aligned, every tensor is.
  const std::vector<std::uint64_t> heads{spec.heads};
  std::vector<SafetensorsEntry> entries{
      {"lse_partial", DType::f32, rows, std::as_bytes(std::span(tensors.lse_partial))}};
  if (!tensors.mass_partial.empty()) {
    entries.push_back({"mass_partial", DType::f32, rows, std::as_bytes(std::span(tensors.mass_partial))});
  }
  if (!tensors.attention_sink.empty()) {
    entries.push_back({"attention_sink", DType::f32, heads, std::as_bytes(std::span(tensors.attention_sink))});
  }
  entries.push_back({"o_partial", spec.partial, elements, o});
  write_safetensors(path, entries, metadata_of(file));
}

CaseFile load_case(const std::string& path, std::uint64_t max_bytes) {
  return read_case(read_safetensors(path, max_bytes), max_bytes);
}

CaseFile read_case(const SafetensorsFile& file, std::uint64_t max_bytes) {
  const MetadataReader reader(file);
  if (reader.text("schema") != kSchema) {
    reader.fail(fmt::format("schema {} is not `{}`", quoted_name(reader.text("schema")), kSchema));
  }
  CaseFile result;
  CaseTensors& tensors = result.tensors;
  result.generator_version = reader.integer<int>("generator_version");
  result.law = reader.text("law");
  result.token = reader.text("token");
  const SafetensorsTensor& lse = file.float_tensor("lse_partial");
  const SafetensorsTensor& o = file.float_tensor("o_partial");
  read_fields(reader, tensors.spec);
  read_shape(reader, lse, o, tensors.spec);
  read_exponents(reader, tensors);
  read_sink(reader, file, tensors);
  if (const auto error = spec_error(tensors.spec)) reader.fail(*error);

  // No overflow: the elements are fewer than the file's bytes.
  const std::uint64_t needed = file.size_in_bytes() + 4 * (2 * lse.num_elements() + o.num_elements());
  if (needed > max_bytes) {
    reader.fail(
        fmt::format("the case takes {} bytes of memory, more than the limit of {}; raise --memory", needed, max_bytes));
  }
  tensors.lse_partial.resize(lse.num_elements());
  std::memcpy(tensors.lse_partial.data(), lse.data.data(), lse.data.size());  // NaN payloads and all
  read_masses(reader, file, tensors);
  tensors.o_partial.resize(o.num_elements());
  for (std::size_t i = 0; i < tensors.o_partial.size(); ++i) tensors.o_partial[i] = o.bits(i);

  read_labels(reader, tensors);
  if (const auto error = spec_error(tensors.spec)) reader.fail(*error);
  return result;
}

}  // namespace lsecheck
