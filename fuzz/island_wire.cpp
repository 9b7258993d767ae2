#include "fuzz/island_wire.h"

#include <cstring>
#include <stdexcept>

#include "fuzz/worst_text.h"
#include "properties/case_kernel.h"

// The best find as a line of a file of worst cases, empty where nothing was graded. Behind it, where something was
// outside the bound: a line with the rows of its case, their exponents, masses and values as they lie in memory, and
// the message. The rest of the case follows from the target.
namespace lsecheck {
namespace {

template <class Number>
void append(std::string& bytes, const std::vector<Number>& numbers) {
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

template <class Number>
std::vector<Number> take(std::string_view& bytes, std::uint64_t count) {
  if (bytes.size() / sizeof(Number) < count) throw std::invalid_argument("result of an island: numbers are missing");
  std::vector<Number> numbers(count);
  if (count > 0) std::memcpy(numbers.data(), bytes.data(), count * sizeof(Number));
  bytes.remove_prefix(count * sizeof(Number));
  return numbers;
}

std::string_view take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) throw std::invalid_argument("result of an island: a line has no end");
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  return line;
}

OutsideBound outside_from(const HuntTarget& target, std::string_view bytes) {
  OutsideBound outside;
  CaseTensors& tensors = outside.tensors;
  tensors.spec = hunt_spec(target).value();
  tensors.spec.rows = parse_integer_field<std::uint32_t>("rows", take_line(bytes));
  tensors.exponent_scale = hunt_exponent_scale(tensors.spec);
  const std::uint64_t pairs = tensors.spec.rows_heads() * tensors.spec.num_partitions;
  tensors.lse_partial = take<float>(bytes, pairs);
  if (kernel_of(tensors.spec).takes_masses()) tensors.mass_partial = take<float>(bytes, pairs);
  tensors.o_partial = take<std::uint32_t>(bytes, pairs * tensors.spec.ov_depth);
  outside.message = bytes;
  return outside;
}

}  // namespace

std::string island_to_wire(const HuntTarget& target, const IslandResult& result) {
  std::string bytes = result.best.score >= 0 ? format_worst_case(worst_of(target, result.best)) : "";
  bytes += '\n';
  if (!result.outside) return bytes;
  const CaseTensors& tensors = result.outside->tensors;
  bytes += std::to_string(tensors.spec.rows) + "\n";
  append(bytes, tensors.lse_partial);
  append(bytes, tensors.mass_partial);
  append(bytes, tensors.o_partial);
  return bytes + result.outside->message;
}

IslandResult island_from_wire(const HuntTarget& target, std::string_view bytes) {
  IslandResult result;
  if (const std::string_view line = take_line(bytes); !line.empty()) {
    const WorstCase worst = parse_worst_case(line);
    if (!(worst.target == target)) throw std::invalid_argument("result of an island: it is of another target");
    result.best = {worst.value, worst.lse, worst.mass, worst.o};
  }
  if (!bytes.empty()) result.outside = outside_from(target, bytes);
  return result;
}

}  // namespace lsecheck
