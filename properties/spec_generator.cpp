#include "properties/spec_generator.h"

#include <rapidcheck/Random.h>
#include <rapidcheck/seq/Create.h>
#include <rapidcheck/seq/Transform.h>
#include <rapidcheck/shrinkable/Create.h>

#include "properties/case_shrink.h"

namespace lsecheck {

rc::Shrinkable<CaseSpec> shrinkable_spec(const CaseSpec& spec) {
  return rc::shrinkable::shrinkRecur(
      spec, [](const CaseSpec& from) { return rc::seq::fromContainer(shrink_candidates(from)); });
}

rc::Gen<CaseSpec> spec_generator(const DrawLimits& limits) {
  return [limits](const rc::Random& random, int) {
    rc::Random source = random;
    const std::uint64_t seed = source.next();
    const std::uint64_t case_index = source.next() % 1'000'000;
    return shrinkable_spec(draw_spec(seed, case_index, limits));
  };
}

}  // namespace lsecheck
