import Bytes
import Envelope
import JSON
import PushProtocol
import StatusCrypto
import TestSupport
import Wire

/// The topic on which a request arrived.
enum Source: Hashable, Sendable {
    case personal
    case partitioned
    case query(TopicName.QueryForm)
}

/// A request that a server has opened.
struct Request: Sendable {
    var sender: PublicKey
    var type: MessageType
    var payload: [UInt8]
    var messageID: [UInt8]
    var source: Source
    /// The time of the envelope.
    var sentAt: Timestamp?
    /// The key that gets the reply, or nil if it is the sender.
    var recipient: PublicKey?
}

/// A decrypted frame of RFC 26.
struct OpenFrame: Sendable {
    var data: [UInt8]
    /// The key of the outer signature, or nil if the frame is unsigned.
    var signer: PublicKey?
}

/// The steps of a model server. The default steps are correct. A mutant replaces one step.
struct Behaviour: Sendable {
    /// The event after which a server is deaf to queries.
    enum Stun: Sendable {
        case undecryptablePayload
        case manyEntries
    }

    // MARK: Envelopes

    var handlesCopies = false
    var takes: @Sendable (WakuEnvelope) -> Bool = { $0.message.version <= 1 }
    var listens: @Sendable (Source) -> Bool = { _ in true }
    /// Whether query topics are read on the second shard, too.
    var readsQueriesOnEachShard = true
    var opens: @Sendable ([UInt8], PrivateKey) -> OpenFrame? = { payload, key in
        (try? RFC26.openAsymmetric(payload, with: key)).map { OpenFrame(data: $0.data, signer: $0.signer()) }
    }
    var assembly = Assembly.right
    var identifies: @Sendable (OpenFrame, Source) -> Request? = { frame, source in
        (try? ApplicationMetadata.open(frame.data)).map {
            Request(sender: $0.sender, type: $0.type, payload: $0.payload, messageID: $0.messageID.bytes, source: source)
        }
    }
    var changes: @Sendable (inout Request) -> Void = { _ in }
    /// Whether a request is handled, given the server's key.
    var handles: @Sendable (Request, PrivateKey) -> Bool = { _, _ in true }
    /// Whether queries are decrypted with a topic's key.
    var uses: @Sendable (SymmetricKey) -> Bool = { _ in true }
    var isStunned: Stun?

    // MARK: Registrations

    var answerToUndecryptable: RegistrationError?
    /// Whether an undecryptable registration gets that reply, by whether its sender is registered.
    var answersUndecryptable: @Sendable (_ isRegistered: Bool) -> Bool = { _ in true }
    var readsPlaintext: @Sendable ([UInt8]) -> PushNotificationRegistration? = { try? PushNotificationRegistration.decode($0) }
    var receives: @Sendable (inout PushNotificationRegistration, Source) -> Void = { _, _ in }
    var judgesFacts: @Sendable (inout RegistrationInput) -> Void = { _ in }
    /// The token that a grant must be about, from the message and the registration that it replaces.
    var grantedToken: @Sendable (PushNotificationRegistration, PushNotificationRegistration?) -> AccessToken = { new, _ in new.accessToken }
    /// The name under which the version of an installation is kept.
    var versionKey: @Sendable (Installation) -> Installation = { $0 }
    var findsVersion: @Sendable (StoredVersion?, PushNotificationRegistration) -> StoredVersion? = { stored, _ in stored }
    var policy = RegistrationPolicy()
    /// The bytes by which a retransmission is known.
    var identity: @Sendable (_ plaintext: [UInt8], _ payload: [UInt8]) -> [UInt8] = { plaintext, _ in plaintext }
    var decides: @Sendable (inout RegistrationDecision, PushNotificationRegistration, StoredVersion?) -> Void = { _, _, _ in }
    /// Whether the version of a message is kept after the decision.
    var keepsVersion: @Sendable (RegistrationDecision, UInt64, StoredVersion?) -> Bool = { decision, _, _ in
        decision == .register || decision == .unregister
    }
    var keeps: @Sendable (PushNotificationRegistration?, PushNotificationRegistration) -> PushNotificationRegistration = { $1 }
    /// Changes the stored registration when a later one is rejected.
    var keepsOfRejected: @Sendable (inout PushNotificationRegistration, PushNotificationRegistration) -> Void = { _, _ in }
    /// The installations of the key that an unregistration removes.
    var removes: @Sendable (Installation, [Installation]) -> [Installation] = { installation, _ in [installation] }
    /// Whether an unregistration also removes other keys' installations of its id.
    var removesOfAllKeys = false
    /// Whether the last owner of a topic's 4 bytes is its only one.
    var servesOneOwnerPerTopic = false
    /// Whether the query topics of a client are read again when it returns after an unregistration.
    var listensAfterReturn = true
    /// Whether the query topics of a client are read after one of its devices is unregistered.
    var listensAfterUnregistration = true
    /// Whether two keys may register a device token.
    var sharesDeviceTokens = true
    var answersRegistration: @Sendable (inout PushNotificationRegistrationResponse) -> Void = { _ in }

    // MARK: Queries

