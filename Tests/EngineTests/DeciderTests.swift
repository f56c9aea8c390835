import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import Engine

/// The decider handles the messages of a batch one after another, without a store.
struct DeciderTests {
    private let decider = Decider(
        serverKey: FixedBytes(repeating: 2), registrationPolicy: RegistrationPolicy(), isDryRun: false)
    private let now = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
    private let sender: PrivateKey
    private let keyHash = Digest64(repeating: 7)

    init() {
        var random = SecureRandom()
        sender = .generate(using: &random)
    }

    // MARK: Messages

    private func message(_ id: Int64, _ body: OpenedEnvelope.Body, statusID: Int64? = nil, segments: [Int64] = []) -> OpenedEnvelope {
        let origin = OpenedEnvelope.Origin(
            sender: sender.publicKey, messageID: Digest32(repeating: UInt8(truncatingIfNeeded: statusID ?? id)),
            pubsubTopic: "/waku/2/rs/16/32", receivedAt: Timestamp(nanoseconds: 0))
        return OpenedEnvelope(id: id, segments: segments, content: .message(body, from: origin))
    }

    private func registration(
        _ id: Int64, version: UInt64, installation: String = "phone", _ change: (inout PushNotificationRegistration) -> Void = { _ in }
    ) -> OpenedEnvelope {
        var content = PushNotificationRegistration()
        content.tokenType = .firebase
        content.deviceToken = "device token \(version)"
        content.installationID = installation
        content.accessToken = Self.accessToken
        content.enabled = true
        content.version = version
        content.grant = [UInt8](repeating: 1, count: 64) + [0]
        change(&content)
        let facts = RegistrationInput(
            content: .message(content), grantIsValid: true, plaintextDigest: Digest32(repeating: UInt8(truncatingIfNeeded: id)))
        return message(
            id,
            .registration(
                .init(
                    facts: facts, requestID: Digest64(repeating: UInt8(truncatingIfNeeded: id)), keyHash: keyHash,
                    topics: QueryTopics(plain: 1, prefixed: 2))))
    }

    private func push(
        _ id: Int64, messageID: UInt8 = 1, installations: [String] = ["phone"], author: [UInt8] = [],
        _ change: (inout PushNotification) -> Void = { _ in }
    ) -> OpenedEnvelope {
        var request = PushNotificationRequest()
        request.messageID = [messageID]
        request.requests = installations.map { installation in
            var notification = PushNotification()
            notification.accessToken = Self.accessToken
            notification.publicKey = keyHash.bytes
            notification.installationID = installation
            notification.type = .message
            notification.author = author
            change(&notification)
            return notification
        }
        return message(id, .push(request))
    }

    private var target: PushTarget {
        var target = PushTarget()
        target.accessToken = Self.accessToken
        target.enabled = true
        target.tokenType = .firebase
        target.deviceToken = "device token"
        return target
    }

    private static let accessToken: AccessToken = "00000000-0000-4000-8000-000000000000"

    private func decide(
        _ messages: [OpenedEnvelope], by decider: Decider? = nil, knowing learn: (inout DecisionState) -> Void = { _ in },
        allowing spend: (inout Allowances) -> Void = { _ in }
    ) -> (batch: DecidedBatch, outcomes: [Decider.Outcome]) {
        let decider = decider ?? self.decider
        var lookups = decider.lookups(about: messages)
        spend(&lookups.allowances)
        var state = DecisionState(answering: lookups)
        learn(&state)
        var batch = DecidedBatch(state: state)
        let outcomes = messages.map { decider.decide($0, at: now, in: &batch) }
        return (batch, outcomes)
    }

    // MARK: Tests

    @Test func `a message that the store rejects for too long is counted with its kind`() {
        let messages = [registration(1, version: 1), message(2, .query([keyHash])), push(3), .dropped(4)]
        let kinds = ["registration", "query", "push_request", "other"]
        #expect(messages.map(\.internalError.labelValues) == kinds.map { [$0, "internal_error"] })
    }

    @Test func `each message of a batch sees the effects of the earlier ones: registrations, pushes and queries`() throws {
        let (batch, outcomes) = decide([
            push(1), registration(2, version: 1), registration(3, version: 2), push(4, messageID: 2), message(5, .query([keyHash])),
            registration(6, version: 2),
        ]) { $0.queryable = [keyHash: []] }
        #expect(
            outcomes.map(\.category) == [
                .pushRequest, .registered, .registered, .pushRequest, .queryReplied, .registrationVersionMismatch,
            ])
        #expect(outcomes.map(\.acceptedPushCount) == [0, 0, 0, 1, 0, 0])
        #expect(batch.pushes.map(\.push.deviceToken) == ["device token 2"])
        #expect(batch.registrations.count == 1)
        let answer = try PushNotificationQueryResponse.decode(#require(outcomes[4].reply).payload)
        #expect(answer.info.map(\.version) == [2])
    }

