// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/mailbox.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loci::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MailboxTest : public ::testing::Test {
 protected:
  std::shared_ptr<Client> client() { return std::make_shared<Client>(limits_, metrics_); }
  static WalkMessage keys(const std::vector<std::string>& held, const Json& id = {}) {
    return message({{"type", "event"},
                    {"kind", "camera_actions"},
                    {"payload", {{"mode", "state"}, {"transitions", {{{"actions", held}}}}}},
                    {"event_id", id}});
  }
  static WalkMessage script(size_t frames) {
    return message({{"type", "event"},
                    {"kind", "camera_actions"},
                    {"payload", std::vector<std::vector<std::string>>(frames, {"w"})}});
  }
  static WalkMessage event(const std::string& kind) {
    return message({{"type", "event"}, {"kind", kind}});
  }
  static WalkMessage message(const Json& json) {
    return std::get<WalkMessage>(parse_client_message(json, Limits()));
  }
  bool open() { return mailbox_.open_controls(Controls(16, 4, 100), camera::Pose()); }

  Limits limits_;
  Metrics metrics_;
  Mailbox mailbox_{4};
};

TEST_F(MailboxTest, GreetsEachNewClientOnce) {
  EXPECT_EQ(mailbox_.attach(client()), nullptr);
  EXPECT_TRUE(mailbox_.status().waiting);
  EXPECT_TRUE(mailbox_.collect().greet);
  EXPECT_FALSE(mailbox_.collect().greet);
  EXPECT_FALSE(mailbox_.status().waiting);
}

TEST_F(MailboxTest, IsEvictedOnlyWithoutAClient) {
  const std::shared_ptr<Client> first = client();
  EXPECT_TRUE(mailbox_.lingering_since());
  EXPECT_EQ(mailbox_.attach(first), nullptr);
  EXPECT_FALSE(mailbox_.lingering_since());
  EXPECT_TRUE(mailbox_.detach(*first));
  EXPECT_EQ(mailbox_.lingering_since(), mailbox_.status().alone_since);
  mailbox_.evict();
  EXPECT_TRUE(mailbox_.status().evicted);
  EXPECT_FALSE(mailbox_.lingering_since());
  // A client that comes back in time keeps the walk, also when it leaves again.
  EXPECT_EQ(mailbox_.attach(first), nullptr);
  EXPECT_FALSE(mailbox_.status().evicted);
  EXPECT_TRUE(mailbox_.detach(*first));
  EXPECT_FALSE(mailbox_.status().evicted);
}

TEST_F(MailboxTest, ReplacesAClientAndReleasesItsControls) {
  open();
  const std::shared_ptr<Client> first = client(), second = client();
  EXPECT_EQ(mailbox_.attach(first), nullptr);
  mailbox_.post(keys({"w"}, 1));
  mailbox_.post(event("pause"));
  EXPECT_EQ(mailbox_.attach(second), first);
  EXPECT_EQ(mailbox_.client(), second);
  EXPECT_THAT(mailbox_.collect().messages, IsEmpty());
  const Mailbox::Applied applied = mailbox_.begin_chunk();
  EXPECT_THAT(applied.event_ids, IsEmpty());
  EXPECT_FALSE(applied.oldest);
  EXPECT_FALSE(applied.moves);
  // The first client's connection ends later and must not detach the second one.
  EXPECT_FALSE(mailbox_.detach(*first));
  EXPECT_EQ(mailbox_.client(), second);
  EXPECT_TRUE(mailbox_.detach(*second));
  EXPECT_EQ(mailbox_.status().client, nullptr);
}

TEST_F(MailboxTest, AppliesCameraEventsAtOnceWhenTheWalkIsReady) {
  mailbox_.post(keys({"w"}, 1));  // before: it waits with the other messages
  EXPECT_TRUE(open());
  EXPECT_FALSE(open());
  mailbox_.post(event("pause"));
  mailbox_.post(keys({"w"}, 2));
  Mailbox::Mail mail = mailbox_.collect();
  ASSERT_EQ(mail.messages.size(), 2U);
  const auto first = std::get<EventMessage>(mail.messages[0]);
  EXPECT_EQ(first.event_id, 1);
  EXPECT_EQ(std::get<EventMessage>(mail.messages[1]).kind, "pause");
  EXPECT_TRUE(mail.moved);
  mailbox_.apply_controls(std::get<CameraActions>(first.payload), first.event_id);
  EXPECT_TRUE(mailbox_.status().moved);
  const Mailbox::Applied applied = mailbox_.begin_chunk();
  EXPECT_THAT(applied.event_ids, ElementsAre(2, 1));
  EXPECT_TRUE(applied.oldest);
  EXPECT_TRUE(applied.moves);
  EXPECT_NEAR(mailbox_.take_poses(1).front().position.z, 0.25, 1e-9);
  EXPECT_THAT(mailbox_.begin_chunk().event_ids, IsEmpty());
}

TEST_F(MailboxTest, RefusesMessagesBeyondTheLimit) {
  for (int i = 0; i < 4; ++i) mailbox_.post(event("pause"));
  EXPECT_THROW(mailbox_.post(event("pause")), Refusal);
  mailbox_.collect();
  open();
  for (int i = 0; i < 4; ++i) mailbox_.post(keys({"w"}));
  EXPECT_THROW(mailbox_.post(keys({"w"})), Refusal);
  mailbox_.begin_chunk();
  mailbox_.post(keys({"w"}));
}

TEST_F(MailboxTest, LeavesControlsAsTheyWereWhenAnEventIsRefused) {
  open();
  EXPECT_THROW(mailbox_.post(script(101)), Refusal);  // the queue takes 100 frames
  const Mailbox::Applied applied = mailbox_.begin_chunk();
  EXPECT_THAT(applied.event_ids, IsEmpty());
  EXPECT_FALSE(applied.moves);
}

TEST_F(MailboxTest, KeepsTheFirstFailure) {
  mailbox_.report_failure({"storage", "first"});
  mailbox_.report_failure({"internal", "second"});
  EXPECT_TRUE(mailbox_.status().waiting);
  const Mailbox::Mail mail = mailbox_.collect();
  ASSERT_TRUE(mail.failure);
  EXPECT_EQ(mail.failure->code, "storage");
  EXPECT_FALSE(mailbox_.collect().failure);
}

// For ThreadSanitizer: connections post while the engine's thread collects.
TEST_F(MailboxTest, LosesNoMessageBetweenThreads) {
  Mailbox mailbox(1 << 20);
  mailbox.open_controls(Controls(16, 4, 100), camera::Pose());
  constexpr int kMessages = 500;
  std::atomic<bool> done = false;
  std::thread connection([&] {
    for (int i = 0; i < kMessages; ++i) {
      mailbox.post(event("pause"));
      mailbox.post(keys({"w"}, i));
    }
    done = true;
  });
  size_t messages = 0, events = 0;
  while (true) {
    const bool last = done;
    messages += mailbox.collect().messages.size();
    events += mailbox.begin_chunk().event_ids.size();
    mailbox.take_poses(1);
    if (last) break;
  }
  connection.join();
  EXPECT_EQ(messages, size_t{kMessages});
  EXPECT_EQ(events, size_t{kMessages});
}

}  // namespace
}  // namespace loci::serve
