package import Envelope
package import PushProtocol
package import StatusCrypto

extension Engine {
    package struct Configuration: Sendable {
        package var identity: PrivateKey
        package var registrationPolicy: RegistrationPolicy
        /// No gorush is configured: accepted pushes are discarded, finally.
        package var isDryRun: Bool
        /// The hash of the key whose pushes are discarded; nil if there is none.
        package var discardedKeyHash: Digest64?
        /// Workers for each of the two stages that compute; as many as cores.
        package var workerCount: Int
        /// Whether replies to queries and push requests are published again after 1.5 s and 4 s, for clients that subscribe late.
        package var echoesReplies: Bool
        /// Messages between record and decision: at some kilobytes each a few megabytes, and seconds of work.
        package var maximumIntakeCount: Int
        /// Their payloads: room for a full intake of ordinary messages, or for 32 of the longest. Opened and decoded they take three times
        /// as much, which a small machine has.
        package var maximumIntakeByteCount: Int
        /// Replies in memory: what finds no room waits in the database.
        package var maximumReplyCount: Int
        /// Their payloads: the same.
        package var maximumReplyByteCount: Int
        /// Bytes of replies and echoes a second: what a go-waku node was measured to take at the most, 8,000 POSTs of a kilobyte.
        package var replyBytesPerSecond: Int
        /// How long a shutdown waits for what is under way; what is left stays recorded.
        package var drainLimit: Duration
        /// How long a shutdown waits before that for the transport to end, to which a node may owe an answer.
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