    @Test func `a message that finds a locked row waits with the others about its installations`() {
        #expect(registration(1, version: 1).subjects == [.message(1), .owner(keyHash)])
        #expect(push(2, installations: ["tablet", "phone"]).subjects == [.message(2), .owner(keyHash)])
        #expect(message(3, .query([keyHash])).subjects == [.message(3)])
    }

    @Test func `a repeated request in the same batch gets the same response and no second push`() {
        let both = [registration(1, version: 1), push(2), push(2)]
        let (batch, outcomes) = decide(both)
        #expect(batch.pushes.count == 1)
        #expect(outcomes[1].reply?.payload == outcomes[2].reply?.payload)
        // Another Status message may have the same deduplication key.
        let (other, _) = decide([registration(1, version: 1), push(2), push(3)])
        #expect(other.pushes.count == 1 && other.mergedCount == 1)
    }

    @Test func `a request that another server has handled causes no push and no reply`() throws {
        let statusID = Digest32(repeating: 2)
        let (batch, outcomes) = decide([registration(1, version: 1), push(2), push(3, messageID: 2)]) { $0.responses = [statusID: []] }
        #expect(outcomes.map(\.category) == [.registered, .pushRequestHandledElsewhere, .pushRequest])
        #expect(outcomes[1].reply == nil && outcomes[2].reply != nil)
        #expect(batch.pushes.map(\.message) == [3])
        #expect(batch.decisions.map(\.message) == [1, 2, 3] && batch.decisions[1].decision == .silent)
        // A request without notifications has a response without reports.
        let (_, again) = decide([push(2, installations: [])]) { $0.responses = [statusID: []] }
        #expect(again.map(\.category) == [.pushRequest])
    }

    @Test func `a push request from an author whom an earlier registration of the batch blocks causes no push`() {
        let blocking = registration(1, version: 1) { $0.blockedChatList = [[1], [2]] }
        let (batch, outcomes) = decide([blocking, push(2, author: [2]), push(3, messageID: 2, author: [3])])
        #expect(outcomes.map(\.acceptedPushCount) == [0, 0, 1])
        #expect(batch.filteredCount == 1)
    }

    /// The state of a key whose capacity is used up, by registrations of rising age.
    private func fillKey(_ state: inout DecisionState) {
        for number in 1...ProtocolLimits.maximumInstallationsPerKey {
            let installation = Installation(keyHash: keyHash, installationID: "\(number)")
            let version = StoredVersion(version: 7, plaintextDigest: Digest32(repeating: UInt8(number)), isRegistered: true)
            state.installations[keyHash, default: [:]][installation] = .live(
                LiveInstallation(version: version, registeredAt: Timestamp(nanoseconds: -Int64(number))))
        }
    }

    @Test func `an installation that unregisters in the batch gets no push, and nobody makes room for the next one of its key`() {
        let leaving = registration(2, version: 8, installation: "1") { $0.unregister = true }
        let (batch, outcomes) = decide([leaving, registration(3, version: 1), push(4, installations: ["1"])], knowing: fillKey)
        #expect(outcomes.map(\.category) == [.unregistered, .registered, .pushRequest])
        #expect(outcomes[1].evictedCount == 0 && batch.pushes.isEmpty)
    }

    @Test func `the newest registration of a full key is taken, and the oldest becomes a tombstone of its version`() {
        let (batch, outcomes) = decide([registration(1, version: 1), push(2, installations: ["64"])], knowing: fillKey)
        #expect(outcomes.map(\.category) == [.registered, .pushRequest])
        #expect(outcomes[0].evictedCount == 1 && batch.pushes.isEmpty)
        guard case .unregister(let evicted, 7, let digest, _) = batch.registrations.first else {
            Issue.record("\(batch.registrations)")
            return
        }
        #expect(evicted.installationID == "64" && digest == Digest32(repeating: 64))
    }

