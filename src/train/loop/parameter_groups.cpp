// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/parameter_groups.h"

#include <vector>

#include "loci/base/choice.h"
#include "loci/base/error.h"

namespace loci::train {

ParameterGroup group_of(const std::string& parameter_name) {
  if (parameter_name.find(".camera_attn.") != std::string::npos) return ParameterGroup::kCamera;
  if (parameter_name.find(".kda.") != std::string::npos) return ParameterGroup::kRecurrent;
  if (parameter_name.starts_with("text_encoder.")) return ParameterGroup::kText;
  return ParameterGroup::kBackbone;
}

std::string_view group_name(ParameterGroup group) {
  switch (group) {
    case ParameterGroup::kBackbone:
      return "backbone";
    case ParameterGroup::kCamera:
      return "camera";
    case ParameterGroup::kRecurrent:
      return "recurrent";
    case ParameterGroup::kText:
      return "text";
  }
  return "";
}

ParameterGroup parse_group(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const ParameterGroup group : kParameterGroups) {
    if (name == group_name(group)) return group;
    names.emplace_back(group_name(group));
  }
  fail("{}: {}", where, unknown_choice("parameter group", name, names));
}

}  // namespace loci::train
