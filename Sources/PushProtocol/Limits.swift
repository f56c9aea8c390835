/// Bounds on what a peer can make us keep or do, and how long things last. Each has its reason; none is a setting.
package enum Limits {
    // MARK: Registrations

    /// A person has a handful of devices. What is beyond it is an attempt to fill the disk and every answer to a query of the key.
    package static let maximumInstallationsPerKey = 64
    /// Reference clients use a UUID (36 bytes); room for other schemes, yet short enough for an index (PROTOCOL.md §7 row 4).
    package static let maximumInstallationIDByteCount = 128
    /// FCM tokens are some 160 bytes, but no upper bound is promised (PROTOCOL.md §7 row 9).
    package static let maximumDeviceTokenByteCount = 4_096
    /// APNs tokens are 32 bytes now, in hex; Apple warns that they may grow (PROTOCOL.md §7 row 9).
    package static let apnDeviceTokenDigitCounts = 64...200
    /// A bundle id in reverse-DNS form; a DNS name has at most 253 bytes. It ends in a header that gorush sends.
    package static let maximumAPNTopicByteCount = 255
    /// In each of a registration's lists. A message of 1 MiB holds some 16,000 hashes of 64 bytes: more entries can only be junk.
    package static let maximumListEntryCount = 20_000

    // MARK: Queries

    /// Reference clients ask for one key. Bounds the work of one message.
    package static let maximumKeysPerQuery = 100
    /// A question of some kilobytes must not buy an answer of gigabytes: what does not fit one message is left out, and can be asked for
    /// alone. The figure is the payload of the largest message that is not segmented (PROTOCOL.md §5.1).
    package static let maximumAnswerByteCount = 786_432
    /// How old a query that was caught up may be and still be answered: clients take late answers (PROTOCOL.md §8).
    package static let maximumQueryAge = Duration.seconds(24 * 60 * 60)

    // MARK: Push requests

    /// A request names the devices of one chat's members. Bounds the work of one message and of one transaction.
    package static let maximumNotificationsPerRequest = 1_000
    /// How long a triple is remembered from the moment its push entered the outbox. Longer would hurt: the message_id of a
    /// REQUEST_TO_JOIN_COMMUNITY is constant for a user and a community (PROTOCOL.md §9).
    package static let tripleLifetime = Duration.seconds(10 * 60)
    /// The longest chat id or ciphertext. Apple and Google take payloads of 4 KB, in which it stands in hex: what is longer is not kept.
    package static let maximumPushContentByteCount = 2_048
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
