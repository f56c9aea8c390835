import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The rules of PROTOCOL.md §9 for a whole request.
@Suite(.safetyNet) struct PushRequestTests {
    private let other = Installation(keyHash: Fixture.keyHash, installationID: "other")

    private func request(_ notifications: [PushNotification]) -> PushNotificationRequest {
        var request = PushNotificationRequest()
        request.messageID = Fixture.messageID
        request.requests = notifications
        return request
    }

    private func decide(
        _ notifications: [PushNotification], earlier: PushNotificationResponse? = nil, remembered: Set<Digest32> = [],
        target: (Installation) -> PushTarget? = { _ in Fixture.target() }
    ) throws -> PushRequestDecision {
        var targets: [Installation: PushTarget] = [:]
        for installation in notifications.compactMap(\.installation) {
            targets[installation] = target(installation)
            // Each is a device of its own, unless a test says otherwise.
            if targets[installation]?.deviceToken == Fixture.target().deviceToken {
                targets[installation]?.deviceToken = DeviceToken("token of \(installation.installationID)")
            }
        }
        return try #require(
            PushRules.decide(request(notifications), earlier: earlier, targets: targets, recentDeduplicationKeys: remembered))
    }

    private func deduplicationKey(_ installationID: String = Fixture.installationID) -> Digest32 {
        deduplicationKey(Fixture.messageID, Fixture.keyHash, installationID)
    }

    private func deduplicationKey(_ messageID: [UInt8], _ keyHash: Digest64, _ installationID: String) -> Digest32 {
        DeduplicationKey.digest(messageID: messageID, installation: Installation(keyHash: keyHash, installationID: installationID))
    }

    @Test func `a request without a message id is dropped`() {
        var request = request([Fixture.notification()])
        #expect(PushRules.decide(request, earlier: nil, targets: [:], recentDeduplicationKeys: []) != nil)
        #expect(PushRules.internalErrorResponse(to: request) != nil)
        request.messageID = []
        #expect(PushRules.decide(request, earlier: nil, targets: [:], recentDeduplicationKeys: []) == nil)
        #expect(PushRules.internalErrorResponse(to: request) == nil)
    }

    @Test func `a request without notifications has an empty reply`() throws {
        let decision = try decide([])
        #expect(decision.response.messageID == Fixture.messageID)
        #expect(decision.response.reports.isEmpty)
        #expect(decision.pushes.isEmpty)
    }

    @Test func `there is one report a notification, in order, echoing key and installation`() throws {
        let notHash: [UInt8] = Array(repeating: 0x77, count: 63)
        let notifications = [
            Fixture.notification { $0.installationID = "good" },
            Fixture.notification { $0.installationID = "unknown" },
            Fixture.notification { $0.accessToken = "wrong" },
            Fixture.notification(.unknown),
            Fixture.notification { $0.publicKey = notHash },
            Fixture.notification(.unknown) { $0.publicKey = [] },
            Fixture.notification { $0.installationID = "filtered" },
        ]
        let decision = try decide(notifications) { installation in
            switch installation.installationID {
            case "unknown": nil
            case "filtered": Fixture.target { $0.enabled = false }
            default: Fixture.target()
            }
        }
        let reports = decision.response.reports
        #expect(decision.response.messageID == Fixture.messageID)
        #expect(reports.map(\.publicKey) == notifications.map(\.publicKey))
        #expect(reports.map(\.installationID) == notifications.map(\.installationID))
        #expect(reports.map(\.success) == [true, false, false, false, false, false, true])
        #expect(reports.map(\.error) == [.unknown, .notRegistered, .wrongToken, .unknown, .notRegistered, .unknown, .unknown])
        #expect(decision.pushes.map(\.target.installationID) == ["good"])
        #expect(decision.filteredCount == 1)
        #expect(decision.failureCounts == [.notRegistered: 2, .wrongToken: 1, .unknown: 2])
        #expect(decision.mergedCount + decision.repeatedCount == 0)
    }

    @Test func `an accepted push holds what delivery needs of registration and notification`() throws {
        let decision = try decide([Fixture.notification(.mention)]) { _ in
            Fixture.target {
                $0.tokenType = .firebase
                $0.deviceToken = "fcm"
                $0.apnTopic = "x"
            }
        }
        #expect(
            decision.pushes == [
                AcceptedPush(
                    target: Installation(keyHash: Fixture.keyHash, installationID: Fixture.installationID),
                    deduplicationKey: deduplicationKey(),
                    tokenType: .firebase, deviceToken: "fcm", apnTopic: "x", type: .mention, chatID: Fixture.chat, message: [1, 2, 3])
            ])
    }

    @Test func `filtered and sent replies are the same`() throws {
        let sent = try decide([Fixture.notification()])
        let filtered = try decide([Fixture.notification()]) { _ in Fixture.target { $0.enabled = false } }
        #expect(sent.response == filtered.response)
        #expect(sent.pushes.count == 1)
        #expect(filtered.pushes.isEmpty)
    }

    @Test func `a target named twice is reported twice and sent once, whatever the type`() throws {
        let decision = try decide([Fixture.notification(), Fixture.notification(.mention), Fixture.notification()])
        #expect(decision.response.reports.map(\.success) == [true, true, true])
        #expect(decision.pushes.map(\.type) == [.message])
        #expect(decision.mergedCount == 2)
    }

    @Test func `a push with a known deduplication key is reported as success and not sent again`() throws {
        let notifications = [Fixture.notification(), Fixture.notification { $0.installationID = "other" }]
        let decision = try decide(notifications, remembered: [deduplicationKey()])
        #expect(decision.response.reports.map(\.success) == [true, true])
        #expect(decision.pushes.map(\.target) == [other])
        #expect(decision.mergedCount == 1)
    }

    @Test func `the deduplication of pushes hides neither a wrong token nor a filter`() throws {
        let wrongToken = try decide([Fixture.notification { $0.accessToken = "x" }], remembered: [deduplicationKey()])
        #expect(wrongToken.response.reports.map(\.error) == [.wrongToken])
        let filtered = try decide([Fixture.notification()], remembered: [deduplicationKey()]) { _ in Fixture.target { $0.enabled = false } }
        #expect(filtered.filteredCount == 1)
        #expect(filtered.mergedCount == 0)
    }

    @Test func `a failed or filtered notification does not keep a later one for the same target from being sent`() throws {
        let failedFirst = try decide([Fixture.notification { $0.accessToken = "x" }, Fixture.notification()])
        #expect(failedFirst.response.reports.map(\.success) == [false, true])
        #expect(failedFirst.pushes.count == 1)
        let filteredFirst = try decide([Fixture.notification(.mention), Fixture.notification()]) { _ in
            Fixture.target { $0.blockMentions = true }
        }
        #expect(filteredFirst.filteredCount == 1)
        #expect(filteredFirst.pushes.map(\.type) == [.message])
    }

    // MARK: One device

    /// Decides a request that names two installations of a key.
    private func decideTwo(
        older: PushTarget, newer: PushTarget, newerKey: Digest64 = Fixture.keyHash, newerToken: AccessToken = Fixture.accessToken
    ) throws -> PushRequestDecision {
        // The older one's id sorts last.
        let notifications = [
            Fixture.notification { $0.installationID = "older, z" },
            Fixture.notification {
                $0.installationID = "newer, a"
                $0.publicKey = newerKey.bytes
                $0.accessToken = newerToken
            },
        ]
        return try decide(notifications) { installation in
            var target = installation.installationID == "newer, a" ? newer : older
            target.registeredAt = Timestamp(nanoseconds: installation.installationID == "newer, a" ? 2 : 1)
            return target
        }
    }

    private static func target(_ token: String, _ change: (inout PushTarget) -> Void = { _ in }) -> PushTarget {
        Fixture.target {
            $0.deviceToken = DeviceToken(token)
            change(&$0)
        }
    }

    @Test func `a device with two installations is notified once, by the newer one, and both are reported as success`() throws {
        let decision = try decideTwo(older: Self.target("AB"), newer: Self.target("ab"))
        #expect(decision.response.reports.map(\.success) == [true, true])
        #expect(decision.pushes.map(\.target.installationID) == ["newer, a"] && decision.mergedCount == 1)
    }

    @Test func `a chat that the newer installation has muted is silent on the device, and not the reverse`() throws {
        let muting = Self.target("ab") { $0.mutedChatList = [Fixture.chat] }
        let silent = try decideTwo(older: Self.target("ab"), newer: muting)
        #expect(silent.response.reports.map(\.success) == [true, true])
        #expect(silent.pushes.isEmpty && silent.filteredCount == 1 && silent.mergedCount == 1)
        let loud = try decideTwo(older: muting, newer: Self.target("ab"))
        #expect(loud.pushes.map(\.target.installationID) == ["newer, a"] && loud.filteredCount == 0 && loud.mergedCount == 1)
    }

    @Test func `two devices, apps, services or owners are notified each`() throws {
        let others = [
            Self.target("cd"), Self.target("ab") { $0.apnTopic = "another.app" }, Self.target("ab") { $0.tokenType = .firebase },
        ]
        for other in others { #expect(try decideTwo(older: Self.target("ab"), newer: other).pushes.count == 2) }
        // Google's tokens distinguish upper and lower case.
        let firebase = ["AB", "ab"].map { token in Self.target(token) { $0.tokenType = .firebase } }
        #expect(try decideTwo(older: firebase[0], newer: firebase[1]).pushes.count == 2)
        let owner = Digest64(repeating: 0x78)
        #expect(try decideTwo(older: Self.target("ab"), newer: Self.target("ab"), newerKey: owner).pushes.count == 2)
    }

    @Test func `an installation whose access token is wrong stands for no other`() throws {
        let decision = try decideTwo(older: Self.target("ab"), newer: Self.target("ab"), newerToken: "wrong")
        #expect(decision.response.reports.map(\.success) == [true, false])
        #expect(decision.pushes.map(\.target.installationID) == ["older, z"] && decision.mergedCount == 0)
    }

    @Test func `a repeated request keeps its successes and decides its failures again`() throws {
        let notifications = ["first", "second", "third"].map { name in Fixture.notification { $0.installationID = name } }
        let earlier = try decide(notifications) { $0.installationID == "second" ? nil : Fixture.target() }.response
        let decision = try decide(notifications, earlier: earlier)
        #expect(decision.response.reports.map(\.success) == [true, true, true])
        #expect(decision.response.reports.map(\.installationID) == ["first", "second", "third"])
        #expect(decision.pushes.map(\.target.installationID) == ["second"])
        #expect(decision.repeatedCount == 2)
    }

    @Test func `a success is repeated even if the target has unregistered since`() throws {
        let earlier = try decide([Fixture.notification()]).response
        let decision = try decide([Fixture.notification()], earlier: earlier) { _ in nil }
        #expect(decision.response == earlier)
        #expect(decision.pushes.isEmpty)
    }

    @Test(arguments: [1_000, 1_001])
    func `notifications beyond 1,000 are reported as INTERNAL_ERROR`(count: Int) throws {
        let notifications = (0..<count).map { number in Fixture.notification { $0.installationID = "\(number)" } }
        let decision = try decide(notifications)
        #expect(decision.pushes.count == 1_000)
        #expect(decision.response.reports.count == count)
        #expect(decision.response.reports.dropFirst(1_000).allSatisfy { !$0.success && $0.error == .internalError })
        #expect(decision.failureCounts[.internalError, default: 0] == count - 1_000)
    }

    @Test func `an unreachable store is reported as INTERNAL_ERROR for each notification`() throws {
        let response = try #require(
            PushRules.internalErrorResponse(
                to: request([Fixture.notification(), Fixture.notification(.unknown) { $0.installationID = "b" }])))
        #expect(response.messageID == Fixture.messageID)
        #expect(response.reports.map(\.error) == [.internalError, .internalError])
        #expect(response.reports.map(\.success) == [false, false])
        #expect(response.reports.map(\.publicKey) == [Fixture.keyHash.bytes, Fixture.keyHash.bytes])
        #expect(response.reports.map(\.installationID) == [Fixture.installationID, "b"])
    }

    @Test func `a deduplication key changes with each of its parts and does not run them together`() {
        let digests = [
            deduplicationKey(), deduplicationKey("other"),
            deduplicationKey([1], Fixture.keyHash, Fixture.installationID),
            deduplicationKey(Fixture.messageID, Digest64(repeating: 1), Fixture.installationID),
            deduplicationKey([1, 0x77], Fixture.keyHash, ""),
            deduplicationKey([1], Fixture.keyHash, "w"),
        ]
        #expect(Set(digests).count == digests.count)
        #expect(deduplicationKey() == deduplicationKey())
    }
}
