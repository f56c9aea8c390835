/// Bounds on what a peer can make us keep or do, and how long things last. Each has its reason; none is a setting.
package enum ProtocolLimits {
    // MARK: Registrations

    /// A person has a handful of devices. What is beyond it is an attempt to fill the disk and every answer to a query of the key.
    package static let maximumInstallationsPerKey = 64
    /// With the tombstones of installations that have left. Somebody who reinstalls each month leaves so many in twenty years.
    package static let maximumRowsPerKey = 256
    /// Tombstones of installations that were never registered: they keep out what arrives late and out of order, which is a handful. Those
    /// of real registrations stay, for they stop replays.
    package static let maximumUnknownTombstonesPerKey = 16
    /// 300 registrations of a key at once. A reference client registers once for each chat that its user mutes, believes the first success
    /// that it receives, and ignores INTERNAL_ERROR: a client that meets this limit may be wrong about its registration permanently.
    package static let registrationCapacity = 300
    /// The time until a key may register once more: 0.5 s, because the queue of a reference client sends two messages a second.
    package static let registrationInterval = Duration.milliseconds(500)
    /// The bytes of registrations that a key may write at once before the writer serves all others first: 1 MiB, four installations with
    /// the longest lists.
    package static let registrationByteCapacity = 1 << 20
    /// The time until a key may write one byte more in the order of arrival: 1 MiB a minute.
    package static let registrationByteInterval = Duration.nanoseconds(60_000_000_000 / registrationByteCapacity)
    /// Reference clients use a UUID (36 bytes); room for other schemes, yet short enough for an index (PROTOCOL.md §7 row 4).
    package static let maximumInstallationIDByteCount = 128
    /// FCM tokens are some 160 bytes, but no upper bound is promised (PROTOCOL.md §7 row 9).
    package static let maximumDeviceTokenByteCount = 4_096
    /// APNs tokens are 32 bytes now, in hex; Apple warns that they may grow (PROTOCOL.md §7 row 9).
    package static let apnDeviceTokenDigitCounts = 64...200
    /// A bundle id in reverse-DNS form; a DNS name has at most 253 bytes. It ends in a header that gorush sends.
    package static let maximumAPNTopicByteCount = 255
    /// In each of a registration's lists. Somebody with 2,000 contacts needs half of it.
    package static let maximumListEntryCount = 4_000
    /// In all lists of an installation, as they are stored. The reference's client takes 66 bytes a contact or chat: 2,000 contacts and as
    /// many chats fit. What is stored here is what a question of 300 bytes is answered.
    package static let maximumListByteCount = 256 << 10
    /// In all lists of a key: two such devices, or seven with 500 contacts each and their chats.
    package static let maximumListByteCountPerKey = 512 << 10

    // MARK: Queries

    /// Reference clients ask for one key. Bounds the work of one message.
    package static let maximumKeysPerQuery = 100
    /// A question of some kilobytes must not buy an answer of gigabytes: what does not fit one message is left out, and can be asked for
    /// alone. The figure is the payload of the largest message that is not segmented (PROTOCOL.md §5.1).
    package static let maximumAnswerByteCount = 786_432
    /// What an answer tells of a key beyond it is charged to the key: without large lists twelve devices fit, so that nobody can keep
    /// others from being answered by asking too.
    package static let freeAnswerByteCount = 4_096
    /// What can be told of a key at once, beyond what is free: 60 people may ask in one moment for somebody with 2,000 contacts.
    package static let answerByteCapacity = 8 << 20
    /// Until a byte more can be told of a key: 64 KiB a second, which is 40,000 such answers a day. Each of 2,000 contacts asks for some.
    package static let answerByteInterval = Duration.nanoseconds(1_000_000_000 / (64 << 10))
    /// How often the same question is answered in `answerInterval`. Not once: reference clients ask again after WRONG_TOKEN, or when an
    /// answer was lost, and it is the same to the bit then.
    package static let maximumAnswerCount = 3
    package static let answerInterval = Duration.seconds(10)
    /// The longest reply that goes out before long ones, and that is said again: the answer to a query for a person with some devices takes
    /// 2 KB, a report on a thousand pushes 64 KB. To say those again costs more than it is worth to the few who listen late.
    package static let maximumShortReplyByteCount = 4_096
    /// How old a query that was caught up may be and still be answered: clients take late answers (PROTOCOL.md §8).
    package static let maximumQueryAge = Duration.seconds(24 * 60 * 60)

    // MARK: Push requests

    /// A request names the devices of one chat's members. Bounds the work of one message and of one transaction.
    package static let maximumNotificationsPerRequest = 1_000
    /// How long a deduplication key is remembered from the moment its push entered the outbox. Longer would hurt: the message_id of a
    /// REQUEST_TO_JOIN_COMMUNITY is constant for a user and a community (PROTOCOL.md §9).
    package static let deduplicationLifetime = Duration.seconds(10 * 60)
    /// The longest chat id or ciphertext. Apple and Google take payloads of 4 KB, in which it stands in hex: what is longer is not kept.
    package static let maximumPushContentByteCount = 2_048
    /// Pushes to an installation at once. Who sends is never limited: the keys of senders cost nothing. 40 pushes a device and day are
    /// much.
    package static let pushCapacity = 30
    /// Until one push more goes to the installation by itself. Twelve a minute, for hours, is more than anybody reads.
    package static let pushInterval = Duration.seconds(5)
    /// After a day a "new message" wakes nobody for a good reason; the push expires.
    package static let pushLifetime = Duration.seconds(24 * 60 * 60)
    /// Pushes that may wait for a route, by default: about a gigabyte. 100,000 devices with 40 pushes a day fill it when gorush is away for
    /// six hours; 25,000 never do.
    package static let maximumQueuedPushCount = 1_000_000

    // MARK: Records

    /// Twice `pushLifetime`: whatever can still arrive again through a node's history finds its decision (PROTOCOL.md §9).
    package static let decidedMessageLifetime = Duration.seconds(48 * 60 * 60)
    /// Finished pushes stay as long as the messages that ordered them, so that `audit` can balance the two.
    package static let finishedPushLifetime = Duration.seconds(48 * 60 * 60)
}
