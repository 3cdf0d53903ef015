// SPDX-License-Identifier: Apache-2.0
// Parameter groups: parts of a model with their own learning rate, which can be frozen or
// initialised separately.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace loci::train {

enum class ParameterGroup { kBackbone, kCamera, kRecurrent, kText };

inline constexpr std::array kParameterGroups = {ParameterGroup::kBackbone, ParameterGroup::kCamera,
                                                ParameterGroup::kRecurrent, ParameterGroup::kText};

// The group of a parameter, by its name. Parameters of an autoencoder belong to the backbone.
ParameterGroup group_of(const std::string& parameter_name);

std::string_view group_name(ParameterGroup group);

// The inverse of group_name(). An unknown name is bad input; `where` names the file and section.
ParameterGroup parse_group(const std::string& name, const std::string& where);

}  // namespace loci::train