    @Test func `a registration with too long lists leaves its version, but removes nothing that is registered`() {
        func oversized(_ id: Int64, version: UInt64) -> OpenedEnvelope {
            registration(id, version: version) { $0.mutedChatList = Array(repeating: [UInt8](repeating: 1, count: 64), count: 8_193) }
        }
        let (batch, outcomes) = decide([
            oversized(1, version: 5), registration(2, version: 5), registration(3, version: 6), oversized(4, version: 7),
        ])
        #expect(
            outcomes.map(\.category) == [
                .registrationOverLists, .registrationVersionMismatch, .registered, .registrationOverLists,
            ])
        guard case .register(let stored, _, _) = batch.registrations.last else {
            Issue.record("\(batch.registrations)")
            return
        }
        #expect(stored.content.version == 6 && batch.registrations.count == 1)
    }

    @Test func `a query is decided when its reply is published, all other messages and segments at once`() {
        var query = message(1, .query([keyHash]), segments: [2])
        let (unknown, _) = decide([query])
        #expect(unknown.decisions.map(\.message) == [1, 2])
        query = message(3, .query([keyHash]), segments: [4])
        var push = push(5)
        push.segments = [6, 7]
        let (batch, outcomes) = decide([query, push, .dropped(8, .notForUs)]) { $0.queryable = [keyHash: [QueryableRegistration()]] }
        #expect(outcomes[0].reply?.segments == [4])
        #expect(batch.decisions.map(\.message) == [5, 6, 7, 8])
        #expect(batch.decisions.last?.decision == .ignored(.notForUs))
    }

    @Test func `a repeated query gets a second reply only if the first was not published or the response differs`() {
        let lookups = (1...3).map { message($0, .query([keyHash]), statusID: 1) }
        let other = message(5, .query([keyHash]))
        let batch = [lookups[0], lookups[1], lookups[0], other, registration(6, version: 1), lookups[2]]
        let (_, outcomes) = decide(batch) { $0.queryable = [keyHash: [QueryableRegistration()]] }
        #expect(
            outcomes.map(\.category) == [.queryReplied, .queryRepeated, .queryReplied, .queryReplied, .registered, .queryReplied])
        let first = outcomes.first?.spendings.first
        guard case .response(1, Digest32(repeating: 1), _, [:]) = first else {
            Issue.record("\(String(describing: first))")
            return
        }
    }

    @Test func `response bytes about a key are charged before the next query of the batch is decided`() {
        var large = QueryableRegistration()
        large.allowedKeyList = [[UInt8](repeating: 1, count: 256 << 10)]
        let (batch, outcomes) = decide((1...40).map { message($0, .query([keyHash])) }) { $0.queryable = [keyHash: [large]] }
        let categories = outcomes.map(\.category)
        let answerCount = categories.count { $0 == .queryReplied }
        #expect(24...28 ~= answerCount)
        #expect(categories.dropFirst(answerCount).allSatisfy { $0 == .queryLimited })
        #expect(batch.decisions.count == 40 - answerCount)
    }

    @Test func `an answer that takes two responses is one reply of two messages`() throws {
        let devices = (1...3).map { number in
            var device = QueryableRegistration()
            device.installationID = "\(number)"
            device.registeredAt = Timestamp(nanoseconds: Int64(number))
            device.allowedKeyList = Array(repeating: [UInt8](repeating: 1, count: 64), count: 4_000)
            return device
        }
        let (_, outcomes) = decide([message(1, .query([keyHash]))]) { $0.queryable = [keyHash: devices] }
        let reply = try #require(outcomes.first?.reply)
        #expect(reply.byteCount == reply.payload.count + (reply.secondPayload?.count ?? 0))
        var random = SecureRandom()
        let envelopes = try ReplySealer(identity: sender).seal(reply, at: now, using: &random)
        let answers = try envelopes.map { envelope in
            let message = try ApplicationMetadata.open(RFC26.openAsymmetric(envelope.message.payload, with: sender).data)
            return try PushNotificationQueryResponse.decode(message.payload).info.map(\.installationID)
        }
        #expect(answers == [["2", "3"], ["1"]])
    }

    @Test func `a key that registers too often gets INTERNAL_ERROR, and a refused registration spends no credit`() throws {
        let refused = (1...50).map { registration($0, version: 0) }
        let taken = (51...350).map { registration($0, version: UInt64($0)) }
        let (batch, outcomes) = decide(refused + taken + [registration(351, version: 351)])
        let spending = Allowances.Spending.registration(keyHash, byteCount: 0)
        #expect(outcomes.dropLast().suffix(300).allSatisfy { $0.category == .registered && $0.spendings == [spending] })
        #expect(outcomes[350].category == .registrationOverRate)
        let response = try PushNotificationRegistrationResponse.decode(#require(outcomes[350].reply).payload)
        #expect(response.error == .internalError && !response.success)
        guard case .register(let stored, _, _) = batch.registrations.last else {
            Issue.record("nothing was registered")
            return
        }
        #expect(stored.content.version == 350)
    }

    @Test func `within a batch, the infos of a key add up, and an unregistration alone does not make its key known`() {
        let large = (1...5).map { number in
            registration(Int64(number), version: 1, installation: "\(number)") {
                $0.allowedKeyList = Array(repeating: [UInt8](repeating: 1, count: 64), count: 4_000)
            }
        }
        #expect(decide(large).outcomes.map(\.evictedCount) == [0, 0, 0, 0, 1])
        let leaving = registration(1, version: 1) { $0.unregister = true }
        let (_, outcomes) = decide([leaving, registration(2, version: 2, installation: "other")]) { $0.isStorageFull = true }
        #expect(outcomes.map(\.category) == [.registrationOverStorage, .registrationOverStorage])
    }

    @Test func `the response to a request is kept if one push of it succeeded`() {
        let (_, outcomes) = decide([
            push(1), push(2, messageID: 2, installations: ["phone", "nobody"]), push(3, messageID: 3, installations: ["nobody"]),
        ]) {
            $0.targets = [Installation(keyHash: keyHash, installationID: "phone"): target]
        }
        #expect(outcomes.map { $0.reply?.completion } == [.reply, .reply, .erasedReply])
    }

    // MARK: A target's bucket

    /// Returns one request for each row, to one device, each with another message and chat.
    private func pushes(_ rows: ClosedRange<Int64>, type: PushNotificationType = .message, chat: [UInt8]? = nil) -> [OpenedEnvelope] {
        rows.map { row in
            push(row, messageID: UInt8(row)) { notification in
                notification.type = type
                notification.chatID = chat ?? [UInt8(row)]
                notification.message = [UInt8(row)]
            }
        }
    }

    @Test func `pushes beyond a target's bucket are coalesced by type, due with the next credits, and reported as successes`() throws {
        let later = PushNotificationType(rawValue: 99)
        let requests = pushes(2...101) + pushes(102...110, type: .contactRequest, chat: [7]) + pushes(111...120, type: later)
        let (batch, outcomes) = decide([registration(1, version: 1)] + requests)
        #expect(batch.pushes.prefix(30).allSatisfy { $0.due == nil })
        #expect(batch.pushes.dropFirst(30).map(\.due) == [5, 10].map { Timestamp(nanoseconds: $0 * 1_000_000_000) })
        // The chats of the first push differ, and those of the other push are equal.
        #expect(batch.pushes.dropFirst(30).map(\.push.content) == [.init(chatID: [], message: []), .init(chatID: [7], message: [110])])
        #expect(batch.coalescedCount == 119 - 32)
        #expect(outcomes.reduce(0) { $0 + $1.coalescedPushCount } == 119 - 32)
        #expect(outcomes.dropFirst().flatMap(\.spendings).count == 32)
        let replies = try outcomes.dropFirst().map { try PushNotificationResponse.decode(#require($0.reply).payload) }
        #expect(replies.allSatisfy { $0.reports == replies[0].reports && $0.reports.map(\.success) == [true] })
    }

    @Test(arguments: [([5], [5], [9]), ([6], [], [])] as [([UInt8], [UInt8], [UInt8])])
    func `pushes beyond the bucket are coalesced with a deferred push in the outbox`(chat: [UInt8], told: [UInt8], message: [UInt8]) {
        let installation = Installation(keyHash: keyHash, installationID: "phone")
        let (batch, _) = decide(pushes(9...9, chat: [5])) { state in
            state.targets[installation] = target
            state.deferredPushes[PushSlot(target: installation, type: .message)] = DeferredPush(
                row: 3, content: .init(chatID: chat, message: [1]))
        } allowing: { allowances in
            for _ in 1...ProtocolLimits.pushCapacity { allowances.spend(.push(installation)) }
        }
        #expect(batch.pushes.isEmpty && batch.coalescedCount == 1)
        #expect(batch.coalesced.values.map { $0 } == [DeferredPush(row: 3, content: .init(chatID: told, message: message))])
    }

    @Test func `a filtered, repeated or unauthorised notification spends no credit of its target`() {
        let requests =
            pushes(2...60, chat: [1]) + (61...120).map { row in push(row, messageID: UInt8(row)) { $0.accessToken = "wrong" } }
            + (121...180).map { push($0, messageID: 200) }
        let (batch, outcomes) = decide([registration(1, version: 1) { $0.mutedChatList = [[1]] }] + requests)
        #expect(batch.filteredCount == 59 && batch.mergedCount == 59)
        #expect(batch.pushes.count == 1 && batch.coalescedCount == 0)
        #expect(outcomes.dropFirst().flatMap(\.spendings).count == 1)
    }

    @Test func `pushes of the batch are withdrawn when their installation unregisters`() {
        let leaving = registration(3, version: 2) { $0.unregister = true }
        let (left, _) = decide(
            [registration(1, version: 1), push(2, messageID: 2), leaving, registration(4, version: 3), push(5, messageID: 5)])
        #expect(left.pushes.map(\.outcome) == [.withdrawn, nil])
        guard case .register(_, _, endsPushes: true) = left.registrations.first else {
            Issue.record("what waits in the outbox would go on")
            return
        }
    }

    @Test func `in a dry run, pushes are discarded`() {
        let dryRun = Decider(serverKey: decider.serverKey, registrationPolicy: decider.registrationPolicy, isDryRun: true)
        let (batch, _) = decide([registration(1, version: 1), push(2)], by: dryRun)
        #expect(batch.pushes.map(\.outcome) == [.discarded])
    }

    @Test func `pushes to a canary are discarded by each server of its key, unless the canary has a phone`() {
        let server = Decider(
            serverKey: decider.serverKey, registrationPolicy: decider.registrationPolicy, isDryRun: false, canaryKeyHash: keyHash)
        for (token, outcome) in [("canary", PushOutcome.discarded), ("a phone", nil)] as [(DeviceToken, PushOutcome?)] {
            let messages = [registration(1, version: 1) { $0.deviceToken = token }, push(2)]
            #expect(decide(messages, by: server).batch.pushes.map(\.outcome) == [outcome])
            // The token alone, which any client may register, discards nothing.
            #expect(decide(messages).batch.pushes.map(\.outcome) == [nil])
        }
    }

    @Test func `only a canary may register at a server that retires`() {
        let policy = RegistrationPolicy(acceptNew: false)
        for (canary, category) in [(keyHash, .registered), (nil, .registrationNotAccepted)] as [(Digest64?, MessageOutcome)] {
            let retiring = Decider(serverKey: decider.serverKey, registrationPolicy: policy, isDryRun: false, canaryKeyHash: canary)
            #expect(decide([registration(1, version: 1)], by: retiring).outcomes.map(\.category) == [category])
        }
    }

    @Test func `the lookups of a batch contain each item once, and only those that a decision needs`() {
        let lookups = decider.lookups(about: [
            registration(1, version: 1), registration(2, version: 2), registration(3, version: 0), .dropped(4),
            push(5, installations: Array(repeating: "phone", count: 10)), push(6, messageID: 2),
            push(7, installations: (1...1_001).map { "\($0)" }), message(8, .query([keyHash])),
        ])
        #expect(lookups.registrations == [Installation(keyHash: keyHash, installationID: "phone")])
        #expect(lookups.targets.count == 1_001)  // The lookup omits the last target of the long request
        #expect(lookups.deduplicationKeys.count == 1_002)
        #expect(lookups.requests.count == 3)
        #expect(lookups.queries == [[keyHash]])
    }

    @Test func `a batch is split by the estimated cost of its messages, not only by their number`() {
        func counts(_ messages: [OpenedEnvelope]) -> [Int] {
            let pace = CommitPace()
            let permit = Admission(limits: .init(count: 1, byteCount: 1)).permitRow()
            var waiting = messages.map { CommitStage.Work.decide($0, permit) }[...]
            return Array(sequence(state: ()) { _ in waiting.isEmpty ? nil : pace.next(of: &waiting).count })
        }
        let large = push(1, installations: Array(repeating: "phone", count: 1_000))
        #expect(counts((1...500).map { push($0) }) == [500])
        #expect(counts([push(1), large, push(2), push(3), large, large]) == [4, 1, 1])
        #expect(counts([large]) == [1])
        let lists = registration(1, version: 1) { $0.mutedChatList = Array(repeating: [1], count: 20_000) }
        #expect(counts(Array(repeating: lists, count: 20)).max() ?? 20 < 10)
    }
}
