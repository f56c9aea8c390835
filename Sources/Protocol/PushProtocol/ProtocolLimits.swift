/// Limits on the storage and work that peers can cause, and the lifetimes of rows. They are not settings.
package enum ProtocolLimits {
    // MARK: Registrations

    /// A person has a handful of devices. More would fill the disk and every response to a query for the key. The newest stay.
    package static let maximumInstallationsPerKey = 64
    /// Includes tombstones. An owner who reinstalls each month leaves that many in twenty years.
    package static let maximumRowsPerKey = 256
    /// Tombstones for installations that were never registered reject a handful of messages that arrive late and out of order. Tombstones
    /// of real registrations stay, because they stop replays.
    package static let maximumUnknownTombstonesPerKey = 16
    /// What a known key may store when the storage is full and no push was ever accepted for it. A few devices without large lists fit.
    package static let maximumByteCountPerUnprovenKey = 16 << 10
    /// The estimated bytes of an installation's row without its lists.
    package static let rowByteCount = 512
    /// A reference client registers once for each chat that its user mutes, believes the first success that it receives, and ignores
    /// INTERNAL_ERROR. A client that meets this limit may be wrong about its registration permanently.
    package static let registrationCapacity = 300
    /// A reference client's queue sends two messages a second.
    package static let registrationInterval = Duration.milliseconds(500)
    /// The bytes of registrations that a key may write before the writer serves all others first. Two installations with the longest lists
    /// fit.
    package static let registrationByteCapacity = 1 << 20
    /// Allows 1 MiB a minute in the order of arrival.
    package static let registrationByteInterval = Duration.nanoseconds(60_000_000_000 / registrationByteCapacity)
    /// Reference clients use a UUID (36 bytes). Other schemes fit, and the text is short enough for an index (PROTOCOL.md §7 row 4).
    package static let maximumInstallationIDByteCount = 128
    /// FCM tokens have about 160 bytes, but Google promises no upper bound (PROTOCOL.md §7 row 9).
    package static let maximumDeviceTokenByteCount = 4_096
    /// APNs tokens have 32 bytes now, and Apple warns that they may grow (PROTOCOL.md §7 row 9).
    package static let apnDeviceTokenDigitCounts = 64...200
    /// A bundle id is in reverse-DNS form, and a DNS name has at most 253 bytes. gorush sends it in a header.
    package static let maximumAPNTopicByteCount = 255
    /// The reference client takes 64 bytes per contact or chat, so 4,000 contacts and as many chats fit. A query of 300 bytes returns the
    /// contacts.
    package static let maximumListByteCount = 512 << 10
    /// How much an entry of a list counts at least, because the server stores a fingerprint of this length for it.
    package static let minimumListEntryByteCount = 8

    // MARK: Queries

    /// Bounds the work that a message causes. Reference clients query a single key.
    package static let maximumKeysPerQuery = 100
    /// As long as an unsegmented message's payload can be (PROTOCOL.md §5.1).
    package static let maximumResponseByteCount = 786_432
    /// Two responses, because a query of a few kilobytes must not return gigabytes. Three devices with 4,000 contacts each need both. They
    /// omit infos beyond the limit, and clients can query those keys alone.
    package static let maximumAnswerByteCount = 2 * maximumResponseByteCount
    /// Response bytes that each queried key has for free, enough for twelve installations without large lists. Untrusted clients cannot use
    /// them up, so every query finds such installations.
    package static let unmeteredResponseByteCount = 4_096
    /// Response bytes beyond the free bytes, for all queried keys together: 80 clients may query a key with 2,000 contacts in the same
    /// moment.
    package static let responseByteCapacity = 8 << 20
    /// The used part of `responseByteCapacity` falls to 1/e in this time, so that responses take at most 1 MiB a second.
    package static let responseByteDecay = Duration.seconds(8)
    /// Anyone can publish a recorded query again, so equal responses to the same query (Status message id) keep this distance. A client
    /// that lost a response sends the same bytes again after 3 s. A response that differs from the last response is not limited.
    package static let equalResponseInterval = Duration.seconds(2)
    /// Replies up to this length are published before longer replies, and are echoed. The response to a query for an owner with a few
    /// devices takes 2 KB. A report on a thousand pushes takes 64 KB, and its echo would cost more than it helps late subscribers.
    package static let maximumShortReplyByteCount = 4_096
    /// For backfilled queries, because clients accept late responses (PROTOCOL.md §8).
    package static let maximumQueryAge = Duration.seconds(24 * 60 * 60)

    // MARK: Push requests

    /// A request lists a chat's members with their devices. Bounds the work that a message causes in its transaction.
    package static let maximumNotificationsPerRequest = 1_000
    /// Counts from the moment the push entered the outbox. A longer time would drop wanted pushes, because the message_id of a
    /// REQUEST_TO_JOIN_COMMUNITY is constant for a user and a community (PROTOCOL.md §9).
    package static let deduplicationLifetime = Duration.seconds(10 * 60)
    /// For a chat id or ciphertext. Apple and Google accept payloads of 4 KB, which contain it in hex. Longer content is not stored.
    package static let maximumPushContentByteCount = 2_048
    /// For each installation, which gets about 40 pushes a day. Senders are not limited, because sender keys are free.
    package static let pushCapacity = 30
    /// Twelve pushes a minute for hours are more than any user reads.
    package static let pushInterval = Duration.seconds(5)
    /// A "new message" notification is useless after a day.
    package static let pushLifetime = Duration.seconds(24 * 60 * 60)
    /// About a gigabyte. 100,000 devices with 40 pushes a day reach it when gorush is down for six hours, 25,000 devices never do.
    package static let maximumQueuedPushCount = 1_000_000

    // MARK: Records

    /// Twice `pushLifetime`, so that a message that a node's history delivers again finds its decision (PROTOCOL.md §9).
    package static let decidedMessageLifetime = Duration.seconds(48 * 60 * 60)
    /// Finished pushes stay as long as the messages that requested them, so that `audit` can balance the two.
    package static let finishedPushLifetime = Duration.seconds(48 * 60 * 60)
}
