package import Bytes
package import Envelope
package import PushProtocol
package import StatusCrypto

extension Engine {
    package struct Configuration: Sendable {
        package var identity: PrivateKey
        package var registrationPolicy: RegistrationPolicy
        /// Whether the server discards accepted pushes permanently, because no gorush is configured.
        package var isDryRun: Bool
        /// The key hash that canaries on all servers of this database share, or nil if no canary can exist.
        package var canaryKeyHash: Digest64?
        /// How many workers open messages: a worker for each core.
        package var workerCount: Int
        /// Whether replies to queries and push requests are published again after 1.5 s and 4 s, for clients that subscribe late.
        package var echoesReplies: Bool
        /// The maximum number of messages in memory before their decision. They take a few megabytes, and seconds of work.
        package var maximumIntakeCount: Int
        /// How large their envelopes may be together: a full intake of ordinary messages, or 32 of maximum length. Opened and decoded,
        /// messages take about three times that memory, which a small machine has.
        package var maximumIntakeByteCount: Int
        /// The maximum number of replies in memory. Further replies wait in the database.
        package var maximumReplyCount: Int
        /// How large the payloads of replies in memory may be together. Further replies wait in the database.
        package var maximumReplyByteCount: Int
        /// At most so many bytes of replies and echoes are published per second. go-waku managed at most 8,000 POSTs of a kilobyte when it
        /// was measured.
        package var replyBytesPerSecond: Int
        /// The time for which a shutdown waits for work in progress. Unfinished messages stay recorded.
        package var drainLimit: Duration
        /// The time for which a shutdown first waits for the transport, because a node's response may be outstanding.
        package var transportLimit: Duration
        /// Derives a query topic's key, on a separate thread.
        package var deriveTopicKey: @Sendable (TopicName) -> SymmetricKey

        package init(
            identity: PrivateKey, registrationPolicy: RegistrationPolicy, isDryRun: Bool, workerCount: Int,
            echoesReplies: Bool = true, maximumIntakeCount: Int = 4_096, maximumIntakeByteCount: Int = 32 << 20,
            maximumReplyCount: Int = 4_096, maximumReplyByteCount: Int = 32 << 20,
            replyBytesPerSecond: Int = Self.defaultReplyBytesPerSecond,
            drainLimit: Duration = .seconds(10), transportLimit: Duration = .seconds(10),
            deriveTopicKey: @escaping @Sendable (TopicName) -> SymmetricKey = { $0.deriveSymmetricKey() }
        ) {
            self.identity = identity
            self.registrationPolicy = registrationPolicy
            self.isDryRun = isDryRun
            self.workerCount = workerCount
            self.echoesReplies = echoesReplies
            self.maximumIntakeCount = maximumIntakeCount
            self.maximumIntakeByteCount = maximumIntakeByteCount
            self.maximumReplyCount = maximumReplyCount
            self.maximumReplyByteCount = maximumReplyByteCount
            self.replyBytesPerSecond = replyBytesPerSecond
            self.drainLimit = drainLimit
            self.transportLimit = transportLimit
            self.deriveTopicKey = deriveTopicKey
        }

        package static let defaultReplyBytesPerSecond = 8 << 20
    }
}

extension Engine.Configuration {
    var admissionLimits: AdmissionTable.Limits { .init(count: maximumIntakeCount, byteCount: maximumIntakeByteCount) }

    var replyLimits: ReplyQueue.Limits {
        .init(count: maximumReplyCount, byteCount: maximumReplyByteCount, bytesPerSecond: replyBytesPerSecond)
    }
}
