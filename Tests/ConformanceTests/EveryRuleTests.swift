import Conformance
import PushProtocol
import TestServers
import TestSupport
import Testing
import Wire

/// What each rule has to look at, whatever it is about.
@Suite(.safetyNet)
struct EveryRuleTests {
    /// Rules that look at no reply to a registration of theirs.
    private static let ignorant: Set = [
        // They look at the reply's form, whatever it says.
        "reply.signature", "reply.frame-signature", "reply.padding", "reply.envelope", "reply.time",
        // A server may refuse other bundle ids: they are skipped.
        "delivery.new-bundle-id", "spelling.bundle-id",
        // They expect silence, or register nobody.
        "envelope.version", "envelope.damaged", "envelope.frame-length", "envelope.frame-signature", "envelope.unsigned-message",
        "segment.hash", "segment.invalid", "size.notifications",
    ]

    /// Rules that are asked after each history of their owner.
    private static let repeated: Set = [
        "register.ios", "register.android", "register.replaces", "refusal.undecryptable", "refusal.no-protobuf", "refusal.version-zero",
        "refusal.no-installation", "refusal.no-device-token", "refusal.no-access-token", "refusal.token-no-uuid", "refusal.no-grant",
        "refusal.grant-form", "refusal.grant-signer", "refusal.grant-server", "refusal.grant-token", "refusal.token-type-zero",
        "refusal.token-type-unknown", "refusal.no-apn-topic", "refusal.changes-nothing", "version.equal", "version.lower", "version.replay",
        "unregister.success", "unregister.no-query", "unregister.no-push", "unregister.tombstone", "unregister.return",
        "unregister.old-version", "query.info", "query.access-token", "query.allowed-keys", "query.contacts-only",
        "query.contacts-only-list", "query.server-key", "query.topic", "query.reference-topic", "query.disabled", "push.accepted",
        "push.wrong-token", "push.not-registered", "push.report-names", "delivery.ios", "delivery.android", "delivery.android-topic",
        "delivery.data", "delivery.wrong-token", "delivery.unregistered", "delivery.new-device-token", "delivery.other-message",
        "filter.blocked-chat", "filter.other-chat", "filter.no-lists", "filter.blocked-author", "filter.muted-chat",
        "filter.block-mentions", "filter.mention-not-allowed", "filter.mention-no-list", "filter.mention-allowed", "filter.mention-muted",
        "filter.mention-blocked", "filter.mention-author", "filter.message-block-mentions", "filter.join-request",
        "filter.join-request-author", "filter.contact-request", "filter.contact-request-author", "filter.disabled",
    ]

    /// The ids of the rules that a server does not fail. It answers everything, so the wait for an answer may be long.
    private func passed(_ rules: [Rule], _ change: (inout Behaviour) -> Void) async throws -> Set<String> {
        var behaviour = Behaviour()
        change(&behaviour)
        let results = try await play(rules, against: behaviour, timeout: TestNode.patience)
        return Set(results.filter { if case .fail = $0.verdict { false } else { true } }.map(\.rule.id))
    }

    @Test func `a registration that is stored and refused fails every rule that registers`() async throws {
        let passed = try await passed(Rule.all) { $0.answersRegistration = { ($0.success, $0.error) = (false, .internalError) } }
        #expect(passed == Self.ignorant)
    }

    @Test func `an installation that can register only once fails every rule that is asked after each history`() async throws {
        let rules = Rule.all.filter { Self.repeated.contains($0.id) }
        #expect(rules.count == Self.repeated.count)
        #expect(try await passed(rules) { $0.decides = { if $2 != nil { $0 = .refuse(.internalError) } } }.isEmpty)
    }
}
