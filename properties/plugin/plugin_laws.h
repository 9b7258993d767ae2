#pragma once

#include "properties/laws.h"
#include "properties/plugin/plugin_description.h"

namespace lsecheck {

// Whether a law holds for every kernel of the class that the plugin names, given what it promises of its bits.
bool says_something_of(LawId law, const PluginDescription& plugin);

}  // namespace lsecheck
