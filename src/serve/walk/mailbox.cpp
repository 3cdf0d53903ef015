// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/mailbox.h"

#include <utility>

namespace loci::serve {

Mailbox::Mailbox(size_t queue_limit) : queue_limit_(queue_limit), alone_since_(Clock::now()) {}

std::shared_ptr<Client> Mailbox::attach(std::shared_ptr<Client> client) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Client> before = std::exchange(client_, std::move(client));
  if (before != nullptr) release_controls();
  mail_.greet = true;
  evicted_ = false;
  last_input_ = Clock::now();
  return before;
}

bool Mailbox::detach(const Client& client) {
  const std::lock_guard lock(mutex_);
  if (client_.get() != &client) return false;
  client_.reset();
  release_controls();
  alone_since_ = Clock::now();
  return true;
}

std::shared_ptr<Client> Mailbox::client() const {
  const std::lock_guard lock(mutex_);
  return client_;
}

std::optional<Clock::time_point> Mailbox::lingering_since() const {
  const std::lock_guard lock(mutex_);
  if (client_ != nullptr || evicted_) return std::nullopt;
  return alone_since_;
}

void Mailbox::evict() {
  const std::lock_guard lock(mutex_);
  evicted_ = true;
}

void Mailbox::release_controls() {
  mail_.messages.clear();
  applied_.event_ids.clear();
  applied_.oldest.reset();
  if (controls_) controls_->release();
}

void Mailbox::post(WalkMessage message) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  last_input_ = now;
  if (mail_.messages.size() >= queue_limit_ || applied_.event_ids.size() >= queue_limit_) {
    refuse("limit", "too many controls wait for the next chunk");
  }
  const auto* event = std::get_if<EventMessage>(&message);
  const auto* actions = event == nullptr ? nullptr : std::get_if<CameraActions>(&event->payload);
  if (controls_ && actions != nullptr) {
    apply(*actions, event->event_id, now);
  } else {
    mail_.messages.push_back(std::move(message));
  }
}

void Mailbox::report_failure(const ErrorReply& reply) {
  const std::lock_guard lock(mutex_);
  if (!mail_.failure) mail_.failure = reply;
}

Mailbox::Status Mailbox::status() const {
  const std::lock_guard lock(mutex_);
  return {client_, alone_since_, evicted_, !mail_.messages.empty() || mail_.greet || mail_.failure,
          mail_.moved};
}

Clock::time_point Mailbox::last_input() const {
  const std::lock_guard lock(mutex_);
  return last_input_;
}

Mailbox::Mail Mailbox::collect() {
  const std::lock_guard lock(mutex_);
  return std::exchange(mail_, {});
}

bool Mailbox::open_controls(Controls controls, const camera::Pose& pose) {
  const std::lock_guard lock(mutex_);
  const bool first = !controls_;
  if (first) controls_ = std::move(controls);
  controls_->set_pose(pose);
  mail_.greet = false;
  return first;
}

void Mailbox::apply(const CameraActions& actions, std::optional<int64_t> event_id,
                    Clock::time_point at) {
  controls_->apply(actions);
  applied_.event_ids.push_back(event_id);
  if (!applied_.oldest) applied_.oldest = at;
  mail_.moved = true;
}

void Mailbox::apply_controls(const CameraActions& actions, std::optional<int64_t> event_id) {
  const std::lock_guard lock(mutex_);
  apply(actions, event_id, Clock::now());
}

void Mailbox::set_pose(const camera::Pose& pose) {
  const std::lock_guard lock(mutex_);
  controls_->set_pose(pose);
}

camera::KeySpeeds Mailbox::speeds() const {
  const std::lock_guard lock(mutex_);
  return controls_->speeds();
}

Mailbox::Applied Mailbox::begin_chunk() {
  const std::lock_guard lock(mutex_);
  Applied applied = std::exchange(applied_, {});
  applied.moves = controls_->active();
  return applied;
}

std::vector<camera::Pose> Mailbox::take_poses(int64_t latents) {
  const std::lock_guard lock(mutex_);
  return controls_->take(latents);
}

}  // namespace loci::serve
