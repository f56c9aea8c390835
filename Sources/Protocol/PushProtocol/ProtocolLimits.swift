/// The limits of the storage and work that peers can cause, and the lifetimes of rows. They are not settings.
package enum ProtocolLimits {
    // MARK: Registrations

    /// 64 live installations of a key: a person has a handful of devices. More would fill the disk and every response to a query of the
    /// key.
    package static let maximumInstallationsPerKey = 64
    /// 256 rows of a key, tombstones included: an owner who reinstalls each month leaves that many in twenty years.
    package static let maximumRowsPerKey = 256
    /// 16 tombstones of a key for installations that were never registered. They reject a handful of messages that arrive late and out of
    /// order. Tombstones of real registrations stay, because they stop replays.
    package static let maximumUnknownTombstonesPerKey = 16
    /// 16 KiB that a known key may store when the storage is full and no push was ever accepted for it: some devices without large lists.
    package static let maximumByteCountPerUnprovenKey = 16 << 10
    /// The estimated bytes of an installation's row without its lists.
    package static let rowByteCount = 512
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
    /// 128 bytes: reference clients use a UUID (36 bytes). Other schemes fit, and the text is short enough for an index (PROTOCOL.md §7
    /// row 4).
    package static let maximumInstallationIDByteCount = 128
    /// 4,096 bytes: FCM tokens have about 160 bytes, but Google promises no upper bound (PROTOCOL.md §7 row 9).
    package static let maximumDeviceTokenByteCount = 4_096
    /// 64 to 200 hex digits: APNs tokens have 32 bytes now; Apple warns that they may grow (PROTOCOL.md §7 row 9).
    package static let apnDeviceTokenDigitCounts = 64...200
    /// 255 bytes: a bundle id is in reverse-DNS form, and a DNS name has at most 253 bytes. gorush sends it in a header.
    package static let maximumAPNTopicByteCount = 255
    /// 4,000 entries in each list of a registration: twice what an owner with 2,000 contacts needs.
    package static let maximumListEntryCount = 4_000
    /// 256 KiB in all lists of an installation, as stored. The reference's client takes 66 bytes per contact or chat: 2,000 contacts and as
    /// many chats fit. A query of 300 bytes returns these lists.
    package static let maximumListByteCount = 256 << 10
    /// 512 KiB in all lists of a key: two such devices, or seven with 500 contacts each and their chats.
    package static let maximumListByteCountPerKey = 512 << 10

    // MARK: Queries

    /// 100 keys in a query, which bounds the work of one message. Reference clients query one key.
    package static let maximumKeysPerQuery = 100
    /// 786,432 bytes in a response to a query: the payload of the largest unsegmented message (PROTOCOL.md §5.1). A query of some
    /// kilobytes must not return gigabytes. The response omits infos beyond the limit, and clients can query those keys alone.
    package static let maximumAnswerByteCount = 786_432
    /// 4,096 bytes of a response that each queried key has for free: twelve installations without large lists fit. Untrusted clients cannot
    /// use up these bytes, so every query finds such installations.
    package static let freeAnswerByteCount = 4_096
    /// 8 MiB of responses beyond the free bytes, for all queried keys together, at once: 80 clients may query a key with 2,000 contacts in
    /// the same moment.
    package static let answerByteCapacity = 8 << 20
    /// 8 s in which the used part of `answerByteCapacity` falls to 1/e, so that responses take at most 1 MiB a second.
    package static let answerByteDecay = Duration.seconds(8)
    /// 2 s between two equal responses to the same query (Status message id), because any client can publish a recorded query again. A
    /// client that lost a response sends the same bytes again after 3 s. A response that differs from the last one is not limited.
    package static let equalAnswerInterval = Duration.seconds(2)
    /// 4,096 bytes: the longest reply that is published before long ones, and that is echoed. The response to a query for an owner with
    /// some devices takes 2 KB, a report on a thousand pushes 64 KB, whose echo would cost more than it helps late subscribers.
    package static let maximumShortReplyByteCount = 4_096
    /// 24 h: the maximum age of a backfilled query. Clients accept late responses (PROTOCOL.md §8).
    package static let maximumQueryAge = Duration.seconds(24 * 60 * 60)

    // MARK: Push requests

    /// 1,000 notifications in a request, which names the devices of one chat's members. The limit bounds the work of one message and of one
    /// transaction.
    package static let maximumNotificationsPerRequest = 1_000
    /// 10 min from the moment the push entered the outbox. A longer time would drop wanted pushes: the message_id of a
    /// REQUEST_TO_JOIN_COMMUNITY is constant for a user and a community (PROTOCOL.md §9).
    package static let deduplicationLifetime = Duration.seconds(10 * 60)
    /// 2,048 bytes for a chat id or ciphertext. Apple and Google accept payloads of 4 KB, which contain it in hex; longer content is not
    /// stored.
    package static let maximumPushContentByteCount = 2_048
    /// 30 pushes to an installation at once; a device gets about 40 a day. Senders have no limit: sender keys are free.
    package static let pushCapacity = 30
    /// The time until one more push may go to the installation: 12 a minute for hours are more than any user reads.
    package static let pushInterval = Duration.seconds(5)
    /// 24 h, after which a push expires: a "new message" notification is useless after a day.
    package static let pushLifetime = Duration.seconds(24 * 60 * 60)
    /// The default of pushes that may wait for a route: about a gigabyte. 100,000 devices with 40 pushes a day reach it when gorush is down
    /// for six hours; 25,000 devices never do.
    package static let maximumQueuedPushCount = 1_000_000

    // MARK: Records

    /// 48 h, twice `pushLifetime`: a message that a node's history can still deliver again finds its decision (PROTOCOL.md §9).
    package static let decidedMessageLifetime = Duration.seconds(48 * 60 * 60)
    /// 48 h: finished pushes stay as long as the messages that requested them, so that `audit` can balance the two.
    package static let finishedPushLifetime = Duration.seconds(48 * 60 * 60)
}
