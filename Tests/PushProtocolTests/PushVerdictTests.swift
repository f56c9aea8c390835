import Bytes
import PushProtocol
import TestSupport
import Testing
import Wire

/// The order of PROTOCOL.md §9's checks, and each filter.
@Suite(.safetyNet) struct PushVerdictTests {
    private static let laterType = PushNotificationType(rawValue: 77)
    private static let sendableTypes: [PushNotificationType] = [.message, .mention, .requestToJoinCommunity, .contactRequest, laterType]

    @Test(arguments: sendableTypes)
    func `a push that no filter matches is accepted`(type: PushNotificationType) {
        #expect(PushRules.verdict(on: Fixture.notification(type), target: Fixture.target()) == .push)
    }

    @Test func `type 0 fails first, then an unknown registration, then a wrong token, then the filters`() {
        let wrongToken = Fixture.target { $0.accessToken = "e6ae4fde-bb65-11ea-b3de-0242ac130004" }
        let disabled = Fixture.target { $0.enabled = false }
        #expect(PushRules.verdict(on: Fixture.notification(.unknown), target: nil) == .failure(.unknown))
        #expect(PushRules.verdict(on: Fixture.notification(.unknown), target: wrongToken) == .failure(.unknown))
        #expect(PushRules.verdict(on: Fixture.notification(.unknown), target: Fixture.target()) == .failure(.unknown))
        #expect(PushRules.verdict(on: Fixture.notification(), target: nil) == .failure(.notRegistered))
        #expect(PushRules.verdict(on: Fixture.notification { $0.accessToken = "" }, target: disabled) == .failure(.wrongToken))
        #expect(PushRules.verdict(on: Fixture.notification(), target: wrongToken) == .failure(.wrongToken))
        #expect(PushRules.verdict(on: Fixture.notification(), target: disabled) == .filtered)
    }

    @Test(arguments: ["", "B6AE4FDE-BB65-11EA-B3DE-0242AC130004", "b6ae4fdebb6511eab3de0242ac130004", Fixture.accessToken.text + "0"])
    func `access tokens are compared byte for byte`(shown: String) {
        let notification = Fixture.notification { $0.accessToken = AccessToken(shown) }
        #expect(PushRules.verdict(on: notification, target: Fixture.target()) == .failure(.wrongToken))
    }

    @Test func `a registration whose dead device token was cleared counts as not registered`() {
        #expect(PushRules.verdict(on: Fixture.notification(), target: Fixture.target { $0.deviceToken = "" }) == .failure(.notRegistered))
    }

    @Test(arguments: sendableTypes)
    func `a device that is not enabled filters every type`(type: PushNotificationType) {
        #expect(PushRules.verdict(on: Fixture.notification(type), target: Fixture.target { $0.enabled = false }) == .filtered)
    }

    /// A restriction, with the types that it filters.
    enum Restriction: CaseIterable {
        case blockedChat, blockedAuthor, mutedChat, mutedAuthor, blockedMentions, mentionsNotAllowed

        func apply(to target: inout PushTarget) {
            switch self {
            case .blockedChat: target.blockedChatList.formUnion([[1], Fixture.chat])
            case .blockedAuthor: target.blockedChatList.formUnion([[1], Fixture.author])
            case .mutedChat: target.mutedChatList.formUnion([[1], Fixture.chat])
            case .mutedAuthor: target.mutedChatList.formUnion([[1], Fixture.author])
            case .blockedMentions: target.blockMentions = true
            case .mentionsNotAllowed: target.allowedMentionsChatList = [[1], Fixture.author]
            }
        }

        var filteredTypes: [PushNotificationType] {
            switch self {
            case .blockedChat: [.message, .contactRequest, laterType]
            case .mutedChat: [.message, laterType]
            case .blockedAuthor: [.message, .mention, .requestToJoinCommunity, .contactRequest, laterType]
            case .mutedAuthor: []
            case .blockedMentions, .mentionsNotAllowed: [.mention]
            }
        }
    }

    @Test(arguments: Restriction.allCases, sendableTypes)
    func `a restriction filters its types and no other`(restriction: Restriction, type: PushNotificationType) {
        let target = Fixture.target(restriction.apply)
        let expected: PushVerdict = restriction.filteredTypes.contains(type) ? .filtered : .push
        #expect(PushRules.verdict(on: Fixture.notification(type), target: target) == expected)
    }

    /// All 64 combinations of restrictions.
    @Test(arguments: 0..<(1 << Restriction.allCases.count), sendableTypes)
    func `restrictions add up`(combination: Int, type: PushNotificationType) {
        let restrictions = Restriction.allCases.enumerated().filter { combination >> $0.offset & 1 == 1 }.map(\.element)
        let target = Fixture.target { target in restrictions.forEach { $0.apply(to: &target) } }
        let isFiltered = restrictions.contains { $0.filteredTypes.contains(type) }
        #expect(PushRules.verdict(on: Fixture.notification(type), target: target) == (isFiltered ? .filtered : .push))
    }

    @Test func `without allowed chats, no mention is delivered`() {
        let target = Fixture.target { $0.allowedMentionsChatList = [] }
        #expect(PushRules.verdict(on: Fixture.notification(.mention), target: target) == .filtered)
        #expect(PushRules.verdict(on: Fixture.notification(.message), target: target) == .push)
    }
}
