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
        /// The hash of the key of the canaries, whichever server of the database runs one; nil if none can exist.
        package var canaryKeyHash: Digest64?
        /// The number of workers that open messages, one for each core.
        package var workerCount: Int
        /// Whether replies to queries and push requests are published again after 1.5 s and 4 s, for clients that subscribe late.
        package var echoesReplies: Bool
        /// The maximum number of messages in memory before their decision: at some kilobytes each a few megabytes, and seconds of work.
        package var maximumIntakeCount: Int
        /// The maximum bytes of their envelopes: a full intake of ordinary messages, or 32 of the longest. Opened and decoded, messages
        /// take about three times that memory, which a small machine has.
        package var maximumIntakeByteCount: Int
        /// The maximum number of replies in memory. Further replies wait in the database.
        package var maximumReplyCount: Int
        /// The maximum bytes of the payloads of replies in memory. Further replies wait in the database.
        package var maximumReplyByteCount: Int
        /// The maximum bytes of replies and echoes per second: the measured maximum of a go-waku node, 8,000 POSTs of one kilobyte.
        package var replyBytesPerSecond: Int
        /// The time for which a shutdown waits for work in progress. Unfinished messages stay recorded.
        package var drainLimit: Duration
        /// The time for which a shutdown first waits for the transport, because a node's response may be outstanding.
        package var transportLimit: Duration
        /// Derives the key of a query topic, on a thread of its own.
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