    var readsQuery: @Sendable (inout PushNotificationQuery) -> Void = { _ in }
    var answersUnknownKeys = false
    /// Whether a query with an unknown key gets a reply about the others.
    var answersPartly = true
    var answersRepeatedQueries = true
    /// How long a query is known as a repetition, or nil if for ever.
    var remembersQueries: Duration?
    /// The name under which a query is known as a repetition.
    var queryName: @Sendable (Request) -> [UInt8] = { $0.messageID }
    var findsRegistrations: @Sendable ([PushNotificationRegistration]) -> [PushNotificationRegistration] = { $0 }
    var tells: @Sendable (inout PushNotificationQueryInfo, PushNotificationRegistration) -> Void = { _, _ in }
    var answersQuery: @Sendable (inout PushNotificationQueryResponse) -> Void = { _ in }

    // MARK: Push requests

    var answersMalformedRequests = false
    var answersRequestsWithoutID = false
    var answersRepeatedRequests = true
    var judgesNotification: @Sendable (inout PushNotification, PushTarget?) -> Void = { _, _ in }
    /// Changes what is known about a target, with its registration and the chats and authors of the request.
    var aims: @Sendable (inout PushTarget, PushNotificationRegistration, Set<[UInt8]>) -> Void = { _, _, _ in }
    /// Whether the token of one installation opens another one.
    var acceptsToken: @Sendable (_ of: Installation, _ for: Installation) -> Bool = { _, _ in false }
    /// The key under which the server stores a push for deduplication, or nil to store none.
    var deduplicates: @Sendable (AcceptedPush, Request) -> [UInt8]? = { push, _ in push.deduplicationKey.bytes }
    var deduplicatesRefused = false
    /// Whether each installation of a device is notified.
    var postsToEachInstallation = false
    var deduplicatesFiltered = false
    /// The name under which a response is kept for a repetition of its request.
    var remembers: @Sendable (Request, PushNotificationRequest) -> [UInt8] = { request, _ in request.messageID }
    var repeatsFailures = false
    var answersPush: @Sendable (inout PushNotificationResponse, PushNotificationRequest) -> Void = { _, _ in }

    // MARK: gorush

    var postsRefused = false
    /// Whether a push goes to all installations of its key.
    var postsToSiblings = false
    var posts: @Sendable (inout [AcceptedPush], PushNotificationRequest) -> Void = { _, _ in }
    /// Whether a request's pushes are posted at all.
    var postsRequest: @Sendable (Request) -> Bool = { _ in true }
    var writes: @Sendable (inout [String: JSON], AcceptedPush) -> Void = { _, _ in }
    var batches: @Sendable (inout [[String: JSON]]) -> Void = { _ in }
    /// When each notification is posted once more, or nil if none is.
    var repeatsNotifications: Condition<Bool>?

    // MARK: Waiting

    /// The limit of pushes to a device, or nil for none.
    var buckets: CreditBuckets<Installation>? = CreditBuckets(capacity: 30, interval: .seconds(5))
    /// Whether pushes beyond a bucket wait.
    var keepsBeyondBuckets = true
    /// Whether muted chats matter while a push waits.
    var filtersBesideWaiting = true
    /// Returns what is posted after a wait, from the push that was accepted and what is registered by then.
    var resumes: @Sendable (AcceptedPush, PushNotificationRegistration?) -> AcceptedPush? = { push, registration in
        registration.map(push.addressed)
    }

    // MARK: Restarts

    var keepsAtRestart: @Sendable (inout ModelServer.State) -> Void = { _ in }

    // MARK: Replies

    /// How long a reply waits for its publication, or nil if it is never published.
    var delays: @Sendable (Reply) -> Duration? = { _ in .zero }
    /// The signer of a reply's message: the server, unless it returns another key.
    var signer: @Sendable (MessageType) -> PrivateKey? = { _ in nil }
    var signsFrames = true
    var segmentsReplies = true
    var padsFrames = true
    /// The time of a reply's envelope, from the present time and that of the request.
    var stamps: @Sendable (_ now: Int64, _ request: Int64?) -> Int64 = { now, _ in now }
    /// The shard on which a reply is published, from that of the request.
    var repliesOn: @Sendable (String) -> String = { $0 }
    var envelops: @Sendable (inout WakuMessage, Reply) -> Void = { _, _ in }
}

/// The assembly of segments.
enum Assembly: Sendable {
    case right
    case none
    /// Each segment counts as a message.
    case passing
    case wrong(Fault)

    /// The fault of an assembler. The assembler has no other fault, but ignores parity.
    enum Fault: Sendable {
        case needsOrder
        case ignoresParity
        case breaksOnDuplicates
        case keepsOneMessage
        case forgetsBetween
        case ignoresHash
        case mixesSigners
        case ignoresQueries
    }
}

extension AcceptedPush {
    /// The same push to the device of another registration.
    func addressed(to registration: PushNotificationRegistration) -> AcceptedPush {
        var push = self
        push.tokenType = registration.tokenType
        push.deviceToken = registration.deviceToken
        push.apnTopic = registration.apnTopic
        return push
    }
}
